// The scenario of the form as one JSON text, and back. Python checks what is typed or brought.

import { readValues } from "./controls.mjs";
import { setControls } from "./buttons.mjs";
import { Refused, startEngine } from "./engine.mjs";

/** The scenario that the form describes; keys that are as vLLM has them are left out. Without valid requests, none. */
export function scenarioOf(figure) {
  const { form } = figure;
  const values = readValues(form);
  const config = {};
  for (const { name, dataset } of form.querySelectorAll("[data-default]")) {
    if (values[name] !== JSON.parse(dataset.default)) config[name] = values[name];
  }
  try {
    return { name: values.name, config, requests: JSON.parse(values.requests) };
  } catch {
    return null;
  }
}

/** Requests as text, one on a line. */
export const listOf = (requests) => `[${requests.map((request) => JSON.stringify(request)).join(",\n ")}]`;

/** A scenario as text, one request on a line. */
function textOf({ requests, ...rest }) {
  const head = JSON.stringify(rest, null, 1).slice(0, -2);
  return `${head},\n "requests": ${listOf(requests)}\n}`;
}

/** Puts a scenario into the form. Rejects with Python's message when it is none. */
export async function takeScenario(figure, scenario) {
  const { call } = await startEngine();
  setControls(figure.form, await call({ do: "sandbox-values", scenario }));
}

/** Keeps the text beside the form in step with it. */
export function editText(figure) {
  const text = figure.form.querySelector("[data-scenario-text]");
  const problem = figure.form.querySelector("[data-json-problem]");
  const details = text.closest("details");
  const tell = (message) => {
    problem.textContent = message;
    problem.hidden = message === "";
    text.toggleAttribute("aria-invalid", message !== "");
  };
  let typed = 0;
  const show = (event) => {
    const isTyped = event?.target === text || text.getRootNode().activeElement === text;
    const scenario = isTyped || !details.open ? null : scenarioOf(figure);
    if (!scenario) return;
    text.value = textOf(scenario);
    tell("");
  };
  text.addEventListener("input", async () => {
    const own = ++typed;
    try {
      await takeScenario(figure, JSON.parse(text.value));
      if (own === typed) tell("");
    } catch (error) {
      if (own === typed) tell(error instanceof Refused || error instanceof SyntaxError ? error.message : String(error));
    }
  });
  text.addEventListener("blur", () => problem.hidden && show());
  details.addEventListener("toggle", show);
  figure.form.addEventListener("input", show);
}
