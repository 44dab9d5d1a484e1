// <batch-loom>: a form beside a picture. The form stays; Python draws the picture again from the form's values.
// Nothing here knows what the values mean.

import { findProblem, readValues, same, writeValues } from "./controls.mjs";
import { Problem } from "./problem.mjs";
import { Player, press, pressKey } from "./buttons.mjs";
import { Refused } from "./engine.mjs";
import { Selection } from "./select.mjs";
import { swap } from "./swap.mjs";

const NEAR = "200px"; // a figure this close to the window is drawn before it is seen
const SETTLED = 600; // milliseconds without a change after which the outcome is spoken
const LATE = 500; // milliseconds after which a picture is dimmed that does not belong to the controls
const REST = 200; // and those after which the parts are asked for that may come later

export class BatchLoom extends HTMLElement {
  #engine = null;
  #isNear = false;
  #isAsking = false;
  #shown = {}; // the values that the picture belongs to
  #problem;
  #result;
  #spoken;
  #player;
  #settling = 0;
  #resting = 0;
  #late = 0;
  #parts = []; // of the picture, as Python has sent them
  #told = null; // values for which something was said that the picture's sentence must not cut off

  connectedCallback() {
    if (this.form) return;
    const root = this.shadowRoot ?? adoptTemplate(this);
    this.form = root.querySelector("form");
    this.#result = root.querySelector('[data-part="result"]');
    this.#problem = new Problem(this, root.querySelector('[data-part="problem"]'));
    this.#spoken = root.querySelector('[data-part="spoken"]');
    this.#shown = readValues(this.form, { drawn: true });
    this.#player = new Player(this);
    this.form.addEventListener("input", (event) => this.#changed(event));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    root.addEventListener("click", (event) => press(event.target.closest("button"), this.form, this.#player));
    root.addEventListener("keydown", (event) => pressKey(event, root));
    root.querySelector("[data-cancel]")?.addEventListener("click", () => this.#cancel());
    new Selection(this, this.#result);
    const watch = (entries) => this.#moved(entries.at(-1).isIntersecting);
    new IntersectionObserver(watch, { rootMargin: NEAR }).observe(this);
    this.#tellOutputs();
    if (!this.#isShown()) this.#setBusy(); // a browser may have put back what was typed before a reload
  }

  /** From now on `call(message)` answers. Edits made before are answered now. */
  connect(call) {
    this.#engine = call;
    if (this.#isShown()) {
      this.#setState("current");
      this.#askSoon();
    } else this.#update();
  }

  /** The engine is gone: the controls go back to what the picture shows, and rest. */
  disconnect() {
    this.#engine = null;
    this.#player.stop();
    writeValues(this.form, this.#shown);
    this.#tellOutputs();
    this.#problem.tell(null);
    for (const control of this.form.elements) control.disabled = true;
    this.#setState("static");
  }

  #setState(state) {
    clearTimeout(this.#late);
    this.#late = 0;
    this.removeAttribute("data-late");
    this.dataset.state = state;
  }

  /**
   * An answer takes a few hundredths of a second. What takes longer must not look as if it were the answer: `data-late`
   * dims it. No style hangs on the state itself, or each answer would cost a look at the whole figure.
   */
  #setBusy() {
    this.dataset.state = "busy";
    this.#late ||= setTimeout(() => this.toggleAttribute("data-late", true), LATE);
  }

  get isCurrent() {
    return this.dataset.state === "current";
  }

  #isShown() {
    return this.#isAt(this.#shown);
  }

  #isAt(values) {
    return same(readValues(this.form), values);
  }

  #moved(isNear) {
    this.#isNear = isNear;
    if (isNear) this.#update();
    else this.#player.stop();
  }

  #changed(event) {
    if (event.isTrusted) this.#player.stop();
    this.#tellOutputs();
    this.#setBusy();
    this.#update();
  }

  /** Asks until the picture belongs to the controls. What changed meanwhile is asked next; values between are dropped. */
  async #update() {
    if (this.#isAsking) return;
    this.#isAsking = true;
    let refused = null;
    while (this.#engine && this.#isNear && !this.#isShown()) {
      const values = readValues(this.form);
      const problem = findProblem(this.form) ?? (refused && same(values, refused.values) ? refused : null);
      this.#problem.tell(problem);
      if (problem) break;
      refused = await this.#ask(values);
    }
    this.#isAsking = false;
    if (!this.#engine || this.isCurrent || !this.#isShown()) return;
    this.#problem.tell(null);
    this.#setState("current");
    this.#speakSoon();
    this.#askSoon();
  }

  #askSoon() {
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => this.#askLater(), REST);
  }

