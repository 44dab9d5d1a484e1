"""WCAG 2.2 AA for the editor of the scheduler and the import panel, with results, narrow and dark too."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import AXE, NO_BROWSER_HELP, PHONE, TAGS

START_MS = 60_000


@pytest.fixture
def open_tool(open_page: Callable[..., Page], root: Path) -> Callable[..., Page]:
    def open_(path: str, **options: object) -> Page:
        page = open_page(None, **NO_BROWSER_HELP, **options)
        page.add_init_script(path=root / "node_modules" / "axe-core" / "axe.min.js")
        page.goto(path)
        expect(page.locator("[data-state=ready]")).to_have_count(1)
        return page

    return open_


def check(page: Page) -> None:
    assert page.evaluate(AXE, TAGS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


@pytest.mark.parametrize("options", [{}, {"viewport": PHONE, "color_scheme": "dark"}], ids=["desktop", "phone, dark"])
def test_editor(open_tool, options):
    page = open_tool("en/sandbox/scheduler/", **options)
    check(page)
    # The keyboard goes into the editor and out of it again.
    page.locator("[data-code] .cm-content").focus()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("\nraise ValueError('<b>')\n")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Scenario (JSON)")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("scheduler-editor")).to_have_attribute("data-state", "fault", timeout=START_MS)
    expect(page.locator("[data-result]")).to_contain_text("<b>")
    check(page)


@pytest.mark.parametrize("options", [{}, {"viewport": PHONE, "color_scheme": "dark"}], ids=["desktop", "phone, dark"])
def test_import(open_tool, root, options):
    page = open_tool("zh/sandbox/import/", **options)
    for name in ("vllm-server.log", "azure.first60.csv"):
        page.locator("#import-file").set_input_files(root / "tests" / "data" / name)
        expect(page.locator("[data-say=done]")).to_contain_text(name.rpartition(".")[0], timeout=START_MS)
        expect(page.locator("import-panel")).to_have_attribute("data-state", "current", timeout=START_MS)
        page.locator("[data-scenario]").evaluate("(details) => { details.open = true; }")
        check(page)
