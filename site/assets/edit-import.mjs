// <import-panel>: a file of another tool becomes a scenario. Python reads it, in a worker; nothing leaves the browser.
// Configurations of different sources and requests are put together; measured series are drawn beside the run.
// Each time the scenario changes, the event `scenario` carries `{scenario, series, tells}`; the last says of what came last
// whether it is `all`, a `configuration` or `requests`.

import { fill, say } from "./edit-fill.mjs";
import { Runner, Stopped } from "./edit-runner.mjs";

const MOST_BYTES = 64 << 20;
const MANY = 2000; // requests: more are not drawn without asking
const SECONDS = 60;

export class ImportPanel extends HTMLElement {
  #runner = new Runner();
  #file = null; // what was handed in last: {bytes, name, cut}
  #run = 0;
  #configs = new Map(); // what was told of a configuration, by format; of two the later counts
  #sizes = {}; // the configuration that came with requests, for want of another
  #requests = [];
  #series = {};

  connectedCallback() {
    const { form } = this;
    form.elements.file.addEventListener("change", () => this.#choose(form.elements.file.files[0]));
    form.addEventListener("submit", (event) => { event.preventDefault(); this.#paste(); });
    for (const name of ["format", "unit"]) form.elements[name].addEventListener("change", () => this.read());
    for (const button of this.querySelectorAll("[data-take]")) {
      button.addEventListener("click", () => this.read(button.dataset));
    }
    this.addEventListener("dragover", (event) => { event.preventDefault(); this.toggleAttribute("data-over", true); });
    this.addEventListener("dragleave", () => this.removeAttribute("data-over"));
    this.addEventListener("drop", (event) => {
      event.preventDefault();
      this.removeAttribute("data-over");
      const [file] = event.dataTransfer.files;
      if (file) return this.#choose(file);
      this.form.elements.paste.value = event.dataTransfer.getData("text/plain");
      this.#paste();
    });
    this.dataset.state = "ready";
  }

  disconnectedCallback() {
    this.#runner.stop();
  }

  get form() { return this.querySelector("form"); }

  /** What was imported, as a scenario; without requests if none were. */
  get scenario() {
    const config = this.#configs.size ? Object.assign({}, ...this.#configs.values()) : this.#sizes;
    return { name: this.#file?.name ?? "import", config, requests: this.#requests };
  }

  /** What tells all replaces the configurations and requests that came before. */
  #join({ config, requests, imported: { format, series } }, tells) {
    if (tells === "all") {
      this.#configs.clear();
      this.#requests = [];
    }
    if (tells !== "configuration") {
      this.#requests = requests;
      this.#sizes = config;
    } else {
      this.#configs.delete(format);
      this.#configs.set(format, config);
    }
    if (Object.keys(series).length) this.#series = series;
  }

  async #choose(file) {
    if (!file) return;
    const bytes = new Uint8Array(await file.slice(0, MOST_BYTES).arrayBuffer());
    this.#file = { bytes, name: file.name.replace(/\.[^.]*$/, ""), cut: file.size > MOST_BYTES };
    await this.read();
  }

  async #paste() {
    this.#file = { bytes: new TextEncoder().encode(this.form.elements.paste.value), name: undefined, cut: false };
    await this.read();
  }

  /** Reads what was handed in. `take` is `rows` or `sample`, with a `count`, or `all`; without it, many requests are offered, not taken. */
  async read({ take, count } = {}) {
    if (!this.#file) return;
    const run = ++this.#run;
    const { bytes, name, cut } = this.#file;
    const { format, unit } = this.form.elements;
    this.dataset.state = "busy";
    this.#say("reading");
    this.querySelector("[data-cut]").hidden = !cut;
    fill(this.querySelector("[data-cut]"), { size: MOST_BYTES >> 20 });
    const { language } = document.documentElement.dataset;
    const message = { do: "import", format: format.value, unit: unit.value, name, language };
    if (take !== undefined && take !== "all") message[take] = Number(count);
    try {
      const { error, result } = await this.#runner.ask(message, SECONDS, bytes);
      if (run !== this.#run) return;
      if (error !== undefined) return this.#refuse(error);
      await this.#show(result, take, run);
    } catch (error) {
      if (run === this.#run) this.#stopped(error);
    }
  }

  #say(id, values) {
    say(this.querySelectorAll("[data-say]"), id, values);
  }

  #refuse(reason) {
    this.dataset.state = "refused";
    this.#say("refused", { reason });
  }

  #stopped(error) {
    this.dataset.state = "stopped";
    this.#say(error instanceof Stopped ? "stopped" : "failed", { reason: error.message });
  }

  async #show({ scenario, html, requests, tells }, take, run) {
    this.querySelector("[data-account]").innerHTML = html;
    const offer = this.querySelector("[data-offer]");
    this.#say("done", { name: scenario.name });
    if (take === undefined) {
      offer.hidden = requests <= MANY;
      fill(offer.querySelector("p"), { n: requests });
      if (!offer.hidden) {
        this.dataset.state = "offer";
        return;
      }
    }
    this.#join(scenario, tells);
    const details = this.querySelector("[data-scenario]");
    details.hidden = false;
    details.querySelector("pre").textContent = JSON.stringify(this.scenario, null, 1);
    const detail = { scenario: this.scenario, series: this.#series, tells };
    this.dispatchEvent(new CustomEvent("scenario", { detail, bubbles: true }));
    await this.#beside(run);
  }

  async #beside(run) {
    const { language } = document.documentElement.dataset;
    const question = { do: "beside", scenario: this.scenario, series: this.#series, language };
    const { error, result } = await this.#runner.ask(question, SECONDS);
    if (run !== this.#run) return;
    if (error !== undefined) return this.#refuse(error);
    const section = this.querySelector("[data-beside]");
    section.hidden = result === "";
    section.querySelector("div").innerHTML = result;
    this.dataset.state = "current";
  }
}

customElements.define("import-panel", ImportPanel);
