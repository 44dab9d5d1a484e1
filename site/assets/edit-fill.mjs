// Words that came with the page, with {slots} that a script fills.

const patterns = new WeakMap(); // text nodes as the page came with them

/** Fills the `{slots}` in the texts of an element. */
export function fill(element, values) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!patterns.has(node)) patterns.set(node, node.data);
    node.data = patterns.get(node).replace(/\{(\w+)\}/g, (slot, name) => values[name] ?? slot);
  }
}

/** Shows the one of `elements` (with `data-say`) that has this id. A `[data-slot]` in it gets the reason as it is. */
export function say(elements, id, values = {}) {
  for (const element of elements) {
    element.hidden = element.dataset.say !== id;
    if (element.hidden) continue;
    const slot = element.querySelector("[data-slot]");
    if (slot) slot.textContent = values.reason;
    else fill(element, values);
  }
}
