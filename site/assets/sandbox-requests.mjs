// The table of the requests. It shows the JSON of the control `requests` and writes it; Python says what is wrong in it.

import { listOf } from "./sandbox-scenario.mjs";

const TIMED = "arrival_us"; // stands in the column of arrival_step where the requests arrive in time

export function editRequests(figure) {
  new RequestTable(figure).show();
}

class RequestTable {
  #figure;
  #text;
  #body;
  #requests;
  #written;
  #page = 0;
  #perPage;
  #bad = "";

  constructor(figure) {
    this.#figure = figure;
    this.#text = figure.form.elements.requests;
    this.#written = this.#text.defaultValue; // what the build has filled the table from
    this.#requests = JSON.parse(this.#written);
    this.#body = figure.form.querySelector("[data-rows]");
    this.#perPage = Number(this.#body.dataset.perPage);
    this.#body.addEventListener("input", (event) => this.#edited(event));
    this.#body.addEventListener("click", ({ target }) => this.#press(target.closest("[data-act]")));
    figure.form.querySelector("[data-add]").addEventListener("click", () => this.#add());
    figure.form.addEventListener("input", () => this.show());
    figure.addEventListener("problem", ({ detail }) => this.#mark(detail?.field ?? ""));
  }

  /** Draws the rows if the text is another one than that which the table has written. */
  show() {
    if (this.#text.value === this.#written) return;
    this.#written = this.#text.value;
    try {
      this.#requests = JSON.parse(this.#written);
    } catch {
      this.#requests = []; // what is no JSON is told by Python
    }
    this.#draw();
  }

  #draw() {
    const pages = Math.max(1, Math.ceil(this.#requests.length / this.#perPage));
    this.#page = Math.min(this.#page, pages - 1);
    const first = this.#page * this.#perPage;
    const { form } = this.#figure;
    const key = this.#requests[0]?.[TIMED] === undefined ? "arrival_step" : TIMED;
    form.querySelector(".edit-table th:nth-child(2) code").textContent = key;
    this.#body.replaceChildren(
      ...this.#requests.slice(first, first + this.#perPage).map((request, index) => this.#row(request, first + index, key)),
    );
    form.querySelector("[data-count]").textContent = `(${this.#requests.length})`;
    this.#drawPages(pages);
    this.#mark(this.#bad);
  }

  #row(request, index, arrivalKey) {
    const row = this.#figure.form.querySelector("[data-row]").content.firstElementChild.cloneNode(true);
    row.dataset.index = index;
    for (const input of row.querySelectorAll("[data-key]")) {
      if (input.dataset.key === "arrival_step") input.dataset.key = arrivalKey;
      const { key } = input.dataset;
      const value = request[key];
      input.value = value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : value;
      input.setAttribute("aria-label", `${key} ${request.id ?? index}`);
    }
    return row;
  }

  #drawPages(pages) {
    const place = this.#figure.form.querySelector("[data-pages]");
    place.hidden = pages < 2;
    const go = (page, sign) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: sign });
      button.disabled = page < 0 || page >= pages;
      button.addEventListener("click", () => { this.#page = page; this.#draw(); });
      return button;
    };
    place.replaceChildren(go(this.#page - 1, "‹"), ` ${this.#page + 1} / ${pages} `, go(this.#page + 1, "›"));
  }

  #edited(event) {
    event.stopPropagation();
    const { target } = event;
    const request = this.#requests[target.closest("tr").dataset.index];
    const { key } = target.dataset;
    if (target.value === "" && !target.validity.badInput) delete request[key];
    else request[key] = parse(target);
    this.#write();
  }

  #press(button) {
    if (!button) return;
    const index = Number(button.closest("tr").dataset.index);
    const list = this.#requests;
    const { act } = button.dataset;
    const to = index + (act === "up" ? -1 : 1);
    if (act === "copy") list.splice(index + 1, 0, { ...structuredClone(list[index]), id: this.#newId(list[index].id) });
    else if (act === "remove") list.splice(index, 1);
    else if (to >= 0 && to < list.length) [list[index], list[to]] = [list[to], list[index]];
    this.#redraw(act === "remove" ? Math.min(index, list.length - 1) : act === "copy" ? index + 1 : to, act);
  }

  #add() {
    const last = this.#requests.at(-1) ?? { prompt_tokens: 16, output_tokens: 8 };
    const { id, prefix, accepts, images, ...rest } = last;
    this.#requests.push({ id: this.#newId(id ?? "A"), ...rest });
    this.#page = Math.floor((this.#requests.length - 1) / this.#perPage);
    this.#redraw(this.#requests.length - 1, "");
  }

  /** Draws anew, and puts the focus on what was pressed, or on the new row. */
  #redraw(index, act) {
    this.#write();
    this.#draw();
    const row = this.#body.querySelector(`tr[data-index="${Math.max(0, index)}"]`);
    (row?.querySelector(act ? `[data-act="${act}"]` : "input") ?? this.#figure.form.querySelector("[data-add]")).focus();
  }

  /** The next letter that is free, or the id with the next number. */
  #newId(id) {
    const taken = new Set(this.#requests.map((request) => request.id));
    const letter = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].find((each) => !taken.has(each));
    if (/^[A-Z]$/.test(id) && letter) return letter;
    const [, stem, number] = /^(.*?)(\d*)$/s.exec(String(id));
    let next = Number(number) + 1;
    while (taken.has(`${stem}${next}`)) next += 1;
    return `${stem}${next}`;
  }

  #write() {
    this.#written = listOf(this.#requests);
    this.#text.value = this.#written;
    this.#text.dispatchEvent(new Event("input", { bubbles: true }));
    this.#figure.form.querySelector("[data-count]").textContent = `(${this.#requests.length})`;
  }

  /** Marks the cell that a path such as `requests[2].prompt_tokens` names. */
  #mark(field) {
    this.#bad = field;
    for (const cell of this.#body.querySelectorAll("[aria-invalid]")) cell.removeAttribute("aria-invalid");
    const [, index, key] = /^requests\[(\d+)\](?:\.(\w+))?/.exec(field) ?? [];
    const row = index && this.#body.querySelector(`tr[data-index="${index}"]`);
    (row && row.querySelector(`[data-key="${key ?? "id"}"]`))?.setAttribute("aria-invalid", "true");
  }
}

/** A cell's text as a value; what is none stays text, and Python tells what is allowed. */
function parse({ type, value, dataset }) {
  if (type === "number") return value === "" ? "?" : Number(value);
  if (dataset.key === "id") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
