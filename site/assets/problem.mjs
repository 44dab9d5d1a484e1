// What is wrong with the values of a figure: told in one line of it, and beside the control where there is room for it.

import { controlsOf } from "./controls.mjs";

export class Problem {
  #figure;
  #line;
  #told = null;
  #beside = Object.assign(document.createElement("p"), { className: "beside" });

  /** `line` is the element of `figure` that tells; places for it beside controls have `data-tells`. */
  constructor(figure, line) {
    this.#figure = figure;
    this.#line = line;
  }

  /**
   * `problem` is `{field, text, html}`: the path of what is wrong, beginning with the name of a control; what; and, where
   * Python knows it, a way out, for the line. `null` for none.
   */
  tell(problem) {
    if (!problem && !this.#told) return;
    const { form } = this.#figure;
    const { text = "", html = "" } = problem ?? {};
    if (text !== this.#told?.text || html !== this.#told?.html) {
      this.#line.textContent = text;
      this.#line.insertAdjacentHTML("beforeend", html);
    }
    this.#told = problem && { text, html };
    this.#line.hidden = text === "";
    this.#figure.toggleAttribute("data-refused", text !== "");
    for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
    const name = /^(?:config\.)?(\w+)/.exec(problem?.field ?? "")?.[1];
    const [control] = controlsOf(form).get(name) ?? [];
    control?.setAttribute("aria-invalid", "true");
    const place = control?.closest("[data-tells]");
    this.#beside.textContent = text;
    if (place) place.append(this.#beside);
    else this.#beside.remove();
    this.#figure.dispatchEvent(new CustomEvent("problem", { detail: problem }));
  }
}
