// <sweep-panel>: one scenario under many settings, run one after the other and drawn against each other by Python.
// The page sets `scenario` and `call(message)`, which promises what Python answers or rejects with one line. A point
// that is chosen raises the event `pick` with `{scenario, point}`: what was swept, and what is set there.

import { say } from "./edit-fill.mjs";

export class SweepPanel extends HTMLElement {
  /** Asks Python. Set by the page. */
  call = async () => { throw new Error("no engine"); };
  #scenario = null;
  #swept = null; // what the result belongs to: {scenario, points, results}
  #picked = null;
  #opened = ""; // the scenario of a point that was opened, as JSON: the result is of it too
  #run = 0; // counts runs: an answer to an older one is dropped
  #drawing = 0;

  connectedCallback() {
    const { form } = this;
    form.addEventListener("submit", (event) => { event.preventDefault(); this.run(); });
    form.elements.cancel.addEventListener("click", () => this.cancel());
    for (const row of this.#rows) {
      row.key.addEventListener("change", () => { row.values.value = this.#suggest(row.key); });
      row.values.addEventListener("input", () => { row.values.dataset.typed = ""; });
    }
    for (const name of ["x", "y"]) form.elements[name].addEventListener("change", () => this.#draw().catch((error) => this.#refuse(error)));
    this.addEventListener("click", (event) => this.#pick(event.target.closest(".point[data-set]")));
    this.addEventListener("keydown", (event) => {
      if (event.target.role !== "button" || (event.key !== "Enter" && event.key !== " ")) return;
      event.preventDefault();
      this.#pick(event.target);
    });
  }

  disconnectedCallback() {
    this.#run++;
  }

  get form() { return this.querySelector("form"); }

  get scenario() { return this.#scenario; }

  /** The scenario that is swept next, as an object; a result that is shown belongs to the one before. */
  set scenario(value) {
    this.#scenario = value;
    for (const { key, values } of this.#rows) {
      if (!("typed" in values.dataset)) values.value = this.#suggest(key);
    }
    this.#age();
  }

  /** The scenario as it is once a point has been opened. */
  set opened(value) {
    this.#opened = JSON.stringify(value);
    this.scenario = value;
  }

  /** Runs every point, each as a question of its own, and draws them. */
  async run() {
    const run = ++this.#run;
    const scenario = this.#scenario;
    const vary = this.#rows.filter(({ key }) => key.value).map(({ key, values }) => `${key.value}=${values.value}`);
    this.#busy(true);
    try {
      const { points } = await this.call({ do: "sweep-plan", scenario, vary });
      if (run !== this.#run) return;
      this.#swept = { scenario, points, results: [] };
      this.#opened = "";
      this.#picked = null;
      this.#tellServe("");
      await this.#runAll(run, this.#swept);
    } catch (error) {
      if (run === this.#run) this.#refuse(error);
    }
    if (run === this.#run) this.#busy(false);
  }

  /** Stops after the points that are finished, and draws these. */
  async cancel() {
    this.#run++;
    this.#busy(false);
    const { points, results } = this.#swept ?? { points: [], results: [] };
    this.#say("cancelled", { done: results.length, n: points.length });
    await this.#draw().catch((error) => this.#refuse(error));
  }

  get #rows() {
    return [...this.querySelectorAll("[data-row]")].map((row) => ({
      key: row.querySelector("select"),
      values: row.querySelector("input"),
    }));
  }

  async #runAll(run, { scenario, points, results }) {
    const n = points.length;
    for (const point of points) {
      this.#say("running", { done: results.length, n });
      this.querySelector("progress").value = results.length / n;
      const result = await this.call({ do: "sweep-point", scenario, point });
      if (run !== this.#run) return;
      results.push(result);
    }
    await this.#draw();
    if (run === this.#run) this.#say("done", { n });
  }

  async #draw() {
    if (!this.#swept?.results.length) return;
    const drawing = ++this.#drawing;
    const { scenario, points, results } = this.#swept;
    const { x, y } = this.form.elements;
    const varied = x.querySelector("[value=varied]");
    varied.disabled = Object.keys(points[0]).length !== 1;
    if (varied.selected && varied.disabled) x.value = y.value === "throughput" ? "ttft_p99" : "throughput";
    const html = await this.call({
      do: "sweep-draw", scenario, points: points.slice(0, results.length), results: [...results],
      x: x.value, y: y.value, picked: this.#picked, language: document.documentElement.dataset.language,
    });
    if (drawing !== this.#drawing) return;
    this.querySelector("[data-axes]").hidden = false;
    this.querySelector("[data-result]").innerHTML = html;
    this.#age();
  }

  #pick(point) {
    if (!point) return;
    this.#picked = JSON.parse(point.dataset.set);
    for (const each of this.querySelectorAll("[data-set]")) {
      const place = each.closest("tr") ?? each;
      if (each.dataset.set === point.dataset.set) place.setAttribute("aria-current", "true");
      else place.removeAttribute("aria-current");
    }
    this.#tellServe(this.querySelector("tr[aria-current] .sweep-serve").textContent);
    const detail = { scenario: this.#swept.scenario, point: this.#picked };
    this.dispatchEvent(new CustomEvent("pick", { detail, bubbles: true }));
  }

  #tellServe(line) {
    const place = this.querySelector("[data-picked]");
    place.hidden = line === "";
    place.querySelector("code").textContent = line;
  }

  /** Tells whether the result is of an older scenario. */
  #age() {
    const text = JSON.stringify(this.#scenario);
    const isOld = this.#swept !== null && text !== this.#opened && text !== JSON.stringify(this.#swept.scenario);
    this.querySelector("[data-old]").hidden = !isOld;
  }

  /** Values around the one that the scenario has. */
  #suggest(select) {
    const { kind, choices, usual, least, most, initial } = select.selectedOptions[0].dataset;
    if (kind !== "int" || usual) return usual ?? choices ?? "";
    const value = Number(this.#scenario?.config?.[select.value] ?? initial);
    const first = Math.min(256, Math.max(1, most >> 8));
    const values = value ? [value >> 2, value >> 1, value, value * 2] : [0, first, first * 2, first * 4];
    return [...new Set(values)].filter((each) => each >= least && each <= most).join(",");
  }

  #busy(busy) {
    this.dataset.state = busy ? "busy" : "current";
    this.form.elements.run.disabled = busy;
    this.form.elements.cancel.disabled = !busy;
    this.querySelector("progress").hidden = !busy;
  }

  #say(id, values) {
    say(this.querySelectorAll("[data-say]"), id, values);
  }

  #refuse(error) {
    this.#say("refused", { reason: error.message });
  }
}

customElements.define("sweep-panel", SweepPanel);
