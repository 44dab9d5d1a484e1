// Asks the worker for what may take long, and ends it when it does not answer in time; the next question has a new one.

/** The worker was ended, by the time limit or by hand. */
export class Stopped extends Error {}

/** Python could not be started, or its worker has died. */
export class Failed extends Error {}

export class Runner {
  #worker = null;
  #ready = null;
  #open = new Map(); // questions by number: {resolve, reject}
  #next = 0;

  /** Starts a worker if there is none; resolves when Python is up. */
  start() {
    return this.#ready ??= new Promise((resolve, reject) => {
      const worker = new Worker(new URL("edit-worker.mjs", import.meta.url), { type: "module" });
      this.#worker = worker;
      const fail = (reason) => {
        reject(new Failed(reason));
        if (this.#worker === worker) this.stop(new Failed(reason));
      };
      worker.onerror = (event) => fail(event.message || "the worker was blocked");
      worker.onmessage = ({ data }) => {
        if (data.ready) resolve();
        if (data.failed) fail(data.failed);
        if ("id" in data) this.#open.get(data.id)?.resolve(JSON.parse(data.answer));
      };
      this.#open.set("start", { reject });
    });
  }

  /** The answer, `{result}` or `{error}`; after `seconds` the worker is ended. The start does not count. `bytes` are a file. */
  async ask(message, seconds, bytes) {
    await this.start();
    const id = this.#next++;
    const timer = setTimeout(() => this.stop(new Stopped("time")), seconds * 1000);
    try {
      return await new Promise((resolve, reject) => {
        this.#open.set(id, { resolve, reject });
        this.#worker.postMessage({ id, text: JSON.stringify(message), bytes });
      });
    } finally {
      clearTimeout(timer);
      this.#open.delete(id);
    }
  }

  /** Ends the worker. Open questions are rejected with `reason`. */
  stop(reason = new Stopped("hand")) {
    this.#worker?.terminate();
    this.#worker = this.#ready = null;
    for (const { reject } of this.#open.values()) reject(reason);
    this.#open.clear();
  }
}
