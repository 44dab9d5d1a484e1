// The query string: values of controls, and how the page is shown. What cannot be used is told, never clamped in silence.

import { allowed, controlsOf, parseValue, readValues, writeValues } from "./controls.mjs";
import { word } from "./words.mjs";

const MOST_NAMES = 12; // presets that a notice lists
const THEMES = ["auto", "light", "dark"];

/**
 * Sets the controls of `figures` from the query string.
 * @returns the notices to show, one line each
 */
export function applyQuery(search, figures) {
  const query = new Map(new URLSearchParams(search));
  const notices = [];
  const before = [["theme", checkTheme], ["scenario", applyPreset]]; // a preset first: single values refine it
  const after = [["hide", hideParts], ["lock", lockControls]];
  const own = new Map([...before, ...after]);
  const values = [...query.keys()].filter((name) => !own.has(name)).map((name) => [name, applyValue]);
  for (const [name, apply] of [...before, ...values, ...after]) {
    if (query.has(name)) notices.push(apply(query.get(name), figures, name));
  }
  return notices.flat().filter(Boolean);
}

function checkTheme(given) {
  if (THEMES.includes(given)) return null;
  const choices = word("allowed.choice", { choices: THEMES.join(", ") });
  return word("notice.bad", { name: "theme", given, allowed: choices, used: document.documentElement.dataset.theme });
}

/** A preset is a button with `data-preset` and the values in `data-set`. */
function applyPreset(given, figures) {
  const buttonsOf = (figure) => [...figure.shadowRoot.querySelectorAll("button[data-preset][data-set]")];
  const all = figures.flatMap((figure) => buttonsOf(figure).map((button) => ({ figure, button })));
  const chosen = all.filter(({ button }) => button.dataset.preset === given);
  for (const { figure, button } of chosen) change(figure, JSON.parse(button.dataset.set));
  if (chosen.length > 0) return null;
  const names = all.map(({ button }) => button.dataset.preset);
  const listed = names.slice(0, MOST_NAMES).join(", ") + (names.length > MOST_NAMES ? ", …" : "");
  const choices = word("allowed.choice", { choices: listed });
  return word("notice.bad", { name: "scenario", given, allowed: choices, used: word("used.default") });
}

/** `name` is that of a control, in all figures that have it, or `figure.control`. */
function applyValue(given, figures, fullName) {
  const [, own, name] = /^(?:([^.]*)\.)?(.*)$/s.exec(fullName);
  const isMeant = (figure) => own === undefined || figure.getAttribute("figure") === own;
  const concerned = figures.filter((figure) => isMeant(figure) && controlsOf(figure.form).has(name));
  if (concerned.length === 0) return word("notice.unknown", { name: fullName, given });
  let refusing = null;
  const used = new Set(); // figures with the same control may start with different values
  for (const figure of concerned) {
    const group = controlsOf(figure.form).get(name);
    const value = parseValue(group, given);
    if (value !== undefined) {
      change(figure, { [name]: value });
    } else {
      refusing = group;
      used.add(readValues(figure.form)[name]);
    }
  }
  return refusing && word("notice.bad", { name, given, allowed: allowed(refusing), used: [...used].join(", ") });
}

function change(figure, values) {
  writeValues(figure.form, values);
  figure.form.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Hides controls by name, and parts of figures by their `data-part`, also those of pictures that are still to come. */
function hideParts(given, figures) {
  return each("hide", given, (name) => figures.flatMap((figure) => {
    const hide = () => [
      ...(controlsOf(figure.form).get(name) ?? []).map((control) => control.closest("[data-control], label") ?? control),
      ...figure.shadowRoot.querySelectorAll(`[data-part="${CSS.escape(name)}"]`),
    ].map((element) => { element.hidden = true; });
    figure.addEventListener("drawn", hide);
    return hide();
  }));
}

/** Locked controls stay visible and cannot be changed, nor by the buttons that move them. */
function lockControls(given, figures) {
  return each("lock", given, (name) =>
    figures.flatMap(({ form }) => {
      const moved = `[data-for="${CSS.escape(name)}"], [data-play="${CSS.escape(name)}"]`;
      const locked = controlsOf(form).get(name) ?? [];
      return locked.length > 0 ? [...locked, ...form.querySelectorAll(`button:is(${moved})`)] : [];
    }).map((control) => { control.disabled = true; }),
  );
}

/** Calls `act` for each name of a list with commas; notices those for which it found nothing. */
function each(parameter, given, act) {
  const names = given.split(",").map((name) => name.trim()).filter(Boolean);
  const unknown = names.filter((name) => act(name).length === 0);
  return unknown.map((name) => word("notice.part", { name: parameter, given: name }));
}
