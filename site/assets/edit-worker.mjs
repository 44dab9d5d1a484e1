// The worker for what may take long: edited schedulers, files of others. Python as in the page's own worker, and nothing
// else. It may be ended any time.

import { loadPyodide } from "../vendor/pyodide/boot.mjs";

const python = loadPyodide().then((loaded) => loaded.pyimport("sim.page").handle);
python.then(() => postMessage({ ready: true }), (error) => postMessage({ failed: String(error.message ?? error) }));

onmessage = async ({ data: { id, text, bytes } }) => postMessage({ id, answer: (await python)(text, bytes) });
