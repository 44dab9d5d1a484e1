// Terms in the text: what one means is shown on hover, focus and tap. Without a script they lead to the glossary.

const WAIT = 150; // milliseconds on a word before it is explained
const LINGER = 300; // and after it, long enough to reach the explanation

/** Lets the terms of the page be explained in place, by its one `#term-note`. */
export function explainTerms() {
  const note = document.getElementById("term-note");
  if (!note?.showPopover) return;
  let shown = null;
  let timer = 0;

  const later = (act, time) => {
    clearTimeout(timer);
    timer = setTimeout(act, time);
  };
  const hide = () => {
    clearTimeout(timer);
    if (shown) note.hidePopover();
  };
  const show = (link) => {
    clearTimeout(timer);
    if (shown === link) return;
    hide();
    const meaning = document.getElementById(link.getAttribute("aria-describedby"));
    note.replaceChildren(...meaning.cloneNode(true).childNodes);
    note.showPopover({ source: link });
    shown = link;
  };
  const leave = ({ relatedTarget }) => {
    if (relatedTarget !== shown && !note.contains(relatedTarget)) hide();
  };

  for (const link of document.querySelectorAll("a.term")) {
    let wasShown = false;
    link.addEventListener("pointerenter", ({ pointerType }) => pointerType === "mouse" && later(() => show(link), WAIT));
    link.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && later(hide, LINGER));
    link.addEventListener("pointerdown", () => { wasShown = shown === link; });
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    link.addEventListener("blur", leave);
    link.addEventListener("click", (event) => {
      if (event.pointerType !== "touch" || wasShown) return; // the second tap follows the link
      event.preventDefault();
      show(link);
    });
  }
  note.addEventListener("pointerenter", () => clearTimeout(timer));
  note.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && later(hide, LINGER));
  note.addEventListener("focusout", leave);
  note.addEventListener("beforetoggle", ({ newState }) => { if (newState === "closed") shown = null; });
}
