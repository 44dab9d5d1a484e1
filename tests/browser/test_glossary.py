"""The glossary: a page, and what a term means on hover, focus and tap, as WCAG 1.4.13 asks for it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

OpenPage = Callable[..., Page]

AXE = """async (tags) => {
    const found = await window.axe.run(document, { runOnly: tags, preload: false, resultTypes: ["violations"] });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].target.flat().join(" ")}`);
}"""
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def open_still(open_page: OpenPage, path: str, **options: object) -> Page:
    """A page whose engine never comes."""
    page = open_page(None, **options)
    page.route("**/vendor/**", lambda route: None)
    page.goto(path)
    return page


def mention(page: Page, id_: str) -> Locator:
    return page.locator(f'#blocks a.term[href="glossary/#{id_}"]')


def test_hover_explains_stays_and_can_be_dismissed(open_page: OpenPage) -> None:
    page = open_still(open_page, "en/")
    note, link = page.locator("#term-note"), mention(page, "preemption")
    expect(note).to_be_hidden()
    link.hover()
    expect(note).to_contain_text("The victim goes back to the waiting queue")
    word, box = (one.bounding_box() or {} for one in (link, note))
    assert word["y"] < box["y"] < word["y"] + 60, "right below its word"
    note.hover()
    expect(note).to_be_visible()
    expect(note.get_by_role("link")).to_have_attribute(
        "href", re.compile(r"v0\.33\.0/vllm/v1/core/sched/scheduler.py$")
    )
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()
    link.hover()
    expect(note).to_be_visible()
    page.mouse.move(5, 5)
    expect(note).to_be_hidden()


def test_focus_explains_and_leaving_ends_it(open_page: OpenPage) -> None:
    page = open_still(open_page, "zh/")
    note, link = page.locator("#term-note"), mention(page, "preemption")
    described = link.get_attribute("aria-describedby")
    expect(page.locator(f"#{described}")).to_contain_text("收回另一个正在运行的请求的全部块")
    before = page.locator('#blocks a.term[href="glossary/#num-computed-tokens"]')
    before.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    expect(before).to_be_focused()
    expect(note).to_contain_text("num_computed_tokens")
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()
    expect(before).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"zh/glossary/#num-computed-tokens$"))


def test_tap_explains_and_a_second_tap_goes_there(open_page: OpenPage) -> None:
    page = open_still(open_page, "en/", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    note = page.locator("#term-note")
    mention(page, "watermark").tap()
    expect(note).to_contain_text("no threshold for preemption")
    box = note.bounding_box() or {}
    assert 0 <= box["x"] < box["x"] + box["width"] <= 390
    mention(page, "preemption").tap()
    expect(note).to_contain_text("The victim")
    mention(page, "preemption").tap()
    expect(page.locator("h1")).to_have_text("Glossary")
    assert page.url.endswith("/en/glossary/#preemption")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_of_terms_needs_no_script_and_passes_axe(open_page: OpenPage, root: Path, language: str) -> None:
    page = open_page(f"{language}/", java_script_enabled=False)
    mention(page, "recompute" if language == "en" else "preemption").click()
    expect(page.locator("dl.glossary > div")).to_have_count(26)
    expect(page.locator('link[rel="alternate"][hreflang]')).to_have_count(3)
    page.locator("#watermark .aside a").click()
    assert page.url.endswith(f"/{language}/#knobs")
    for theme in ("light", "dark"):
        page = open_page(None, bypass_csp=True, color_scheme=theme, viewport={"width": 320, "height": 640})
        page.add_init_script(path=root / "node_modules" / "axe-core" / "axe.min.js")
        page.goto(f"{language}/glossary/")
        assert page.evaluate(AXE, TAGS) == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
        expect(page.locator("html")).to_have_attribute("data-engine", "static")
    page.locator("a[data-keep-address]:not([aria-current])").click()
    expect(page.locator("dl.glossary")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-language", "zh" if language == "en" else "en")
