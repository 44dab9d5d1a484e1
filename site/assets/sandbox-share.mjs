// The whole state in the address: as query while it is short, compressed behind the # when it is long.

import { changedValues } from "./address.mjs";
import { writeValues } from "./controls.mjs";
import { MARK, pack, unpack } from "./sandbox-pack.mjs";
import { takeScenario } from "./sandbox-scenario.mjs";
import { word } from "./words.mjs";

const LONG = 1500; // characters of a query that servers and messengers still take
const MOST = 100_000; // characters behind the #; what is longer is a file, not a link
const PAUSE = 300;

/** Takes the state from the address, keeps the address at it, and lets the button copy it. */
export function shareState(figure) {
  let timer = 0;
  const keep = async () => {
    clearTimeout(timer);
    const { address, isWhole } = await addressOf(figure);
    history.replaceState(history.state, "", address);
    return { address, isWhole };
  };
  takeState(figure).finally(() => {
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(keep, PAUSE);
    };
    figure.form.addEventListener("input", later);
  });
  figure.shadowRoot.querySelector("[data-copy-link]")?.addEventListener("click", async () => {
    const { address, isWhole } = await keep();
    for (const told of figure.shadowRoot.querySelectorAll("[data-link]")) {
      told.hidden = (told.dataset.link === "whole") !== isWhole;
      if (!told.hidden) figure.say(told.textContent);
    }
    if (isWhole) await navigator.clipboard?.writeText(address.href).catch(() => {}); // the address bar has it too
  });
}

/** The address of this page in its present state, and whether the state is all in it. */
export async function addressOf(figure) {
  const address = new URL(location.href);
  const query = new URLSearchParams(changedValues(figure));
  const kept = [...new URLSearchParams(location.search)].filter(([name]) => ["theme", "hide", "lock"].includes(name));
  const isLong = query.toString().length > LONG;
  const packed = isLong ? await pack(query.toString()) : "";
  address.search = new URLSearchParams(isLong ? kept : [...kept, ...query]);
  const isWhole = packed.length <= MOST;
  address.hash = isLong && isWhole ? MARK + packed : "";
  return { address, isWhole };
}

async function takeState(figure) {
  if (!location.hash.startsWith(MARK)) return;
  let text;
  try {
    text = await unpack(location.hash.slice(MARK.length));
    if (text.startsWith("{")) return await takeScenario(figure, JSON.parse(text)); // from a page that knows scenarios only
  } catch {
    const list = document.querySelector("[data-notices]");
    list.append(Object.assign(document.createElement("li"), { textContent: word("notice.broken") }));
    list.hidden = false;
    return;
  }
  const values = new URLSearchParams(text);
  const { form } = figure;
  const typed = [...values].map(([name, text]) => [name, form.elements[name]?.type === "checkbox" ? text === "true" : text]);
  writeValues(form, Object.fromEntries(typed));
  form.dispatchEvent(new Event("input", { bubbles: true }));
}
