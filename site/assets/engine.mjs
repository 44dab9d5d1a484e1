// Starts Python in a PyScript worker and gives one function to talk to it: an object in, an object out.

const BOOT = new URL("../vendor/pyodide/boot.mjs", import.meta.url).href;
const PYSCRIPT = new URL("../vendor/pyscript/core.js", import.meta.url).href;
const PLUGINS = ["codemirror", "deprecations-manager", "donkey", "error", "py-editor", "py-game", "py-terminal"];
const SCRIPT = new URL("worker.py", import.meta.url).href;

/** Python's answer to a question that it cannot accept; the message is one line, `field` the path that it names. */
export class Refused extends Error {
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

const LONG = 4_000; // characters

/** Long texts among the values of messages cross once, and go by a number from then on. */
class Texts {
  #known = []; // the latest, as [number, text]
  #next = 0;

  /** `message` with numbers for its long texts, and with those texts that Python has not had yet. */
  shorten(message) {
    if (!message.values) return message;
    const texts = {};
    const values = Object.entries(message.values).map(([name, value]) =>
      [name, typeof value === "string" && value.length > LONG ? { text: this.#number(value, texts) } : value]);
    return { ...message, values: Object.fromEntries(values), texts };
  }

  #number(text, texts) {
    let known = this.#known.find((each) => each[1] === text);
    if (!known) {
      known = [String(this.#next++), text];
      this.#known = [...this.#known.slice(-3), known];
      texts[known[0]] = text;
    }
    return known[0];
  }
}

let engine = null; // the page has one
let latest = null;
let listener = () => {};

/**
 * Starts the engine, or gives the one that was started.
 * @param onProgress told `{stage, got, total}` while it loads
 * @returns a promise of `{call, died}`: `call(message)` promises the answer, `died` resolves with an error when the
 *   engine is gone.
 */
export function startEngine(onProgress) {
  if (onProgress) {
    listener = onProgress;
    if (latest) onProgress(latest);
  }
  return engine ??= load((progress) => listener(latest = progress));
}

/**
 * PyScript waits for its plugins before it can start a worker, and none of them is needed here. It reads its configuration
 * from the page when it is loaded.
 */
async function importPyScript() {
  const settings = JSON.stringify({ plugins: PLUGINS.map((name) => `!${name}`) });
  const configs = ["py-config", "mpy-config"].map((name) =>
    Object.assign(document.createElement(name), { hidden: true, textContent: settings }));
  document.body.append(...configs);
  try {
    return await import(PYSCRIPT);
  } finally {
    configs.forEach((config) => config.remove());
  }
}

async function load(onProgress) {
  let die;
  const died = new Promise((resolve) => { die = resolve; });
  const [{ PyWorker, hooks }, script] = await Promise.all([importPyScript(), fetch(SCRIPT)]);
  if (!script.ok) throw new Error(`${SCRIPT}: HTTP ${script.status}`); // PyWorker() would wait for ever
  // Before this, PyWorker() starts silently without hooks: it does not wait for PyScript's own start.
  await customElements.whenDefined("py-script");
  hooks.main.onWorker.add((_, worker) => watchWorker(worker, onProgress, die));
  const options = { version: BOOT, config: { sync_main_only: true, packages_cache: "never" } };
  const worker = await unless(died, PyWorker(SCRIPT, options));
  return { call: caller((text) => worker.sync.handle(text), died, die), died };
}

/** `promise`, or a rejection as soon as `died` tells an error. */
function unless(died, promise) {
  return Promise.race([promise, died.then((error) => { throw error; })]);
}

/** The one function that asks Python, through `handle`. Calls still open when the engine dies are rejected. */
function caller(handle, died, die) {
  const open = new Set();
  died.then((error) => open.forEach((reject) => reject(error)));
  const send = (text) =>
    new Promise((resolve, reject) => {
      open.add(reject);
      // Python answers bad questions in words: a call that throws has lost its interpreter.
      handle(text).then(resolve, (error) => { die(error); reject(error); }).finally(() => open.delete(reject));
    });
  const texts = new Texts();
  return async (message) => {
    const { error, field, result } = JSON.parse(await send(JSON.stringify(texts.shorten(message))));
    if (error !== undefined) throw new Refused(error, field);
    return result;
  };
}

/** Listens to what boot.mjs posts. PyWorker() resolves too late for that; this hook runs when the worker is made. */
function watchWorker(worker, onProgress, die) {
  worker.addEventListener("error", (event) => die(new Error(event.message || "the worker was blocked")));
  worker.addEventListener("message", (event) => {
    const progress = event.data?.progress;
    if (!progress) return;
    event.stopImmediatePropagation();
    if (progress.stage !== "alive") return onProgress(progress);
    // The worker holds this lock for life: it comes to us when the browser has ended the worker, which is silent.
    navigator.locks.request(progress.lock, () => die(new Error("the worker ended")));
  });
}
