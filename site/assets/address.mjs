// The page's address in another language: the same query, place and state of the figures.

import { readValues } from "./controls.mjs";

/** The controls of a figure that are not as the page has drawn them, as pairs of name and text. */
export function changedValues(figure) {
  const drawn = readValues(figure.form, { drawn: true });
  const changed = Object.entries(readValues(figure.form)).filter(([name, value]) => value !== drawn[name]);
  return changed.map(([name, value]) => [name, String(value ?? "")]);
}

/** Lets links to the same page in another language lead to the same place and the same state. */
export function keepAddress(figures) {
  const asked = new Map(figures.map((figure) => [figure, readValues(figure.form)])); // what the query string has set
  for (const link of document.querySelectorAll("a[data-keep-address]")) {
    const keep = () => {
      const isKept = hasAddress(figures);
      link.search = isKept ? location.search : searchOf(asked);
      link.hash = isKept ? location.hash : placeOf() || location.hash;
    };
    for (const kind of ["pointerdown", "focus", "click"]) link.addEventListener(kind, keep);
    addEventListener("hashchange", keep);
    Object.assign(link, { search: location.search, hash: location.hash }); // not more: the place would cost a layout
  }
}

/** Whether the page's address already is that of the state of its figure. */
export const hasAddress = (figures) => figures.some((figure) => figure.hasAttribute("data-keeps-address"));

/** The query string as it is, and after it each control that was changed since, with its figure's name. */
function searchOf(asked) {
  const query = new URLSearchParams(location.search);
  const before = query.toString();
  for (const [figure, values] of asked) {
    for (const [name, value] of Object.entries(readValues(figure.form))) {
      if (value !== values[name]) query.set(`${figure.getAttribute("figure")}.${name}`, value ?? "");
    }
  }
  return query.toString() === before ? location.search : query.toString();
}

/** The last section or figure that begins above the upper third of the window; none at the top of the page. */
function placeOf() {
  if (scrollY < innerHeight / 3) return "";
  const places = [...document.querySelectorAll("main section[id], batch-loom[id]")];
  return places.findLast((place) => place.getBoundingClientRect().top < innerHeight / 3)?.id ?? "";
}
