// Native form controls as named values. What a control accepts is what its own attributes say.

import { word } from "./words.mjs";

const isNumber = (control) => control.type === "range" || control.type === "number";
const isText = (control) => ["text", "search", "textarea"].includes(control.type);

const known = new WeakMap(); // a form never changes, and its controls are asked for with every picture

/** The controls of `form` by name; radio buttons of one name are one entry of several elements. */
export function controlsOf(form) {
  if (!known.has(form)) known.set(form, findControls(form));
  return known.get(form);
}

function findControls(form) {
  const groups = new Map();
  for (const control of form.elements) {
    if (!control.name || !control.matches("input, select, textarea")) continue;
    groups.set(control.name, [...(groups.get(control.name) ?? []), control]);
  }
  return groups;
}

/** The value of one group: now, or (`drawn`) as the page's HTML has it. */
function valueOf([control, ...others], drawn) {
  switch (control.type) {
    case "checkbox":
      return drawn ? control.defaultChecked : control.checked;
    case "radio":
      return [control, ...others].find((radio) => (drawn ? radio.defaultChecked : radio.checked))?.value ?? null;
    case "select-one": {
      const options = [...control.options];
      return drawn ? (options.find((option) => option.defaultSelected) ?? options[0]).value : control.value;
    }
    default: {
      const text = drawn ? control.defaultValue : control.value;
      if (!isNumber(control)) return text;
      return text === "" ? null : Number(text);
    }
  }
}

/** All values of a form by name. */
export function readValues(form, { drawn = false } = {}) {
  return Object.fromEntries([...controlsOf(form)].map(([name, group]) => [name, valueOf(group, drawn)]));
}

/** Whether two objects of values have the same names with the same values. */
export function same(a, b) {
  const names = Object.keys(a ?? {});
  return Boolean(a && b) && names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** Sets controls by name; names that the form does not have are left out. */
export function writeValues(form, values) {
  const groups = controlsOf(form);
  for (const [name, value] of Object.entries(values)) {
    for (const control of groups.get(name) ?? []) {
      if (control.type === "checkbox") control.checked = value === true;
      else if (control.type === "radio") control.checked = control.value === String(value);
      else {
        // The end of a slider may move with the run: the value before the picture, and the end with it.
        if (Number(value) > Number(control.max) && value <= Number(control.dataset.max)) control.max = value;
        control.value = value ?? "";
      }
    }
  }
}

/** What a group accepts, in words of the page's language. */
export function allowed([control, ...others]) {
  if (isNumber(control)) return word("allowed.range", { min: control.min, max: control.max });
  return word("allowed.choice", { choices: choicesOf([control, ...others]).join(", ") });
}

function choicesOf([control, ...others]) {
  if (control.type === "checkbox") return ["true", "false"];
  if (control.type === "radio") return [control, ...others].map((radio) => radio.value);
  return [...(control.options ?? [])].map((option) => option.value);
}

/** `text` as a value of this group, or `undefined` where the group does not accept it. */
export function parseValue(group, text) {
  const [control] = group;
  if (isNumber(control)) {
    if (text === "" && control.type === "number" && !control.required) return null;
    if (!(control.step === "any" ? /^\d?\.?\d{1,15}$/ : /^-?\d{1,15}$/).test(text)) return undefined;
    const max = control.dataset.max ?? control.max;
    const tooSmall = control.min !== "" && Number(text) < Number(control.min);
    const tooLarge = max !== "" && Number(text) > Number(max);
    return tooSmall || tooLarge ? undefined : Number(text);
  }
  if (isText(control)) return text;
  if (!choicesOf(group).includes(text)) return undefined;
  return control.type === "checkbox" ? text === "true" : text;
}

/** The first control whose value it does not accept itself (something typed), with the words to say so. */
export function findProblem(form) {
  for (const [name, group] of controlsOf(form)) {
    if (group[0].validity.valid) continue;
    const given = group[0].validity.badInput || group[0].value === "" ? "?" : group[0].value;
    return { field: name, text: word("notice.typed", { name, given, allowed: allowed(group) }) };
  }
  return null;
}