  /** Fills the parts of the picture that say in `data-ask` how they are asked for, one by one, while nothing changes. */
  async #askLater() {
    const shown = this.#shown;
    const isStill = () => this.#engine && this.isCurrent && this.#shown === shown;
    for (const place of this.#result.querySelectorAll("[data-ask]:not([data-answered])")) {
      if (!isStill()) return;
      const { language } = document.documentElement.dataset;
      const message = { ...JSON.parse(place.dataset.ask), language, values: shown };
      const html = await this.#engine(message).catch((error) => error instanceof Refused ? "" : null);
      if (!isStill() || html === null) return;
      place.removeAttribute("aria-busy");
      place.dataset.answered = "";
      place.innerHTML = html;
    }
  }

  #speakSoon() {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#speak(), SETTLED);
  }

  /** Says the picture's sentence to those who do not see it; while it plays, not before the end. */
  #speak() {
    if (!this.isCurrent) return;
    if (this.#player.isPlaying) return this.#speakSoon();
    const isTold = same(this.#shown, this.#told);
    this.#told = null;
    if (!isTold) this.say(this.#result.querySelector('[data-part="why"]')?.textContent ?? "");
  }

  /** Puts a sentence into the figure's one live region. */
  say(text) {
    this.#spoken.textContent = text;
  }

  /** Says it in place of the sentence of the picture for the values as they stand, which would cut it off. */
  sayInstead(text) {
    this.say(text);
    this.#told = readValues(this.form);
  }

  /** One message and one swap. Returns what was refused, if it was. */
  async #ask(values) {
    const { language } = document.documentElement.dataset;
    try {
      const message = { do: "render", figure: this.getAttribute("figure"), language, values };
      let picture = await this.#engine(message);
      while (picture.progress && this.#engine && this.#isAt(values)) {
        this.#tellProgress(picture.progress);
        picture = await this.#engine(message);
      }
      this.#tellProgress(null);
      if (!this.#engine || picture.progress) return null;
      if (picture.problem) return { values, ...picture.problem };
      swap(this.#result, picture, this.#parts);
      this.#parts = picture.parts;
      this.dispatchEvent(new Event("drawn"));
      this.#shown = this.#limit(values);
      this.#tellOutputs();
      return null;
    } catch (error) {
      if (error instanceof Refused) return { values, text: error.message, field: error.field };
      this.#engine = null; // it died; the page will tell
      return null;
    }
  }

  /** How far a long run is, `[done, all]`; `null` when there is none. */
  #tellProgress(progress) {
    const place = this.shadowRoot.querySelector('[data-part="progress"]');
    if (!place) return;
    place.hidden = progress === null;
    if (progress) place.querySelector("progress").value = progress[0] / progress[1];
  }

  /** Gives up what is asked: the controls go back to what the picture shows. */
  #cancel() {
    writeValues(this.form, this.#shown);
    this.form.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** Ends sliders where the picture says. Gives what `values` are then: a picture is drawn for the nearest that there is. */
  #limit(values) {
    const isAsked = this.#isAt(values);
    const limits = this.#result.querySelector("[data-limits]")?.dataset.limits ?? "{}";
    for (const [name, max] of Object.entries(JSON.parse(limits))) this.form.elements[name].max = max;
    return isAsked ? readValues(this.form) : values;
  }

  /** The value of each control in words beside it, and the words of the result that a slider speaks. */
  #tellOutputs() {
    for (const output of this.form.querySelectorAll("output[data-for]")) {
      output.textContent = this.form.elements[output.dataset.for]?.value ?? "";
    }
    const words = this.#result.querySelector("[data-valuetext]")?.dataset.valuetext;
    const { step } = this.form.elements;
    if (words && step && !this.#player.isPlaying) step.setAttribute("aria-valuetext", words);
  }
}

/** For browsers that do not know declarative shadow roots. */
function adoptTemplate(element) {
  const template = element.querySelector("template[shadowrootmode]");
  const root = element.attachShadow({ mode: "open" });
  root.append(template.content);
  template.remove();
  return root;
}

customElements.define("batch-loom", BatchLoom);
