// Writes the memory of a Python that has the simulator loaded and warm: a page that restores it has nothing to import.
//
//     node scripts/make_snapshot.mjs <folder of npm packages> <sim.zip> <file to write, ending in .gz>
//
// The same files give the same bytes: clock, chance and hash seed are fixed before Pyodide is loaded.

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [packages, simulator, target] = process.argv.slice(2).map((path) => resolve(path));
const pyodide = `${packages}/pyodide`;
const pyscript = `${packages}/@pyscript/core/src/stdlib/pyscript.js`; // its Python package, as PyScript will write it
const PREPARE = new URL("in_snapshot.py", import.meta.url);
const APP = "/lib/sim.zip"; // Python imports from the archive itself
const NOW = Date.UTC(2020, 0, 1);

function fixChance() {
  let state = 1;
  Date.now = () => NOW;
  performance.now = () => 0;
  Crypto.prototype.getRandomValues = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      bytes[i] = state >>> 16;
    }
    return array;
  };
}

/** Fills freed memory with zeros, which cost nothing when packed. */
function clearFreedMemory(module) {
  let top = module.HEAPU8.length;
  while (module.HEAPU8[top - 1] === 0) top--;
  const taken = [];
  for (let size = 1 << 19; size >= 16; size = (size * 0.75) & ~15) {
    for (;;) {
      const start = module._malloc(size);
      if (start === 0) break;
      if (start + size > top) { // fresh memory: nothing of this size is free below
        module._free(start);
        break;
      }
      module.HEAPU8.fill(0, start, start + size);
      taken.push(start);
    }
  }
  for (const start of taken) module._free(start);
}

// Node would print the source of Pyodide: one line says it.
process.on("uncaughtException", (error) => {
  const lines = String(error?.message ?? error).trim().split("\n");
  process.stderr.write(`${lines.at(-1)}\n`);
  process.exit(1);
});
fixChance();
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`).href);
const python = await loadPyodide({
  indexURL: `${pyodide}/`,
  _makeSnapshot: true,
  env: { PYTHONHASHSEED: "0" },
});
const { default: modules } = await import(pathToFileURL(pyscript).href);
python.FS.writeFile("/lib/pyscript.json", JSON.stringify(modules));
python.FS.writeFile(APP, readFileSync(simulator));
python.runPython(readFileSync(PREPARE, "utf-8"), { filename: "in_snapshot.py" });
clearFreedMemory(python._module);
writeFileSync(target, gzipSync(python.makeMemorySnapshot(), { level: 9 }));
