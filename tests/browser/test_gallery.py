"""The gallery: cards found by words, option, reason and topic, in both languages; opening one shows the figure."""

from collections.abc import Callable
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader
from playwright.sync_api import Locator, Page, expect

from build import read_catalogs
from scripts.presets import read_presets
from sim.figures.words import Words

SHOW = """async (html) => {
  const host = document.querySelector("main").appendChild(document.createElement("div"));
  const assets = new URL("../../../assets/", location);
  const styles = ["figure", "gallery"].map((name) => `<link rel="stylesheet" href="${assets}${name}.css">`);
  host.attachShadow({ mode: "open" }).innerHTML = `${styles.join("")}<figure>here</figure>${html}`;
  const { searchGallery } = await import(`${assets}gallery.mjs`);
  searchGallery(host.shadowRoot);
}"""
"""Puts a gallery into a page that has none."""


@pytest.fixture
def show(page: Page, root: Path) -> Callable[[str], Locator]:
    """Shows the gallery in one language."""
    presets = read_presets(root / "site" / "presets")
    template = Environment(loader=FileSystemLoader(root / "templates"), autoescape=True).get_template("gallery.html")

    def show_(language: str) -> Locator:
        page.goto(f"{language}/sandbox/import/")
        words = Words(language, read_catalogs("page.")[language])
        page.evaluate(SHOW, template.render(presets=presets, language=language, words=words))
        return page.locator(".gallery")

    return show_


def shown(gallery: Locator) -> Locator:
    return gallery.locator("article:visible")


def test_cards_are_found_by_all_words(show: Callable[[str], Locator]) -> None:
    gallery = show("en")
    field, status = gallery.get_by_role("searchbox"), gallery.get_by_role("status")
    expect(status).to_have_text("47 of 47 shown")
    field.fill("  WATERMARK kept nowhere")
    expect(status).to_have_text("0 of 47 shown")
    expect(shown(gallery)).to_have_count(0)
    field.fill("Max_Loras  overtaken")
    expect(status).to_have_text("1 of 47 shown")
    expect(shown(gallery).get_by_role("heading")).to_have_text("Overtaken because of an adapter")
    field.press("Escape")
    expect(field).to_have_value("")
    expect(shown(gallery)).to_have_count(47)


@pytest.mark.parametrize(
    ("language", "typed", "title"),
    [
        ("en", "head_of_line kv_blocks", "Small ones behind a large one"),
        ("en", "vllm#35541", "Waiting for ever"),
        ("zh", "水位线 抢占", "门口的水位线"),
        ("zh", "chunked_mm_input_off\u3000文字", "先文字，后图像"),
    ],
)
def test_a_problem_is_found(show: Callable[[str], Locator], language: str, typed: str, title: str) -> None:
    gallery = show(language)
    gallery.get_by_role("searchbox").fill(typed)
    expect(shown(gallery).get_by_role("heading")).to_have_text([title])


def test_topics_narrow_the_search(show: Callable[[str], Locator]) -> None:
    gallery = show("en")
    blocks, everything = (gallery.get_by_role("button", name=name, exact=True) for name in ("KV blocks", "All"))
    blocks.click()
    expect(blocks).to_have_attribute("aria-pressed", "true")
    expect(everything).to_have_attribute("aria-pressed", "false")
    expect(shown(gallery).locator(".preset-topic")).to_have_text(["KV blocks"] * 6)
    gallery.get_by_role("searchbox").fill("watermark")
    expect(gallery.get_by_role("status")).to_have_text("1 of 47 shown")
    everything.click()
    gallery.get_by_role("searchbox").fill("")
    expect(shown(gallery)).to_have_count(47)


def test_a_card_that_opens_brings_the_figure_into_view(show: Callable[[str], Locator], page: Page) -> None:
    gallery, figure = show("en"), page.get_by_text("here", exact=True)
    last = gallery.get_by_role("button", name="With 67 blocks")
    last.scroll_into_view_if_needed()
    expect(figure).not_to_be_in_viewport()
    last.click()
    expect(figure).to_be_in_viewport()
