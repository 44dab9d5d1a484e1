"""The gallery: cards found by words, option, reason and topic, in both languages; opening one shows the figure."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from scripts.presets import read_presets


@pytest.fixture
def show(page: Page, wait_ready: Callable[..., Page]) -> Callable[[str], Locator]:
    """Opens the gallery of the sandbox in one language."""

    def show_(language: str) -> Locator:
        page.goto(f"{language}/sandbox/")
        gallery = wait_ready(page).locator(".gallery")
        gallery.locator("summary").first.click()
        return gallery

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
        ("en", "thrash", "In and out again"),
        ("zh", "反复抢占", "进来又出去"),
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


def test_a_card_opens_its_scenario_and_stands_above_the_figure(show: Callable[[str], Locator], page: Page) -> None:
    gallery, figure = show("en"), page.locator("batch-loom")
    gallery.get_by_role("button", name="With 67 blocks").click()
    expect(figure.locator(".preset-opened")).to_be_in_viewport()
    expect(figure.locator('input[name="num_gpu_blocks"]')).to_have_value("67")
    expect(figure).to_have_attribute("data-state", "current")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_preset_is_asked_for_in_the_address(
    page: Page, wait_ready: Callable[..., Page], language: str, root: Path
) -> None:
    preset = next(each for each in read_presets(root / "site" / "presets") if each.id == "head-of-line")
    page.goto(f"{language}/sandbox/?scenario=head-of-line")
    figure = wait_ready(page).locator("batch-loom")
    expect(figure).to_have_attribute("data-state", "current")
    expect(figure.locator('[name="step"]:not(output)')).to_have_value(str(preset.view.step))
    opened = figure.locator(".preset-opened")
    expect(opened.locator("details p")).to_be_hidden()
    opened.locator("summary").click()
    expect(opened.locator("details p")).to_be_visible()
