// The timeline under the hand: a press or a drag goes to the step below the pointer; keys of a debugger. Where its box is
// narrower than it, the box follows the step.

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
  for (const end of ["pointerup", "pointercancel"]) {
    result.addEventListener(end, () => {
      pointer = null;
      followSoon();
    });
  }

  let place = bandPlace(result);
  /** In the next frame, which has to lay the picture out anyway. Not under the hand: the step below it would change. */
  const followSoon = () => {
    const next = bandPlace(result);
    if (pointer !== null || next === place) return;
    place = next;
    requestAnimationFrame(() => scrollToBand(result));
  };
  figure.addEventListener("drawn", followSoon);

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

/** Where the band over the step stands: it changes with the step, and with how many are shown. */
function bandPlace(result) {
  const svg = result.querySelector("[data-scrub]");
  return svg && `${svg.dataset.first} ${svg.dataset.count} ${result.querySelector(".selected").getAttribute("x")}`;
}

/** Scrolls the timelines sideways, no further than the band needs to be seen beside the names. */
function scrollToBand(result) {
  const box = result.querySelector("#sandbox-timeline");
  if (!box) return;
  const band = box.querySelector(".selected").getBoundingClientRect();
  const hiddenBefore = box.querySelector(".names").getBoundingClientRect().right - band.left;
  const hiddenAfter = band.right - box.getBoundingClientRect().right;
  if (hiddenBefore > 0) box.scrollLeft -= Math.ceil(hiddenBefore);
  else if (hiddenAfter > 0) box.scrollLeft += Math.ceil(hiddenAfter);
}
