"""The page as something to read: without scripts, in both languages and themes, on every width, from a file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

OpenPage = Callable[..., Page]

NEVER = "await new Promise(() => {});"
"""A module that never comes to its end."""

GROUP_A = {"decode": "10", "prefill": "6", "prefill_left": "18", "idle": "0", "steps_to_finish_prefill": "4"}


@pytest.fixture
def open_still(open_page: OpenPage) -> Callable[..., Page]:
    """Opens a page whose engine never starts: reading does not need it."""

    def open_(path: str, **options: object) -> Page:
        page = open_page(None, **options)
        page.route("**/pyscript/core.js", lambda route: route.fulfill(content_type="text/javascript", body=NEVER))
        page.goto(path)
        return page

    return open_


@pytest.mark.parametrize("language", ["en", "zh"])
def test_complete_without_scripts(open_page: OpenPage, language: str) -> None:
    page = open_page(f"{language}/", java_script_enabled=False)
    figure = page.locator('batch-loom[figure="one-step"]')
    for name, value in GROUP_A.items():
        number = figure.locator(f'output[name="{name}"]')
        expect(number).to_be_visible()
        expect(number).to_have_attribute("data-value", value)
    for name in ("one-step", "budgets", "six-steps"):
        host = page.locator(f'batch-loom[figure="{name}"]')
        expect(host).to_have_attribute("data-state", "static")
        expect(host.locator("svg").first).to_be_visible()
        expect(host.locator("figcaption")).to_be_visible()
        assert host.locator("table td").count() > 0
    expect(page.locator("html")).to_have_attribute("data-engine", "static")
    expect(page.locator('[data-when="static"]')).to_be_visible()
    expect(page.locator('[data-when="loading"]').first).to_be_hidden()
    expect(page.locator('[data-when="static"]')).to_contain_text("JavaScript")


def test_opened_from_a_file_it_says_why_the_pictures_stand_still(browser: Browser, site_dir: Path) -> None:
    with browser.new_page() as page:
        page.goto((site_dir / "en" / "index.html").as_uri())
        note = page.locator('[data-when="static"]')
        expect(note).to_be_visible()
        expect(note).to_contain_text("server")
        expect(page.locator("footer")).to_contain_text("opened as a file")
        number = page.locator('batch-loom[figure="one-step"] output[name="decode"]')
        expect(number).to_have_attribute("data-value", "10")


@pytest.mark.parametrize("width", [1440, 768, 390, 320])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_sideways_scrolling(open_still: OpenPage, language: str, width: int) -> None:
    page = open_still(f"{language}/", viewport={"width": width, "height": 800})
    page.locator("summary").evaluate_all("(all) => all.forEach((summary) => { summary.parentElement.open = true; })")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    if width >= 390:
        errors = page.locator("#hardware-errors")
        assert errors.evaluate("(region) => region.scrollWidth - region.clientWidth") == 0


def test_theme_follows_the_system_the_choice_and_the_address(open_still: OpenPage) -> None:
    background = "() => getComputedStyle(document.documentElement).backgroundColor"
    light = open_still("en/", color_scheme="light").evaluate(background)
    page = open_still("en/", color_scheme="dark")
    dark = page.evaluate(background)
    assert light != dark
    assert open_still("en/?theme=dark", color_scheme="light").evaluate(background) == dark
    assert open_still("en/?theme=light", color_scheme="dark").evaluate(background) == light
    page.locator("select[data-theme-choice]").select_option("light")
    assert page.evaluate(background) == light
    page.goto("zh/")
    expect(page.locator("select[data-theme-choice]")).to_have_value("light")
    assert page.evaluate(background) == light


@pytest.mark.parametrize("language", ["en", "zh"])
def test_languages_do_not_mix(open_still: OpenPage, language: str) -> None:
    page = open_still(f"{language}/")
    text = page.locator("main").inner_text()
    han = sum("\u4e00" <= character <= "\u9fff" for character in text)
    assert (han == 0) if language == "en" else (han > len(text) // 4)


def test_chooser_leads_to_both_languages(open_still: OpenPage) -> None:
    page = open_still("")
    expect(page.locator("main a")).to_have_count(2)
    assert page.url.endswith("/")
    page.locator("main a[hreflang='zh-CN']").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
