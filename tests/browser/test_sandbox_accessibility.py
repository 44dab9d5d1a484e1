"""WCAG 2.2 AA for the sandbox in the states that somebody brings it into, wide, narrow, dark, in both languages."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import AXE, NO_BROWSER_HELP, PHONE, TAGS

VIEWS = [
    pytest.param("en", {}, id="desktop"),
    pytest.param("zh", {"viewport": PHONE, "color_scheme": "dark"}, id="phone, dark, Chinese"),
]


@pytest.fixture
def open_sandbox(open_page: Callable[..., Page], wait_ready: Callable[..., Page], root) -> Callable[..., Page]:
    def open_(language: str, query: str = "", **options: object) -> Page:
        page = open_page(None, **NO_BROWSER_HELP, **options)
        page.add_init_script(path=root / "node_modules" / "axe-core" / "axe.min.js")
        page.goto(f"{language}/sandbox/{query}")
        expect(wait_ready(page).locator("batch-loom")).to_have_attribute("data-state", "current")
        return page

    return open_


def check(page: Page) -> None:
    assert page.evaluate(AXE, TAGS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


@pytest.mark.parametrize(("language", "options"), VIEWS)
def test_at_work(open_sandbox, language, options):
    page = open_sandbox(language, **options)
    figure = page.locator("batch-loom")
    check(page)
    figure.locator("#sandbox-keep").click()
    figure.locator('[name="num_gpu_blocks"]').fill("30")
    expect(figure.locator("svg[data-scrub]")).to_have_count(2)
    for group in figure.locator("details").all():
        group.evaluate("(details) => { details.open = true; }")
    figure.locator('[name="max_num_batched_tokens"]').fill("2")
    expect(figure.locator('[data-part="problem"]')).to_be_visible()
    expect(figure).to_have_attribute("data-late", "")
    check(page)


@pytest.mark.parametrize(("language", "options"), VIEWS)
def test_a_preset_and_a_sweep(open_sandbox, language, options):
    page = open_sandbox(language, "?scenario=six-steps", **options)
    panel = page.locator("sweep-panel")
    panel.locator("fieldset").nth(0).locator("input").fill("8,16")
    panel.locator("fieldset").nth(1).locator("select").select_option("")
    panel.locator("[name=run]").click()
    expect(panel.locator("[data-result] svg")).to_have_count(1)
    check(page)


def test_narrow(open_sandbox):
    page = open_sandbox("en", viewport={"width": 320, "height": 640})
    check(page)


def test_the_keyboard_alone(open_sandbox):
    page = open_sandbox("en")
    figure = page.locator("batch-loom")
    figure.locator('[data-event-by="1"]').focus()
    page.keyboard.press("Enter")
    expect(figure.locator('[name="step"]:not(output)')).to_have_value("6")
    figure.locator("#sandbox-keep").focus()
    page.keyboard.press("Enter")
    expect(figure.locator("#sandbox-drop")).to_have_count(1)
    expect(figure.locator("#sandbox-keep")).to_be_focused()
    figure.locator("[data-rows] tr").nth(1).locator('[data-act="up"]').focus()
    page.keyboard.press("Enter")
    expect(figure.locator("[data-rows] tr").nth(0).locator('[data-act="up"]')).to_be_focused()
    page.keyboard.press("Control+z")
    expect(figure.locator('[data-rows] tr:first-child [data-key="id"]')).to_have_value("A")
