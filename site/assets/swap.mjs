// Replaces a picture by a new one without losing what the reader did in it.

/** Puts `html` into `result`; keeps which details are open, where the focus is, and how far regions are scrolled. */
export function swap(result, html) {
  const opened = new Map(byId(result, "details").map(({ id, open }) => [id, open]));
  const scrolled = byId(result, "[tabindex]").map(({ id, scrollLeft, scrollTop }) => ({ id, scrollLeft, scrollTop }));
  const root = result.getRootNode();
  const focused = result.contains(root.activeElement) ? focusKey(root.activeElement) : null;

  result.innerHTML = html;

  for (const details of byId(result, "details")) {
    if (opened.has(details.id)) details.open = opened.get(details.id);
  }
  for (const { id, scrollLeft, scrollTop } of scrolled) {
    const region = root.getElementById(id);
    if (region && (scrollLeft || scrollTop)) Object.assign(region, { scrollLeft, scrollTop });
  }
  if (focused) result.querySelector(focused)?.focus({ preventScroll: true });
}

const byId = (result, selector) => [...result.querySelectorAll(selector)].filter((element) => element.id);

/** A selector that finds the same element in the next picture: its id, or for a summary that of its details. */
function focusKey(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const details = element.matches("summary") && element.parentElement;
  return details && details.id ? `#${CSS.escape(details.id)} > summary` : null;
}
