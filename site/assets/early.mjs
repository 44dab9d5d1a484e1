// The engine's start begins with the first paint, while the rest of the page may still be on its way.

import { startEngine } from "./engine.mjs";

/** Resolves once the page has been painted. */
export const painted = new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

if (document.documentElement.dataset.start !== "use") {
  painted.then(() => startEngine()).catch(() => {}); // page.mjs tells of it
}
