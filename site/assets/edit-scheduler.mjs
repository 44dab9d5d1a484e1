// <scheduler-editor>: the source of the scheduler is edited, run on a scenario, and held against recorded traces.
// Python decides and draws; here is what a hand does, how long it may take, and how it stands.

import { openEditor } from "./edit-code.mjs";
import { fill, say } from "./edit-fill.mjs";
import { MARK, pack, unpack } from "./sandbox-pack.mjs";
import { Failed, Runner, Stopped } from "./edit-runner.mjs";

const SOURCE = new URL("scheduler.py", import.meta.url);
const SAMPLE = new URL("recorded-sample.json", import.meta.url);
const AT_ONCE = 10; // recorded traces in a question: each question has the whole time limit

async function load(address, kind) {
  const response = await fetch(address);
  if (!response.ok) throw new Failed(`${address.pathname.split("/").at(-1)}: HTTP ${response.status}`);
  return response[kind]();
}

export class SchedulerEditor extends HTMLElement {
  #runner = new Runner();
  #editor = null;
  #original = "";
  #sample = null;
  #run = 0; // counts runs: what belongs to an older one is dropped
  #faultLine = 1;

  connectedCallback() {
    this.dataset.state = "static";
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.run(); });
    this.form.elements.cancel.addEventListener("click", () => this.cancel());
    this.form.elements.reset.addEventListener("click", () => this.#editor.set(this.#original));
    this.form.elements.goto.addEventListener("click", () => this.#editor.goTo(this.#faultLine));
    this.form.elements.scenario.addEventListener("input", () => this.#changed());
    document.querySelector("a[data-to-sandbox]")?.addEventListener("click", (event) => this.#leave(event));
    this.#open().catch((error) => this.#say("failed", { reason: error.message }));
  }

  disconnectedCallback() {
    this.#runner.stop();
  }

  get form() { return this.querySelector("form"); }

  /** The scenario to run, as an object. */
  set scenario(value) {
    this.form.elements.scenario.value = JSON.stringify(value, null, 1);
    this.#changed();
  }

  /** Runs the edit on the scenario, then on the recorded traces. */
  async run() {
    this.#clear();
    const scenario = this.#readScenario();
    if (scenario === undefined || !this.form.reportValidity()) return;
    const run = ++this.#run;
    const seconds = this.form.elements.limit.valueAsNumber;
    const source = this.#editor.text;
    this.#busy(true);
    try {
      this.#say("loading");
      await this.#runner.start();
      this.#say("running");
      const language = document.documentElement.dataset.language;
      const question = { do: "edit", original: this.#original, source, scenario, language };
      const { error, result } = await this.#runner.ask(question, seconds);
      if (run !== this.#run) return;
      if (error !== undefined) return this.#say("refused", { reason: error });
      this.#show(result);
      if (result.state !== "fault") await this.#compare(run, { source, language }, seconds);
      if (run === this.#run) this.#say(result.state === "fault" ? "fault" : "done");
    } catch (error) {
      if (run === this.#run) this.#stopped(error, seconds);
    } finally {
      if (run === this.#run) this.#busy(false);
    }
  }

  /** Ends the run, if there is one. */
  cancel() {
    this.#runner.stop();
  }

  async #open() {
    this.#original = await load(SOURCE, "text");
    if (location.hash.startsWith(MARK)) await this.#takeAlong(location.hash.slice(MARK.length));
    const label = this.querySelector("#edit-code-label").textContent;
    this.#editor = await openEditor(this.querySelector("[data-code]"), this.#original, label, () => this.#changed());
    this.#busy(false);
    this.dataset.state = "ready";
  }

  /** The scenario that another page sends along; a broken one leaves that of the page. */
  async #takeAlong(packed) {
    const text = await unpack(packed).catch(() => "");
    if (text) this.form.elements.scenario.value = JSON.stringify(JSON.parse(text), null, 1);
  }

  /** The sandbox is given the scenario as it stands here; one that is no JSON stays behind. */
  async #leave(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || this.#readScenario() === undefined) return;
    event.preventDefault();
    const { currentTarget: link } = event;
    link.hash = MARK + (await pack(this.form.elements.scenario.value));
    location.assign(link.href);
  }

  /** What is shown belongs to an older text, and the page says so. */
  #changed() {
    this.form.elements.goto.hidden = true;
    this.querySelector("[data-old]").hidden = this.querySelector("[data-result]").hidden;
    if (this.dataset.state !== "busy") this.dataset.state = "ready";
  }

  #readScenario() {
    try {
      return JSON.parse(this.form.elements.scenario.value);
    } catch (error) {
      this.#say("not.json", { reason: error.message });
      this.form.elements.scenario.focus();
      return undefined;
    }
  }

  #busy(busy) {
    if (busy) this.dataset.state = "busy";
    const { run, cancel, reset } = this.form.elements;
    run.disabled = reset.disabled = busy;
    cancel.disabled = !busy;
    if (!busy) this.querySelector("progress").hidden = true;
  }

  #say(id, values) {
    say(this.querySelectorAll("form [data-say]"), id, values);
  }

  #clear() {
    this.querySelector("[data-old]").hidden = true;
    this.form.elements.goto.hidden = true;
    for (const section of this.querySelectorAll("[data-result], [data-sample], [data-diff]")) section.hidden = true;
  }

  #show({ html, line, diff, state }) {
    for (const [name, content] of [["result", html], ["diff", diff]]) {
      const section = this.querySelector(`[data-${name}]`);
      section.hidden = false;
      section.querySelector("div").innerHTML = content;
    }
    this.dataset.state = state;
    this.#faultLine = line ?? 1;
    this.form.elements.goto.hidden = !line;
    fill(this.form.elements.goto, { line });
  }

  /** Holds the edit against the recorded traces, a few at a time. */
  async #compare(run, question, seconds) {
    this.#sample ??= await load(SAMPLE, "json");
    const n = this.#sample.length;
    const list = this.querySelector("[data-sample] ul");
    const progress = this.querySelector("progress");
    list.replaceChildren();
    progress.hidden = false;
    const { state } = this.dataset;
    this.dataset.state = "busy";
    for (let done = 0; done < n; done += AT_ONCE) {
      progress.value = done / n;
      this.#say("sampling", { done, n });
      const recordings = this.#sample.slice(done, done + AT_ONCE);
      const { error, result } = await this.#runner.ask({ do: "edit-sample", recordings, ...question }, seconds);
      if (run !== this.#run) return;
      if (error !== undefined) throw new Failed(error);
      list.insertAdjacentHTML("beforeend", result.join(""));
    }
    const broken = list.children.length;
    const section = this.querySelector("[data-sample]");
    section.hidden = false;
    for (const element of section.querySelectorAll("[data-say]")) {
      element.hidden = (element.dataset.say === "all") === (broken > 0);
      fill(element, { broken, n });
    }
    this.dataset.state = state;
    this.dataset.broken = broken;
  }

  #stopped(error, seconds) {
    this.dataset.state = "stopped";
    if (!(error instanceof Stopped)) return this.#say("failed", { reason: error.message });
    this.#say(error.message === "time" ? "stopped" : "cancelled", { seconds });
    this.#runner.start().catch((failure) => this.#say("failed", { reason: failure.message }));
  }
}

customElements.define("scheduler-editor", SchedulerEditor);
