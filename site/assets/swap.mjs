// Turns a picture into the next one, node by node: what is as before stays, with the focus, how far it is scrolled and
// which details are open, and only what is new is laid out.

let morphdom; // comes with the engine: before it there is no other picture

/** To be awaited before the first swap. */
export async function loadMorphdom() {
  ({ default: morphdom } = await import("../vendor/morphdom/morphdom-esm.js"));
}

/**
 * Makes the children of `result` those of the next picture, one for each of its `parts`; those parts that are as `before`
 * are left alone. `set` gives attributes by selector.
 */
export function swap(result, { parts, set }, before) {
  if (before.length !== parts.length) morph(result, parse(`<div>${parts.join("")}</div>`), { childrenOnly: true });
  else {
    for (const [index, html] of parts.entries()) {
      if (html !== before[index]) morph(result.children[index], parse(html));
    }
  }
  for (const [selector, attributes] of Object.entries(set)) {
    for (const element of result.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    }
  }
}

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

/** An element that had to make way takes the focus with it: then the one that is like it has it. */
function morph(old, now, options) {
  const root = old.getRootNode();
  const focused = old.contains(root.activeElement) ? focusKey(root.activeElement) : null;
  morphdom(old, now, { ...options, onBeforeElUpdated: isDifferent });
  if (focused && !root.activeElement) root.querySelector(focused)?.focus({ preventScroll: true });
}

/** Whether there is anything to change. What the reader has opened stays open. */
function isDifferent(old, now) {
  if (old.id && old.localName === "details") now.open = old.open;
  if (old.hasAttribute("data-keeps") && now.hasAttribute("data-keeps")) return askAgain(old, now);
  return !old.isEqualNode(now);
}

/** What is asked for later stands as it was until it comes, where the picture says so: nothing jumps meanwhile. */
function askAgain(old, now) {
  old.dataset.ask = now.dataset.ask;
  delete old.dataset.answered;
  old.setAttribute("aria-busy", "true");
  return false;
}

/** A selector that finds the same element in the next picture: its id, or for a summary that of its details. */
function focusKey(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const details = element.matches("summary") && element.parentElement;
  return details && details.id ? `#${CSS.escape(details.id)} > summary` : null;
}
