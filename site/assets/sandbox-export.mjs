// Files of the run: Python writes them, the browser saves them. A PNG is the SVG, painted.

import { readValues } from "./controls.mjs";
import { startEngine } from "./engine.mjs";
import { addressOf } from "./sandbox-share.mjs";

const TIMES = 2; // pixels of a PNG for one of the SVG

export function exportRuns(figure) {
  const panel = figure.shadowRoot.querySelector("[data-exports]");
  const told = panel.querySelector("[data-told]");
  panel.addEventListener("click", async ({ target }) => {
    const format = target.closest("[data-export]")?.dataset.export;
    if (!format) return;
    told.hidden = true;
    try {
      const { call } = await startEngine();
      const { language } = document.documentElement.dataset;
      const { address: { href: address } } = await addressOf(figure);
      const asked = format === "png" ? "svg" : format;
      const message = { do: "sandbox-export", format: asked, values: readValues(figure.form), address, language };
      const { name, type, text } = await call(message);
      if (format === "png") save(name.replace(/svg$/, "png"), await paint(text));
      else save(name, new Blob([text], { type }));
    } catch (error) {
      told.textContent = error.message;
      told.hidden = false;
    }
  });
}

function save(name, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function paint(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width * TIMES, height: image.height * TIMES });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
