"""One request lit up in all views of its figure, jumps between events, and reset: by mouse, keyboard and touch."""

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from sim.figures import FIGURES
from tests.browser.sandboxes import control, current

OpenPage = Callable[..., Page]
WaitReady = Callable[..., Page]

LIT = """(figure) => [...figure.shadowRoot.querySelectorAll("[data-request]")].map((element) =>
    [element.dataset.request.split(" ").filter(Boolean), element.hasAttribute("data-lit")])"""
WITH_REQUESTS = [name for name in FIGURES if name != "tradeoff"]


@pytest.fixture(scope="module")
def still(browser: Browser, site_url: str) -> Iterator[Page]:
    """A page whose engine neither comes nor fails, shared by the tests of this file; each sets what it reads."""
    errors: list[str] = []
    with browser.new_page(viewport={"width": 1440, "height": 900}) as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.route("**/vendor/**", lambda route: None)
        page.goto(f"{site_url}/en/")
        yield page
    assert errors == []


def figure_of(page: Page, name: str) -> Locator:
    figure = page.locator(f'batch-loom[figure="{name}"]')
    figure.scroll_into_view_if_needed()
    return figure


def expect_lit(figure: Locator, *ids: str) -> None:
    """Everything that shows one of the requests is lit, and nothing else."""
    marks = figure.evaluate(LIT)
    assert any(is_lit for _, is_lit in marks) == bool(ids)
    assert [shown for shown, is_lit in marks if is_lit != bool(set(shown) & set(ids))] == []
    (expect(figure).to_have_attribute if ids else expect(figure).not_to_have_attribute)("data-lit", "")


@pytest.mark.parametrize("name", WITH_REQUESTS)
def test_a_button_lights_a_request_up_in_every_view(still: Page, name: str) -> None:
    figure = figure_of(still, name)
    for button in figure.locator("button[data-request]").all():
        ids = (button.get_attribute("data-request") or "").split()
        button.click()
        still.mouse.move(0, 0)
        expect(button).to_have_attribute("aria-pressed", "true")
        expect_lit(figure, *ids)
        views = figure.evaluate(
            """(figure) => [...figure.shadowRoot.querySelectorAll("[data-part]:has([data-lit]), svg:has([data-lit])")]
                .map((view) => view.dataset.part ?? "svg")"""
        )
        assert {"requests", "picture", "table", "result", "svg"} <= set(views)
        button.press("Escape")
        expect_lit(figure)
        expect(button).to_have_attribute("aria-pressed", "false")


def test_pointer_and_focus_light_up_in_passing(still: Page) -> None:
    figure = figure_of(still, "preemption")
    figure.locator('.timeline [data-request="A"] .labels text').first.hover()
    expect_lit(figure, "A")
    figure.locator('.blocks [data-request="A"]').first.hover()
    expect_lit(figure, "A")
    figure.locator("tbody tr[data-request=C]").first.hover()
    expect_lit(figure, "C")
    still.mouse.move(0, 0)
    expect_lit(figure)
    figure.locator('input[name="num_gpu_blocks"]').focus()
    still.keyboard.press("Tab")
    still.keyboard.press("Tab")
    expect(figure.locator('button[data-request="A"]')).to_be_focused()
    expect_lit(figure, "A")
    still.keyboard.press("Tab")
    expect_lit(figure, "B")
    still.keyboard.press("Enter")
    still.keyboard.press("Tab")
    expect_lit(figure, "C")
    still.keyboard.press("Tab")
    expect_lit(figure, "D")
    still.keyboard.press("Tab")
    expect_lit(figure, "B")
    expect(figure.locator('[role="status"]')).to_contain_text("preempted")


def test_a_shared_block_belongs_to_all_who_hold_it(still: Page) -> None:
    figure = figure_of(still, "prefix-cache")
    figure.locator('.block[data-request="A B C"]').first.hover()
    expect_lit(figure, "A", "B", "C")


def test_light_stays_over_a_redraw_and_playing_goes_on(open_page: OpenPage, wait_ready: WaitReady) -> None:
    page = wait_ready(open_page("en/"))
    figure = figure_of(page, "six-steps")
    figure.locator('[data-play="step"]').click()
    figure.locator('button[data-request="C"]').click()
    expect(figure.locator('[data-play="step"]')).to_have_attribute("aria-pressed", "true")
    expect(figure.locator('input[name="step"]')).to_have_value("4")
    figure.locator('[data-play="step"]').click()
    expect(figure).to_have_attribute("data-state", "current")
    page.mouse.move(0, 0)
    expect_lit(figure, "C")
    figure.locator("figcaption").click()
    expect_lit(figure)


