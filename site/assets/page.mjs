// The page around the figures: starts the engine once the page is painted, and tells how it is.

import { BatchLoom } from "./batch-loom.mjs";
import { Refused, startEngine } from "./engine.mjs";
import { applyQuery } from "./query.mjs";

const html = document.documentElement;
const figures = [...document.querySelectorAll("batch-loom")].filter((element) => element instanceof BatchLoom);

// ---------------------------------------------------------------- what a host may ask

let goLive, giveUp;
const live = new Promise((resolve, reject) => [goLive, giveUp] = [resolve, reject]); // resolves with the engine's call()
const ready = live.then(() => undefined);
ready.catch(() => {}); // a host that does not ask is not told by an error in the console

async function ask(message) {
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

async function start() {
  setState("loading");
  try {
    const { call, died } = await startEngine(showProgress);
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

/** After the first paint, when the browser has nothing better to do. */
function whenIdle(act) {
  const idle = globalThis.requestIdleCallback ?? ((callback) => setTimeout(callback, 200));
  requestAnimationFrame(() => idle(act, { timeout: 2000 }));
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

/** The same page in the other language keeps the query string and the place. */
function keepAddress() {
  for (const link of document.querySelectorAll("a[data-keep-address]")) {
    link.search = location.search;
    link.hash = location.hash;
  }
}

showNotices(applyQuery(location.search, figures));
document.querySelectorAll("select[data-theme-choice]").forEach(followTheme);
keepAddress();
addEventListener("hashchange", keepAddress);
whenIdle(start);
