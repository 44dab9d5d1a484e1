// The interpreter that PyScript is told to use: Pyodide with the simulator in it.
// This is the one place where the engine is started; it stands beside pyodide.mjs in the built site.
// It runs in a PyScript worker, in a plain worker and on the main thread alike.
//
// Python starts from a snapshot of its memory, in which everything is imported already. Without one, or with one that is
// not this build's, it starts as Pyodide does by itself: standard library, then simulator. Only that takes longer.

import { loadPyodide as load, version } from "./pyodide.mjs";
import { BYTES, LOCK, SNAPSHOT } from "./runtime.mjs"; // written by the build: what is downloaded, and an empty lock file

export { version };

const HERE = new URL("./", import.meta.url).href;
const APP = "/lib/app";
const LOADER = "pyodide.asm.mjs";
const WASM = "pyodide.asm.wasm";
const LIBRARY = "python_stdlib.zip";
const EMPTY_ZIP = Uint8Array.of(0x50, 0x4b, 5, 6, ...Array(18).fill(0));
const TELL_EVERY = 131_072; // bytes
const { fetch } = globalThis; // what Pyodide takes for it, while it loads, is below

const report = (detail) =>
  globalThis.document ? dispatchEvent(new CustomEvent("boot:progress", { detail })) : postMessage({ progress: detail });

/** What is downloaded, and how much of it is here. `broken` rejects when a file fails that nothing can replace. */
class Downloads {
  #got = new Map();
  #wanted = [];
  #told = 0;
  #fail;

