// Buttons that work a form by attributes: data-set, data-reset, data-step-by, data-step-to, data-event-by, data-play.
// They act as the reader's hand would: they set native controls and fire the same event.

import { controlsOf, readValues, writeValues } from "./controls.mjs";

const PLAY_EVERY = 900; // milliseconds between steps

/** Does what `button` says, if it says anything. */
export function press(button, form, player) {
  if (!button || button.disabled) return;
  const { set, reset, stepBy, stepTo, eventBy, play } = button.dataset;
  if (play) return player.toggle(button);
  if ((set ?? reset ?? stepBy ?? stepTo ?? eventBy) === undefined) return;
  player.stop();
  const control = form.elements[button.dataset.for ?? "step"];
  if (set) return setControls(form, JSON.parse(set));
  if (reset !== undefined) return setControls(form, readValues(form, { drawn: true }));
  if (eventBy && control && !control.disabled) control.value = eventFrom(control, Number(eventBy));
  else if (stepBy && control && !control.disabled) control.value = Number(control.value) + Number(stepBy);
  else if (stepTo && control && !control.disabled) control.value = stepTo === "last" ? control.max : control.min;
  else return;
  form.dispatchEvent(new Event("input", { bubbles: true }));
}

/** The nearest step before or after that of `control` in which something happens, as the picture lists them. */
function eventFrom(control, direction) {
  const listed = control.getRootNode().querySelector("[data-events]")?.dataset.events ?? "[]";
  const now = Number(control.value);
  const ahead = JSON.parse(listed).map(([step]) => step).filter((step) => (step - now) * direction > 0);
  return ahead.at(direction > 0 ? 0 : -1) ?? now;
}

/** N goes to the next event of the figure that has the focus, Shift+N to the one before. */
export function pressKey(event, root) {
  if (event.key.toLowerCase() !== "n" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("textarea, select, input:not([type=range], [type=radio], [type=checkbox])")) return;
  root.querySelector(`[data-event-by="${event.shiftKey ? -1 : 1}"]`)?.click();
}

/** Sets those of `values` whose controls are not locked; where none is free, nothing happens. */
export function setControls(form, values) {
  const groups = controlsOf(form);
  const isFree = ([name]) => groups.get(name)?.some((control) => !control.disabled);
  const free = Object.entries(values).filter(isFree);
  if (free.length === 0) return;
  writeValues(form, Object.fromEntries(free));
  form.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Moves a control on by itself while its button is pressed; waits for each picture, and stops at the end. */
export class Player {
  #figure;
  #button = null;
  #timer = 0;

  constructor(figure) {
    this.#figure = figure;
  }

  toggle(button) {
    const wasPlaying = this.isPlaying;
    this.stop();
    if (wasPlaying) return;
    this.#button = button;
    button.setAttribute("aria-pressed", "true");
    const control = this.#control;
    if (control.value === control.max) this.#go(control.min);
    this.#timer = setInterval(() => this.#tick(), PLAY_EVERY);
  }

  stop() {
    clearInterval(this.#timer);
    this.#button?.setAttribute("aria-pressed", "false");
    this.#button = null;
  }

  get isPlaying() {
    return this.#button !== null;
  }

  get #control() {
    return this.#figure.form.elements[this.#button.dataset.play];
  }

  #tick() {
    if (!this.#figure.isCurrent) return;
    const control = this.#control;
    if (control.value === control.max) this.stop();
    else this.#go(Number(control.value) + 1);
  }

  #go(value) {
    this.#control.value = value;
    this.#figure.form.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
