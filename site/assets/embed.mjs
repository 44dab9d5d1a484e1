// The button that gives the code of a frame with one figure, as the reader has set it.

import { changedValues, hasAddress } from "./address.mjs";

const FOOTER = 96; // pixels of an embed below its figure
const TOOL = 900; // pixels: a tool of a page's length scrolls inside its frame

/** Lets the button of each figure work. */
export function offerEmbeds(figures) {
  for (const figure of figures) {
    const part = (name) => figure.shadowRoot.querySelector(`[data-part="${name}"]`);
    figure.shadowRoot.querySelector("[data-copy-embed]")?.addEventListener("click", async ({ currentTarget }) => {
      const code = embedCode(figure, currentTarget.dataset.copyEmbed);
      const isCopied = await copy(code);
      const [told, fallback] = [part("copied"), part("snippet")];
      told.hidden = !isCopied;
      fallback.hidden = isCopied;
      if (!isCopied) {
        const field = fallback.querySelector("textarea");
        field.value = code;
        field.focus();
        field.select();
      }
      figure.say((isCopied ? told : fallback).textContent);
    });
  }
}

/** An iframe without style and script: it works wherever iframes are allowed. */
function embedCode(figure, path) {
  const address = new URL(path, location.href);
  if (hasAddress([figure])) Object.assign(address, { search: location.search, hash: location.hash });
  else address.search = new URLSearchParams(changedValues(figure));
  const frame = document.createElement("iframe");
  const attributes = {
    src: address.href,
    title: figure.shadowRoot.querySelector("figcaption").textContent.trim(),
    width: "100%",
    height: hasAddress([figure]) ? TOOL : heightOf(figure),
    loading: "lazy",
    allow: "fullscreen; clipboard-write",
    referrerpolicy: "strict-origin-when-cross-origin",
  };
  for (const [name, value] of Object.entries(attributes)) frame.setAttribute(name, value);
  return frame.outerHTML;
}

const heightOf = (figure) => Math.ceil((figure.shadowRoot.querySelector("figure").offsetHeight + FOOTER) / 10) * 10;

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no secure context, or not allowed in this frame
  }
}
