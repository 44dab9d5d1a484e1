// One request, lit up wherever its figure shows it: under the pointer, in focus, or kept by a click or a tap.
// Whatever shows a request has data-request with its id, or with several and spaces between.

const MARK = "data-lit"; // on what is lit up, and on the figure while anything is

export class Selection {
  #figure;
  #result;
  #kept = "";
  #passing = "";

  /** `figure` is a <batch-loom>; `result` the part of it that is drawn again and again. */
  constructor(figure, result) {
    this.#figure = figure;
    this.#result = result;
    const root = figure.shadowRoot;
    const pass = (event) => this.#pass(event.pointerType === "touch" ? "" : requestOf(event));
    root.addEventListener("pointerover", pass);
    root.addEventListener("focusin", (event) => this.#pass(event.target.matches(":focus-visible") ? requestOf(event) : ""));
    figure.addEventListener("pointerleave", () => this.#pass(""));
    figure.addEventListener("focusout", () => this.#pass(""));
    root.addEventListener("click", (event) => this.#click(event));
    root.addEventListener("keydown", (event) => event.key === "Escape" && this.#keep(""));
    figure.addEventListener("drawn", () => this.#wanted && this.#check());
  }

  /** Who stands nowhere in a new picture could not be put out with a tap: the light goes out by itself. */
  #check() {
    const there = new Set(this.#all.flatMap(({ dataset }) => dataset.request.split(" ")));
    const ifThere = (ids) => ids.split(" ").some((id) => there.has(id)) ? ids : "";
    this.#kept = ifThere(this.#kept);
    this.#passing = ifThere(this.#passing);
    this.#show();
  }

  #pass(ids) {
    if (ids === this.#passing) return;
    this.#passing = ids;
    this.#show();
  }

  /** A second click puts the light out, and so does one beside all that can be lit or pressed. */
  #click(event) {
    const ids = requestOf(event);
    if (ids) this.#keep(ids === this.#kept ? "" : ids);
    else if (!event.target.closest("button, input, label, summary, a, textarea")) this.#keep("");
  }

  #keep(ids) {
    this.#kept = ids;
    this.#passing = "";
    this.#show();
    const sentences = ids ? [...this.#result.querySelectorAll(`[data-part="why"] [${MARK}]`)] : [];
    if (sentences.length > 0) this.#figure.say(sentences.map(({ textContent }) => textContent).join(" "));
  }

  get #all() {
    return [...this.#figure.shadowRoot.querySelectorAll("[data-request]")];
  }

  get #wanted() {
    return this.#passing || this.#kept;
  }

  #show() {
    const wanted = this.#wanted;
    const ids = new Set(wanted.split(" "));
    this.#figure.toggleAttribute(MARK, wanted !== "");
    for (const element of this.#all) {
      const { request } = element.dataset;
      element.toggleAttribute(MARK, wanted !== "" && request.split(" ").some((id) => ids.has(id)));
      if (element.ariaPressed !== null) element.ariaPressed = String(request === this.#kept);
    }
  }
}

const requestOf = (event) => event.target.closest?.("[data-request]")?.dataset.request ?? "";
