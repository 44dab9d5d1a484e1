// The page around the figures: starts the engine once the page is painted, and tells how it is.

import { keepAddress } from "./address.mjs";
import { BatchLoom } from "./batch-loom.mjs";
import { painted } from "./early.mjs";
import { offerEmbeds } from "./embed.mjs";
import { Refused, startEngine } from "./engine.mjs";
import { explainTerms } from "./glossary.mjs";
import { applyQuery } from "./query.mjs";
import { askQuestions } from "./question.mjs";
import { loadMorphdom } from "./swap.mjs";

const html = document.documentElement;
const figures = [...document.querySelectorAll("batch-loom")].filter((element) => element instanceof BatchLoom);

// ---------------------------------------------------------------- what a host may ask

let goLive, giveUp;
const live = new Promise((resolve, reject) => [goLive, giveUp] = [resolve, reject]); // resolves with the engine's call()
const ready = live.then(() => undefined);
ready.catch(() => {}); // a host that does not ask is not told by an error in the console

async function ask(message) {
  start();
  const call = await live;
  try {
    return await call(message);
  } catch (error) {
    throw error instanceof Refused ? error : new Error(oneLine(error));
  }
}

window.batchloom = Object.freeze({
  version: html.dataset.version,
  ready,
  trace: (scenario) => ask({ do: "trace", scenario }),
  explain: (scenario) => ask({ do: "explain", scenario }),
  onestep: (params) => ask({ do: "onestep", params }),
});

const oneLine = (error) => String(error?.message ?? error).split("\n")[0];

// ---------------------------------------------------------------- the state of the engine

function setState(state) {
  html.dataset.engine = state;
  for (const element of document.querySelectorAll("[data-when]")) element.hidden = element.dataset.when !== state;
}

function showProgress({ stage, got, total }) {
  document.querySelector("progress[data-engine-progress]").value = got / total;
  for (const words of document.querySelectorAll("[data-stage]")) words.hidden = words.dataset.stage !== stage;
}

/** Starts the engine, once. */
async function start() {
  if (html.dataset.engine !== "static") return;
  setState("loading");
  try {
    const [{ call, died }] = await Promise.all([startEngine(showProgress), loadMorphdom()]);
    died.then(fail);
    setState("ready");
    for (const figure of figures) figure.connect(call);
    goLive(call);
  } catch (error) {
    fail(error);
  }
}

function fail(error) {
  const reason = oneLine(error);
  for (const element of document.querySelectorAll("[data-engine-reason]")) element.textContent = reason;
  setState("failed");
  for (const figure of figures) figure.disconnect();
  giveUp(new Error(reason));
}

/** When a figure is touched or gets the focus, or when it is changed, also by the query string, and can be seen. */
function onFirstUse(act) {
  for (const figure of figures) {
    for (const kind of ["pointerdown", "focusin"]) figure.addEventListener(kind, act);
    const seen = new IntersectionObserver((entries) => entries.at(-1).isIntersecting && act());
    figure.form.addEventListener("input", () => seen.observe(figure), { once: true });
  }
}

// ---------------------------------------------------------------- the page's own controls

function showNotices(notices) {
  const list = document.querySelector("[data-notices]");
  list.replaceChildren(...notices.map((notice) => Object.assign(document.createElement("li"), { textContent: notice })));
  list.hidden = notices.length === 0;
}

function followTheme(select) {
  select.value = html.dataset.theme;
  select.closest("[hidden]")?.removeAttribute("hidden");
  select.addEventListener("change", () => {
    html.dataset.theme = select.value;
    try {
      localStorage.setItem("batchloom-theme", select.value);
    } catch {
      // no storage in this frame: the choice holds for this page
    }
  });
}

function begin() {
  if (html.dataset.engine === "failed") return giveUp(new Error("this frame is sandboxed")); // embed.js has told it
  if (html.dataset.start === "use") onFirstUse(start);
  showNotices(applyQuery(location.search, figures));
  if (html.dataset.start !== "use") painted.then(start);
}

begin();
document.querySelectorAll("select[data-theme-choice]").forEach(followTheme);
keepAddress(figures);
offerEmbeds(figures);
askQuestions(figures);
explainTerms();
