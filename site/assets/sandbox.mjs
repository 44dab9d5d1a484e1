// The sandbox: what its form can do beside setting values, and the panels of its page.

import "./page.mjs";
import { exportRuns } from "./sandbox-export.mjs";
import { keepHistory } from "./sandbox-history.mjs";
import { searchGallery } from "./sandbox-gallery.mjs";
import { editRequests } from "./sandbox-requests.mjs";
import { editText, takeScenario } from "./sandbox-scenario.mjs";
import { scrub } from "./sandbox-scrub.mjs";
import { shareState } from "./sandbox-share.mjs";

const figure = document.querySelector('batch-loom[figure="sandbox"]');

for (const begin of [editRequests, editText, keepHistory, scrub, shareState, exportRuns]) begin(figure);
searchGallery(figure.shadowRoot);
document.querySelector("import-panel")?.addEventListener("scenario", ({ detail }) => takeScenario(figure, detail.scenario));
