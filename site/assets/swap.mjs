// Replaces a picture by a new one without losing what the reader did in it.

/** Puts `html` into `result`; keeps which details are open, where the focus is, and how far regions are scrolled. */
export function swap(result, html) {
  keeping(result, () => { result.innerHTML = html; });
  return [];
}

/**
 * The same for a picture that comes in parts, each one element: those that are as `before` stay as they are. `set` gives
 * attributes by selector. Returns the parts, for the next time.
 */
export function swapParts(result, { parts, set }, before) {
  if (before.length !== parts.length) {
    swap(result, parts.join(""));
  } else {
    for (const [index, html] of parts.entries()) {
      if (html === before[index]) continue;
      const old = result.children[index];
      keeping(old, () => { old.outerHTML = html; }, () => result.children[index]);
      carryOver(old, result.children[index]);
    }
  }
  for (const [selector, attributes] of Object.entries(set)) {
    for (const element of result.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    }
  }
  return parts;
}

/** What is asked for later stands as it was until it comes, where the picture says so: nothing jumps meanwhile. */
function carryOver(old, now) {
  const [was, place] = [old, now].map((part) => part.querySelector("[data-keeps]"));
  if (!was || !place) return;
  place.replaceChildren(...was.childNodes);
  place.setAttribute("aria-busy", "true");
}

/** Calls `change`, and carries over what the reader did in `old` to what `find` gives afterwards. */
function keeping(old, change, find = () => old) {
  const root = old.getRootNode();
  const opened = new Map(byId(old, "details").map(({ id, open }) => [id, open]));
  const scrolled = byId(old, "[tabindex]").map(({ id, scrollLeft, scrollTop }) => ({ id, scrollLeft, scrollTop }));
  const focused = old.contains(root.activeElement) ? focusKey(root.activeElement) : null;

  change();

  const now = find();
  for (const details of byId(now, "details")) {
    if (opened.has(details.id)) details.open = opened.get(details.id);
  }
  for (const { id, scrollLeft, scrollTop } of scrolled) {
    const region = root.getElementById(id);
    if (region && (scrollLeft || scrollTop)) Object.assign(region, { scrollLeft, scrollTop });
  }
  if (focused) (now.matches(focused) ? now : now.querySelector(focused))?.focus({ preventScroll: true });
}

const byId = (part, selector) => [...part.querySelectorAll(selector)].filter((element) => element.id);

/** A selector that finds the same element in the next picture: its id, or for a summary that of its details. */
function focusKey(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const details = element.matches("summary") && element.parentElement;
  return details && details.id ? `#${CSS.escape(details.id)} > summary` : null;
}
