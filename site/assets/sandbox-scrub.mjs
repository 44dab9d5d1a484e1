// The timeline under the hand: a press or a drag goes to the step below the pointer; keys of a debugger.

export function scrub(figure) {
  const { form, shadowRoot } = figure;
  const result = shadowRoot.querySelector('[data-part="result"]'); // stays, while its pictures come and go
  const { step } = form.elements;
  let pointer = null;
  let drawing = null; // which of two timelines

  const set = (value) => {
    const most = Number(step.max);
    const next = Math.max(0, Math.min(most, value));
    if (next === Number(step.value)) return;
    step.value = next;
    form.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const follow = ({ clientX }) => {
    const svg = result.querySelectorAll("[data-scrub]")[drawing];
    if (!svg) return;
    const { left, width } = svg.getBoundingClientRect();
    const { first, count } = svg.dataset;
    const column = Math.floor(((clientX - left) / width) * Number(count));
    set(Number(first) + Math.max(0, Math.min(Number(count) - 1, column)));
  };
  result.addEventListener("pointerdown", (event) => {
    const svg = event.target.closest("[data-scrub]");
    if (!svg || event.button !== 0) return;
    drawing = [...result.querySelectorAll("[data-scrub]")].indexOf(svg);
    if (event.pointerType !== "touch") {
      pointer = event.pointerId;
      result.setPointerCapture(pointer);
    }
    follow(event);
  });
  result.addEventListener("pointermove", (event) => event.pointerId === pointer && follow(event));
  for (const end of ["pointerup", "pointercancel"]) result.addEventListener(end, () => { pointer = null; });

  shadowRoot.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !event.target.matches("textarea, input:not([type=range], [type=checkbox])")) {
      event.preventDefault();
      form.querySelector("[data-find]").focus();
      return;
    }
    if (!event.target.closest("#sandbox-timeline")) return;
    const page = Number(result.querySelector("[data-scrub]")?.dataset.count ?? 1);
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    set(Number(step.value) + by);
  });
}
