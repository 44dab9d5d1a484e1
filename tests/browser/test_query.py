"""The query string: good values are used, bad ones are named with the value used instead, and the page works."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

OpenPage = Callable[..., Page]
WaitReady = Callable[..., Page]

NEVER = "await new Promise(() => {});"
"""A module that never comes to its end."""

BAD = {
    "D=abc": ("D", "abc", "10"),
    "D=": ("D", "10"),
    "D=65": ("D", "65", "10"),
    "D=-1": ("D", "-1", "10"),
    "D=1.5": ("D", "1.5", "10"),
    "D=1e3": ("D", "1e3", "10"),
    "P=99999999999999999999": ("P", "99999999999999999999", "24"),
    "policy=fastest": ("policy", "fastest", "decode-first"),
    "chunked_prefill=maybe": ("chunked_prefill", "maybe", "true"),
    "theme=blue": ("theme", "blue", "auto"),
    "scenario=group-z": ("scenario", "group-z", "group-a"),
    "nonsense=1": ("nonsense", "1"),
    "hide=nonsense": ("hide", "nonsense"),
    "lock=nonsense": ("lock", "nonsense"),
    "D=%3Cb%3E": ("D", "<b>", "10"),
    "__proto__=1": ("__proto__", "1"),
    "%E0%A4%A=1": ("=1",),
}


def one_step(page: Page) -> Locator:
    """The first figure."""
    return page.locator('batch-loom[figure="one-step"]')


@pytest.fixture
def open_still(open_page: OpenPage) -> Callable[..., Page]:
    """Opens a page whose engine never starts: the query string works without it."""

    def open_(path: str, **options: object) -> Page:
        page = open_page(None, **options)
        page.route("**/pyscript/core.js", lambda route: route.fulfill(content_type="text/javascript", body=NEVER))
        page.goto(path)
        return page

    return open_


@pytest.mark.parametrize("query", BAD)
def test_bad_value_is_named_with_the_value_used(open_still: OpenPage, query: str) -> None:
    page = open_still(f"en/?{query}")
    notices = page.locator("[data-notices] li")
    expect(notices).to_have_count(1)
    expect(notices).to_be_visible()
    for part in BAD[query]:
        expect(notices).to_contain_text(part)
    expect(one_step(page).locator('input[name="D"]')).to_have_value("10")


def test_each_problem_has_its_notice_in_the_language_of_the_page(open_still: OpenPage) -> None:
    page = open_still("zh/?D=abc&nonsense=1&theme=blue&P=24")
    notices = page.locator("[data-notices] li")
    expect(notices).to_have_count(3)
    for text in notices.all_inner_texts():
        assert any("\u4e00" <= character <= "\u9fff" for character in text)


def test_no_notice_without_a_problem(open_still: OpenPage) -> None:
    page = open_still("en/?D=16&theme=dark&lock=P&hide=M")
    expect(page.locator("[data-notices]")).to_be_hidden()
    expect(one_step(page).locator('input[name="D"]')).to_have_value("16")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(one_step(page).locator('input[name="P"]')).to_be_disabled()
    expect(one_step(page).locator('input[name="P"]')).to_be_visible()
    expect(one_step(page).locator('input[name="M"]')).to_be_hidden()


def test_a_parameter_reaches_every_figure_that_has_it(open_still: OpenPage) -> None:
    page = open_still("en/?B=40&step=3")
    for figure in ("one-step", "budgets"):
        expect(page.locator(f'batch-loom[figure="{figure}"] input[name="B"]')).to_have_value("40")
    expect(page.locator('batch-loom[figure="six-steps"] input[name="step"]')).to_have_value("3")


def test_a_bad_value_for_several_figures_is_told_once(open_still: OpenPage) -> None:
    notice = open_still("en/?B=999").locator("[data-notices] li")
    expect(notice).to_have_count(1)
    expect(notice).to_contain_text("16, 11")


def test_values_refine_a_scenario_whatever_their_order(open_still: OpenPage) -> None:
    page = open_still("en/?B=20&scenario=group-b")
    expect(one_step(page).locator('input[name="D"]')).to_have_value("16")
    expect(one_step(page).locator('input[name="B"]')).to_have_value("20")


def test_locked_controls_resist_presets(open_still: OpenPage) -> None:
    page = open_still("en/?lock=D")
    one_step(page).locator('[data-preset="group-c"]').click()
    expect(one_step(page).locator('input[name="D"]')).to_have_value("10")
    expect(one_step(page).locator('input[value="prefill-first"]')).to_be_checked()


def test_language_link_keeps_query_and_place(open_still: OpenPage) -> None:
    page = open_still("en/?D=16&theme=dark#budgets")
    page.locator("a[data-keep-address][hreflang='zh-CN']").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    assert page.url.endswith("/zh/?D=16&theme=dark#budgets")
    expect(one_step(page).locator('input[name="D"]')).to_have_value("16")


def test_query_is_answered_and_bad_values_break_nothing(open_page: OpenPage, wait_ready: WaitReady) -> None:
    page = wait_ready(open_page("en/?scenario=group-b&P=nothing&nonsense=1"))
    figure = one_step(page)
    expect(figure).to_have_attribute("data-state", "current")
    expect(figure.locator('output[name="decode"]')).to_have_attribute("data-value", "16")
    expect(figure.locator('output[name="steps_to_finish_prefill"]')).to_have_attribute("data-value", "never")
    expect(page.locator("[data-notices] li")).to_have_count(2)
    figure.locator('input[name="B"]').fill("40")
    expect(figure.locator('output[name="prefill"]')).to_have_attribute("data-value", "24")
