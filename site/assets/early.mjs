// The engine's start begins with the first paint, while the rest of the page may still be on its way.

import { startEngine } from "./engine.mjs";

const idle = globalThis.requestIdleCallback ?? ((callback) => setTimeout(callback, 50));

/** Resolves when the page has been painted and the browser has nothing better to do. */
export const painted = new Promise((resolve) => requestAnimationFrame(() => idle(resolve, { timeout: 200 })));

if (document.documentElement.dataset.start !== "use") {
  painted.then(() => startEngine()).catch(() => {}); // page.mjs tells of it
}
