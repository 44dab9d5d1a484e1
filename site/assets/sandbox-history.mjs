// Undo and redo of what the form sets and of a text that is no scenario; what is only looked at is no part of it.

import { readValues, same } from "./controls.mjs";
import { setControls } from "./buttons.mjs";

const LOOKED_AT = new Set(["step", "columns", "row", "request", "event"]);
const PAUSE = 400; // milliseconds: changes that follow each other faster are one
const MOST = 200;

export function keepHistory(figure) {
  const { form } = figure;
  const text = form.querySelector("[data-scenario-text]");
  const now = () => {
    const values = Object.fromEntries(Object.entries(readValues(form)).filter(([name]) => !LOOKED_AT.has(name)));
    return { ...values, typed: text.hasAttribute("aria-invalid") ? text.value : "" };
  };
  const states = [now()];
  let place = 0;
  let timer = 0;
  const buttons = [...figure.shadowRoot.querySelectorAll("[data-history]")];
  const show = () => {
    for (const button of buttons) {
      const to = place + Number(button.dataset.history);
      button.disabled = to < 0 || to >= states.length;
    }
  };
  const note = () => {
    clearTimeout(timer);
    const state = now();
    if (same(state, states[place])) return;
    states.splice(place + 1, Infinity, state);
    if (states.length > MOST) states.shift();
    place = states.length - 1;
    show();
  };
  const go = (by) => {
    note();
    if (!states[place + by]) return;
    place += by;
    const { typed, ...values } = states[place];
    setControls(form, values);
    if (typed) {
      text.value = typed;
      text.dispatchEvent(new Event("input", { bubbles: true }));
    }
    clearTimeout(timer);
    show();
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(note, PAUSE);
  });
  for (const button of buttons) button.addEventListener("click", () => go(Number(button.dataset.history)));
  figure.shadowRoot.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
    if (event.target.matches("textarea, input:not([type=checkbox], [type=range])")) return; // the browser's own
    event.preventDefault();
    go(event.shiftKey ? 1 : -1);
  });
}