def test_touch_lights_up_and_puts_out(open_page: OpenPage) -> None:
    page = open_page(None, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.route("**/vendor/**", lambda route: None)
    page.goto("zh/")
    figure = figure_of(page, "priority")
    button = figure.locator('button[data-request="D"]')
    box = button.bounding_box()
    assert box
    assert box["height"] >= 44
    assert box["width"] >= 44
    button.tap()
    expect_lit(figure, "D")
    figure.locator('.timeline [data-request="B"] text').first.tap()
    expect_lit(figure, "B")
    figure.locator('.timeline [data-request="B"] text').first.tap()
    expect_lit(figure)


def test_the_light_of_who_is_gone_goes_out(open_page: OpenPage, wait_ready: WaitReady) -> None:
    page = open_page("en/sandbox/", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    figure = current(wait_ready(page))
    name = figure.locator('button.name[data-request="B"]')
    for is_lit in (True, False, True):
        name.tap()
        expect_lit(figure, *"B" * is_lit)
    requests = control(figure, "requests")
    first = requests.input_value()
    put = """(control, text) => {
        control.value = text;
        control.dispatchEvent(new Event("input", { bubbles: true }));
    }"""
    requests.evaluate(put, '[{"id": "Z", "prompt_tokens": 9, "output_tokens": 9}]')
    expect(figure.locator("button.name")).to_have_text(["Z"])
    expect(figure).to_have_attribute("data-state", "current")
    expect_lit(figure)
    requests.evaluate(put, first)
    expect(figure.locator("button.name")).to_have_count(6)
    expect(figure).to_have_attribute("data-state", "current")
    expect_lit(figure)
    piece = figure.locator('g[data-step="4"][data-request="B"]')
    piece.tap()
    expect_lit(figure, "B")
    piece.tap()
    expect_lit(figure)


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if "step" in figure.defaults])
def test_every_event_can_be_jumped_to(still: Page, name: str) -> None:
    figure = figure_of(still, name)
    listed = json.loads(figure.locator("[data-events]").get_attribute("data-events") or "")
    steps = [step for step, text in listed if text]
    assert len(steps) == len(listed) >= 3
    slider = figure.locator('input[name="step"]')
    slider.fill("0")
    slider.focus()
    for step in steps[1:] if steps[0] == 0 else steps:
        still.keyboard.press("n")
        expect(slider).to_have_value(str(step))
    still.keyboard.press("n")
    expect(slider).to_have_value(str(steps[-1]))
    still.keyboard.press("Shift+N")
    expect(slider).to_have_value(str(steps[-2]))
    still.keyboard.press("Control+n")
    expect(slider).to_have_value(str(steps[-2]))
    figure.locator('[data-event-by="1"]').click()
    expect(slider).to_have_value(str(steps[-1]))


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_can_be_stepped_scrubbed_played_and_reset(still: Page, name: str) -> None:
    figure = figure_of(still, name)
    play = figure.locator("[data-play]")
    expect(play).to_have_count(1)
    control = play.get_attribute("data-play")
    slider = figure.locator(f'input[type="range"][name="{control}"]')
    before = slider.get_attribute("value") or ""
    slider.fill(before)
    for by in ("-1", "1"):
        expect(figure.locator(f'[data-step-by="{by}"][data-for="{control}"]')).to_have_count(1)
    figure.locator(f'[data-step-by="-1"][data-for="{control}"]').click()
    expect(slider).to_have_value(str(int(before) - 1))
    for other in figure.locator('input[type="radio"]:not(:checked), input[type="checkbox"]').all():
        other.click()
    figure.locator("[data-reset]").click()
    expect(slider).to_have_value(before)
    changed = figure.evaluate(
        """(figure) => [...figure.form.elements].filter((one) => one.checked !== undefined
            && (one.checked !== one.defaultChecked || one.value !== one.getAttribute("value") && one.type === "range"))
            .map((one) => one.name)"""
    )
    assert changed == []


def test_reset_leaves_what_is_locked(open_page: OpenPage) -> None:
    page = open_page(None)
    page.route("**/vendor/**", lambda route: None)
    page.goto("en/embed/one-step/?B=20&D=3&lock=B")
    page.locator("[data-reset]").click()
    expect(page.locator('input[name="B"]')).to_have_value("20")
    expect(page.locator('input[name="D"]')).to_have_value("10")
