// What stands around the sandbox on its page: each panel is given the scenario as it stands, and gives one back.

import { startEngine } from "./engine.mjs";
import { MARK, pack } from "./sandbox-pack.mjs";
import { scenarioOf, takeScenario } from "./sandbox-scenario.mjs";

const PAUSE = 300;

export function connectPanels(figure) {
  const told = document.querySelector("[data-panel-told]");
  const take = async (scenario) => {
    try {
      await takeScenario(figure, await scenario);
      told.textContent = "";
    } catch (error) {
      told.textContent = error.message;
    }
  };
  const files = document.querySelector("import-panel");
  files?.addEventListener("scenario", ({ detail }) => take(joined(detail, figure)));
  if (files) takeDrops(files.form.elements.file);
  sweep(figure, document.querySelector("sweep-panel"), take);
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

/** What was imported, together with what is in the form. */
async function joined({ scenario, tells }, figure) {
  const present = scenarioOf(figure);
  if (!present) return scenario;
  const { call } = await startEngine();
  return call({ do: "import-join", present, scenario, tells });
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

/** The panel sweeps what the form describes; a point that is chosen opens its run. */
function sweep(figure, panel, take) {
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
  panel.addEventListener("pick", async ({ detail: { scenario, point } }) => {
    figure.scrollIntoView();
    await take(panel.call({ do: "sweep-scenario", scenario, point }));
    panel.opened = scenarioOf(figure);
  });
}
