// What stands around the sandbox on its page: each panel is given the scenario as it stands, and gives one back.

import { readValues } from "./controls.mjs";
import { setControls } from "./buttons.mjs";
import { startEngine } from "./engine.mjs";
import { MARK, pack } from "./sandbox-pack.mjs";
import { scenarioOf, takeScenario } from "./sandbox-scenario.mjs";

const PAUSE = 300;

export function connectPanels(figure) {
  const told = document.querySelector("[data-panel-told]");
  const files = document.querySelector("import-panel");
  files?.addEventListener("scenario", async ({ detail }) => {
    told.textContent = "";
    await takeScenario(figure, detail.scenario).catch((error) => { told.textContent = error.message; });
  });
  if (files) takeDrops(files.form.elements.file);
  sweep(figure, document.querySelector("sweep-panel"));
  for (const link of document.querySelectorAll("a[data-with-scenario]")) {
    link.addEventListener("click", async (event) => {
      const scenario = scenarioOf(figure);
      if (!scenario) return;
      event.preventDefault();
      link.hash = MARK + (await pack(JSON.stringify(scenario)));
      location.assign(link.href);
    });
  }
  document.querySelector("a[data-to-gallery]")?.addEventListener("click", (event) => {
    event.preventDefault();
    const gallery = figure.shadowRoot.querySelector(".gallery");
    gallery.open = true;
    gallery.scrollIntoView();
    gallery.querySelector("summary").focus({ preventScroll: true });
  });
}

/** A file that is dropped anywhere on the page is one for `field`; by itself a browser would leave the page for it. */
function takeDrops(field) {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    if (event.defaultPrevented) return; // the panel has it
    event.preventDefault();
    if (event.dataTransfer.files.length === 0) return;
    field.files = event.dataTransfer.files;
    field.dispatchEvent(new Event("change"));
  });
}

/** The panel sweeps what the form describes; a point that is chosen sets the form. */
function sweep(figure, panel) {
  if (!panel) return;
  panel.call = async (message) => {
    const { call } = await startEngine();
    const { language } = document.documentElement.dataset;
    return call({ language, ...message });
  };
  let timer = 0;
  const give = () => {
    clearTimeout(timer);
    const scenario = scenarioOf(figure);
    if (scenario && JSON.stringify(scenario) !== JSON.stringify(panel.scenario)) panel.scenario = scenario;
  };
  figure.form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(give, PAUSE);
  });
  panel.addEventListener("focusin", give);
  give();
  panel.addEventListener("pick", ({ detail }) => {
    const known = Object.keys(readValues(figure.form));
    setControls(figure.form, Object.fromEntries(Object.entries(detail.config).filter(([name]) => known.includes(name))));
    figure.scrollIntoView();
  });
}
