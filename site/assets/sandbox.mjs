// The sandbox: what its form can do beside setting values, and the panels of its page.

import "./page.mjs";
import { exportRuns } from "./sandbox-export.mjs";
import { searchGallery } from "./sandbox-gallery.mjs";
import { generateRequests } from "./sandbox-generate.mjs";
import { keepHistory } from "./sandbox-history.mjs";
import { connectPanels } from "./sandbox-panels.mjs";
import { editRequests } from "./sandbox-requests.mjs";
import { editText } from "./sandbox-scenario.mjs";
import { scrub } from "./sandbox-scrub.mjs";
import { shareState } from "./sandbox-share.mjs";

const figure = document.querySelector('batch-loom[figure="sandbox"]');

searchGallery(figure.shadowRoot);
for (const begin of [editRequests, editText, keepHistory, scrub, shareState, exportRuns, generateRequests, connectPanels]) {
  begin(figure);
}
