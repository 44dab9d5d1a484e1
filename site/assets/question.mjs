// Questions that come before an answer. What is right, and what each guess is told, the build has put into the page:
// here the part that belongs to a guess is shown, and the figure is set to what was asked for.

import { setControls } from "./buttons.mjs";

/** Lets the questions of `figures` be answered. */
export function askQuestions(figures) {
  for (const figure of figures) {
    for (const question of figure.shadowRoot.querySelectorAll("[data-question]")) listen(figure, question);
  }
}

function listen(figure, question) {
  const field = question.querySelector("[data-guess]");
  question.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button?.matches("[data-answer]")) judge(figure, question, button.dataset.answer);
    else if (button) judgeNumber(figure, question, field);
  });
  field?.addEventListener("keydown", (event) => {
    if (event.key === "Enter") judgeNumber(figure, question, field);
  });
  figure.shadowRoot.querySelector("[data-reset]")?.addEventListener("click", () => ask(question, field));
}

/** As if nothing had been answered. */
function ask(question, field) {
  delete question.dataset.guessed;
  for (const button of question.querySelectorAll("[data-answer]")) button.setAttribute("aria-pressed", "false");
  for (const verdict of question.querySelectorAll("[data-verdict]")) verdict.hidden = true;
  question.querySelector("details").open = false;
  if (field) field.value = "";
  question.querySelector(".cut")?.setAttribute("width", 0);
}

/** A number is told more than right and wrong: too high, too low, or none that can be. */
function judgeNumber(figure, question, field) {
  if (field.value === "" || !field.validity.valid) return tell(figure, question, "outside");
  const guess = Number(field.value);
  const cut = question.querySelector(".cut");
  cut.setAttribute("width", guess * Number(cut.dataset.pitch));
  question.querySelector("[data-told]").textContent = guess;
  judge(figure, question, String(guess), guess > Number(question.dataset.right) ? "more" : "less");
}

/** Shows what `guess` is told, or the verdict `otherwise` where it has none of its own, and the answer. */
function judge(figure, question, guess, otherwise) {
  const { right, shows } = question.dataset;
  question.dataset.guessed = guess === right ? "right" : "wrong";
  for (const button of question.querySelectorAll("[data-answer]")) {
    button.setAttribute("aria-pressed", button.dataset.answer === guess);
  }
  question.querySelector("details").open = true;
  setControls(figure.form, JSON.parse(shows));
  tell(figure, question, verdictOf(question, guess) ? guess : otherwise, question.querySelector(".because"));
}

const verdictOf = (question, name) => question.querySelector(`[data-verdict="${CSS.escape(name)}"]`);

/** Shows one verdict, and says it with what follows. */
function tell(figure, question, name, because = null) {
  for (const verdict of question.querySelectorAll("[data-verdict]")) verdict.hidden = verdict.dataset.verdict !== name;
  const verdict = verdictOf(question, name).textContent;
  if (because) figure.sayInstead(`${verdict} ${because.textContent}`);
  else figure.say(verdict);
}