  constructor() {
    this.broken = new Promise((_, reject) => { this.#fail = reject; });
    this.broken.catch(() => {});
  }

  /** From now on progress is progress towards these files. */
  expect(...names) {
    this.#wanted = names;
    this.#told = 0;
  }

  /** The answer for a file; its bytes are counted as they come. */
  async get(name) {
    this.#got.set(name, 0);
    const response = await fetch(HERE + name);
    if (!response.ok) throw new Error(`${name}: HTTP ${response.status}`);
    const count = (bytes) => this.add(name, bytes);
    return new Response(response.body.pipeThrough(new TransformStream({
      transform(chunk, controller) {
        count(chunk.byteLength);
        controller.enqueue(chunk);
      },
    })), response);
  }

  add(name, bytes) {
    this.#got.set(name, (this.#got.get(name) ?? 0) + bytes);
    const sum = (size) => this.#wanted.reduce((all, each) => all + size(each), 0);
    const total = sum((each) => BYTES[each]);
    const got = sum((each) => this.#got.get(each) ?? 0);
    if (got < this.#told + TELL_EVERY && got < total) return;
    this.#told = got;
    report({ stage: got < total ? "download" : "start", got, total });
  }

  /** `promise`; when it is rejected, the start has failed, and says because of which file. */
  needs(name, promise) {
    return promise.catch((error) => {
      const { message } = error;
      this.#fail(message?.includes(name) ? error : new Error(`${name}: ${message ?? error}`));
      throw error;
    });
  }
}

/**
 * The memory of a started Python, if it is whole and of this build: the browser compares it with the checksum at the end
 * of the file, and this compares that checksum with the one that the build noted.
 */
async function readSnapshot(downloads) {
  const response = await downloads.get(SNAPSHOT.name);
  const end = new Uint8Array(8);
  const keepEnd = new TransformStream({
    transform(chunk, controller) {
      end.set(end.subarray(Math.min(8, chunk.length)));
      end.set(chunk.subarray(-8), Math.max(0, 8 - chunk.length));
      controller.enqueue(chunk);
    },
  });
  const unpacked = response.body.pipeThrough(keepEnd).pipeThrough(new DecompressionStream("gzip"));
  const memory = new Uint8Array(await new Response(unpacked).arrayBuffer());
  if (new DataView(end.buffer).getUint32(0, true) !== SNAPSHOT.crc32) throw new Error("it is not of this build");
  return memory;
}

/**
 * Pyodide fetches two files itself, and would wait for ever for one that does not come. Meanwhile they come from here:
 * the WebAssembly is compiled while it arrives, once for both ways to start, and the library is `library()`.
 */
function feedPyodide(downloads, library) {
  const { instantiateStreaming } = WebAssembly;
  const compiled = downloads.needs(WASM, downloads.get(WASM).then((response) => WebAssembly.compileStreaming(response)));
  compiled.catch(() => {});
  globalThis.fetch = (input, init) => {
    const { href } = new URL(input.url ?? input, HERE);
    if (href === HERE + WASM) return Promise.resolve(new Response());
    return href === HERE + LIBRARY ? library() : fetch(input, init);
  };
  WebAssembly.instantiateStreaming = async (_, imports) => {
    const module = await compiled;
    return { module, instance: await downloads.needs(WASM, WebAssembly.instantiate(module, imports)) };
  };
  // The loader is a module, not a fetch: it counts when it is there. Pyodide's own import finds it loaded.
  downloads.needs(LOADER, import(HERE + LOADER)).then(() => downloads.add(LOADER, BYTES[LOADER]), () => {});
  return () => {
    globalThis.fetch = fetch;
    WebAssembly.instantiateStreaming = instantiateStreaming;
  };
}

/** Brings the standard library when Python asks for a module that the snapshot lacks; see in_snapshot.py. */
function fetchLibrary(python) {
  const request = new XMLHttpRequest();
  request.open("GET", HERE + LIBRARY, false);
  request.responseType = "arraybuffer";
  request.send();
  if (request.status !== 200) throw new Error(`${LIBRARY}: HTTP ${request.status}`);
  const [major, minor] = JSON.parse(LOCK).info.python.split(".");
  python.FS.writeFile(`/lib/python${major}${minor}.zip`, new Uint8Array(request.response));
}

/**
 * PyScript opens a database for packages before it starts Python, and stops where the browser denies it, as in the frame of a
 * foreign page without cookies. There are no packages here: its worker gets an empty database that is kept nowhere.
 */
function replaceDatabase() {
  if (globalThis.document) return;
  const answer = (result) => {
    const request = { result };
    queueMicrotask(() => request.onsuccess({ target: request }));
    return request;
  };
  const store = { clear: () => answer(), getAllKeys: () => answer([]) };
  const database = { transaction: () => ({ objectStore: () => store }), close() {} };
  Object.defineProperty(globalThis, "indexedDB", { value: { open: () => answer(database) }, configurable: true });
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

async function restore(options, downloads) {
  const snapshot = readSnapshot(downloads);
  snapshot.catch(() => {}); // Pyodide waits for it, and tells
  const python = await load({ ...options, _loadSnapshot: snapshot });
  python.registerJsModule("batchloom_boot", { fetchLibrary: () => fetchLibrary(python) });
  return python;
}

async function startPlainly(options, downloads) {
  const app = downloads.needs("sim.zip", downloads.get("sim.zip").then((response) => response.arrayBuffer()));
  app.catch(() => {}); // told through `broken`
  const python = await load(options);
  python.unpackArchive(await app, "zip", { extractDir: APP });
  python.runPython(`import sys; sys.path.insert(0, "${APP}")`);
  return python;
}

replaceDatabase();

/** What PyScript calls: as Pyodide's own, but from here alone, without the lock file, and with `sim` to be imported. */
export async function loadPyodide(given = {}) {
  holdLock();
  const { lockFileURL, ...rest } = given;
  const options = { ...rest, indexURL: HERE, lockFileContents: LOCK };
  const downloads = new Downloads();
  const orBroken = (promise) => Promise.race([promise, downloads.broken]);
  let library = () => Promise.resolve(new Response(EMPTY_ZIP));
  const stop = feedPyodide(downloads, () => library());
  try {
    if (SNAPSHOT) {
      downloads.expect(LOADER, WASM, SNAPSHOT.name);
      const restored = await orBroken(restore(options, downloads).catch((error) => {
        console.info(`started without the snapshot: ${error.message ?? error}`);
      }));
      if (restored) return restored;
    }
    downloads.expect(LOADER, WASM, LIBRARY, "sim.zip");
    library = () => downloads.needs(LIBRARY, downloads.get(LIBRARY));
    return await orBroken(startPlainly(options, downloads));
  } finally {
    stop();
  }
}
