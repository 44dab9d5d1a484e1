// Requests by rule and by chance: Python makes them from the values of a form, the sandbox takes them.

import { readValues } from "./controls.mjs";
import { setControls } from "./buttons.mjs";
import { startEngine } from "./engine.mjs";
import { listOf } from "./sandbox-scenario.mjs";

export function generateRequests(figure) {
  const form = document.querySelector("[data-generate]");
  if (!form) return;
  const told = form.querySelector("[data-told]");
  form.addEventListener("input", () => { told.hidden = true; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const { call } = await startEngine();
      const requests = await call({ do: "generate", values: readValues(form) });
      setControls(figure.form, { requests: listOf(requests), step: 0, row: 0 });
      told.hidden = true;
      figure.scrollIntoView();
    } catch (error) {
      told.textContent = error.message;
      told.hidden = false;
    }
  });
}
