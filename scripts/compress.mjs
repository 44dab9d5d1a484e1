// Writes `file.gz` and `file.br` beside every text and WebAssembly file of a folder, for hosts that send such files.
//
//     node scripts/compress.mjs <folder> <folder for what takes long, kept from build to build>

import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import zlib from "node:zlib";

const [folder, kept] = process.argv.slice(2);
const PACKED = /\.(css|html|js|json|mjs|py|svg|txt|wasm|webmanifest|xml)$/;
const LARGE = 500_000; // bytes: from here on brotli's best takes many seconds for a few percent; Pyodide's own files

const gzip = promisify(zlib.gzip);
const brotli = promisify(zlib.brotliCompress);

async function pack(file) {
  const bytes = readFileSync(file);
  const isLarge = bytes.length >= LARGE;
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT, BROTLI_PARAM_LGWIN } = zlib.constants;
  const params = {
    [BROTLI_PARAM_QUALITY]: isLarge ? 9 : 11,
    [BROTLI_PARAM_SIZE_HINT]: bytes.length,
    [BROTLI_PARAM_LGWIN]: 24,
  };
  const ways = { gz: () => gzip(bytes, { level: 9 }), br: () => brotli(bytes, { params }) };
  for (const [ending, way] of Object.entries(ways)) {
    if (isLarge) copyFileSync(await keep(bytes, ending, way), `${file}.${ending}`);
    else writeFileSync(`${file}.${ending}`, await way());
  }
}

/** The file with the packed bytes, from an earlier build if there was one. */
async function keep(bytes, ending, way) {
  const file = join(kept, `${createHash("sha256").update(bytes).digest("hex")}.${ending}`);
  if (existsSync(file)) return file;
  mkdirSync(kept, { recursive: true });
  writeFileSync(`${file}.${process.pid}`, await way());
  renameSync(`${file}.${process.pid}`, file);
  return file;
}

const files = readdirSync(folder, { recursive: true }).map((name) => join(folder, name)).sort();
for (const file of files) {
  if (PACKED.test(file.replace(/\.(gz|br)$/, "")) && !PACKED.test(file)) rmSync(file); // of an earlier build
}
await Promise.all(files.filter((file) => PACKED.test(file) && statSync(file).isFile()).map(pack));
