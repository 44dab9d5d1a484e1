// A gallery of cards that are found by words and by topic. Nothing here knows what the cards show.

/** Makes the gallery in `root`, if there is one, searchable; a card that is opened stands above the figure. */
export function searchGallery(root) {
  const gallery = root.querySelector(".gallery");
  if (!gallery) return;
  const field = gallery.querySelector('input[type="search"]');
  const hits = gallery.querySelector("[data-hits]");
  const topics = [...gallery.querySelectorAll("button[data-topic]")];
  const cards = [...gallery.querySelectorAll("article")].map((card) => ({ card, text: textOf(card) }));

  const opened = root.querySelector("[data-opened]");
  const form = root.querySelector("form");
  let told = ""; // the requests that the card above the figure is about
  /** Puts what a card says above the figure, where it can be read beside the run. */
  const tell = (button) => {
    const { children } = button.closest("article").cloneNode(true);
    opened.replaceChildren(...[...children].filter((part) => !part.matches(".preset-topic, .preset-buttons")));
    opened.querySelector("[id]")?.removeAttribute("id");
    opened.hidden = false;
    told = form.elements.requests.value;
  };
  form.addEventListener("input", () => { opened.hidden ||= form.elements.requests.value !== told; });
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    const { topic } = topics.find((button) => button.ariaPressed === "true").dataset;
    for (const { card, text } of cards) {
      card.hidden = (topic !== "" && card.dataset.topic !== topic) || !words.every((word) => text.includes(word));
    }
    hits.textContent = hits.dataset.hits.replace("{n}", cards.filter(({ card }) => !card.hidden).length);
  };
  field.addEventListener("input", filter);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || field.value === "") return;
    event.preventDefault();
    event.stopPropagation(); // Escape means other things elsewhere
    field.value = "";
    filter();
  });
  gallery.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.preset) {
      tell(button);
      opened.scrollIntoView();
    }
    if (!topics.includes(button)) return;
    for (const one of topics) one.ariaPressed = String(one === button);
    filter();
  });
  filter();
  field.closest("[hidden]").hidden = false;
  const asked = new URLSearchParams(location.search).get("scenario");
  const preset = asked && gallery.querySelector(`[data-preset="${CSS.escape(asked)}"]`);
  if (preset) tell(preset);
}

/** All that a card says, but for the words of its buttons, and what it is also found by. */
function textOf(card) {
  const said = [...card.querySelectorAll("h3, p")].map((element) => element.textContent);
  return [...said, card.dataset.search].join(" ").toLowerCase();
}
