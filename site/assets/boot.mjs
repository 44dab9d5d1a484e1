// The interpreter that PyScript is told to use: Pyodide with the simulator unpacked in it.
// This is the one place where the engine is started; it stands beside pyodide.mjs in the built site.
// It runs in a PyScript worker, in a plain worker and on the main thread alike.
import { loadPyodide as load, version } from "./pyodide.mjs";
import { BYTES, LOCK } from "./runtime.mjs"; // written by the build: raw size of each download, and an empty lock file

export { version };

const HERE = new URL("./", import.meta.url).href;
const APP = "/lib/app";
const TELL_EVERY = 131_072; // bytes

const report = (detail) =>
  globalThis.document ? dispatchEvent(new CustomEvent("boot:progress", { detail })) : postMessage({ progress: detail });

/** Counts what is downloaded from here, and rejects `broken` when a download fails: Pyodide itself would wait for ever. */
function watchDownloads() {
  const { fetch } = globalThis;
  const { instantiateStreaming } = WebAssembly;
  const total = Object.values(BYTES).reduce((sum, bytes) => sum + bytes, 0);
  let got = 0;
  let told = 0;
  let fail;
  const broken = new Promise((_, reject) => { fail = reject; });
  broken.catch(() => {});

  const add = (bytes) => {
    got += bytes;
    if (got < told + TELL_EVERY && got < total) return;
    told = got;
    report({ stage: got < total ? "download" : "start", got, total });
  };
  const giveUp = (name, error) => {
    fail(new Error(`${name}: ${error.message ?? error}`));
    throw error;
  };

  globalThis.fetch = async (input, init) => {
    const url = new URL(input.url ?? input, HERE).href;
    const name = url.startsWith(HERE) ? url.slice(HERE.length) : "";
    if (!(name in BYTES)) return fetch(input, init);
    const response = await fetch(input, init).catch((error) => giveUp(name, error));
    if (!response.ok) giveUp(name, new Error(`HTTP ${response.status}`));
    return new Response(counted(response.body, add, (error) => giveUp(name, error)), response);
  };
  WebAssembly.instantiateStreaming = (source, imports) =>
    instantiateStreaming.call(WebAssembly, source, imports).catch((error) => giveUp("pyodide.asm.wasm", error));

  // The loader is a module, not a fetch: it counts when it is there. Pyodide's own import finds it loaded.
  const loader = "pyodide.asm.mjs";
  import(HERE + loader).then(() => add(BYTES[loader]), (error) => fail(error));

  const stop = () => {
    globalThis.fetch = fetch;
    WebAssembly.instantiateStreaming = instantiateStreaming;
  };
  return { broken, stop };
}

/** The same stream, with `add` told of each chunk. */
function counted(body, add, giveUp) {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read().catch(giveUp);
      if (done) return controller.close();
      add(value.byteLength);
      controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Holds a lock for as long as this worker lives; whoever gets it next knows that the worker is gone. */
function holdLock() {
  if (globalThis.document || !navigator.locks) return;
  const name = `batchloom-${crypto.randomUUID()}`;
  const held = () => {
    report({ stage: "alive", lock: name });
    return new Promise(() => {});
  };
  navigator.locks.request(name, held).catch(() => {}); // refused in an opaque origin: then nobody watches
}

/** What PyScript calls: as Pyodide's own, but from here alone, without the lock file, and with `sim` on the path. */
export async function loadPyodide(options = {}) {
  holdLock();
  const { lockFileURL, ...rest } = options;
  const { broken, stop } = watchDownloads();
  try {
    const app = fetch(`${HERE}sim.zip`).then((response) => response.arrayBuffer());
    app.catch(() => {}); // told through `broken`
    const loading = load({ ...rest, indexURL: HERE, lockFileContents: LOCK });
    loading.catch(() => {});
    const python = await Promise.race([loading, broken]);
    python.unpackArchive(await app, "zip", { extractDir: APP });
    python.runPython(`import sys; sys.path.insert(0, "${APP}")`);
    return python;
  } finally {
    stop();
  }
}
