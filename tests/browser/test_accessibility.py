"""WCAG 2.2 AA: axe in every state, the keyboard alone, live regions, narrow windows, large text, other ways to look."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from sim.figures import FIGURES

OpenPage = Callable[..., Page]
WaitReady = Callable[..., Page]
Announce = Callable[[str], None]

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
PHONE = {"width": 320, "height": 640}
NO_BROWSER_HELP = {"bypass_csp": True}
"""axe has to be put into the page, which its policy does not allow: for this alone it is left out."""

AXE = """async (tags) => {
    const found = await window.axe.run(document, { runOnly: tags, preload: false, resultTypes: ["violations"] });
    return found.violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target.flat().join(" ")}: ${failureSummary}`));
}"""


@pytest.fixture
def open_with_axe(open_page: OpenPage, root: Path) -> OpenPage:
    """Opens a page that has axe."""

    def open_(path: str, **options: object) -> Page:
        page = open_page(None, **NO_BROWSER_HELP, **options)
        page.add_init_script(path=root / "node_modules" / "axe-core" / "axe.min.js")
        page.route("**/pyscript/core.js", options.get("answer", hold))
        page.goto(path)
        return page

    return open_


def hold(route: Route) -> None:
    """The engine neither comes nor fails: nothing is answered."""


def check(page: Page) -> None:
    """axe finds nothing."""
    assert page.evaluate(AXE, TAGS) == []


def open_all_details(page: Page) -> None:
    """Everything that can be opened is open."""
    page.evaluate(
        """() => {
            const figures = [...document.querySelectorAll("batch-loom")];
            const roots = [document, ...figures.map((figure) => figure.shadowRoot)];
            for (const root of roots) for (const details of root.querySelectorAll("details")) details.open = true;
        }"""
    )


# --- axe


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_explainer_before_the_engine(open_with_axe: OpenPage, language: str, theme: str) -> None:
    page = open_with_axe(f"{language}/?theme={theme}&D=none&nonsense=1")
    expect(page.locator("[data-notices] li")).to_have_count(2)
    open_all_details(page)
    check(page)


@pytest.mark.parametrize("path", ["", "404.html", "en/?theme=dark", "zh/"])
def test_pages_on_a_phone(open_with_axe: OpenPage, path: str) -> None:
    check(open_with_axe(path, viewport=PHONE))


@pytest.mark.parametrize("name", FIGURES)
def test_embed_before_use(open_with_axe: OpenPage, name: str) -> None:
    for path in (f"en/embed/{name}/", f"zh/embed/{name}/?theme=dark&nonsense=1"):
        page = open_with_axe(path, viewport={"width": 720, "height": 600})
        open_all_details(page)
        check(page)


def test_failed(open_page: OpenPage, root: Path, wait_ready: WaitReady, expect_problem: Announce) -> None:
    expect_problem("404")
    page = open_page(None, **NO_BROWSER_HELP)
    page.add_init_script(path=root / "node_modules" / "axe-core" / "axe.min.js")
    page.route("**/worker.py", lambda route: route.fulfill(status=404, body=""))
    page.goto("en/")
    wait_ready(page, "failed")
    check(page)
    page.emulate_media(color_scheme="dark")
    check(page)


def test_live_and_after_changes(open_page: OpenPage, root: Path, wait_ready: WaitReady) -> None:
    page = open_page(None, **NO_BROWSER_HELP)
    page.add_init_script(path=root / "node_modules" / "axe-core" / "axe.min.js")
    page.goto("en/")
    wait_ready(page)
    check(page)
    for figure in page.locator("batch-loom").all():
        figure.scroll_into_view_if_needed()
        control = figure.locator('input[type="range"]').first
        control.press("ArrowRight")
        expect(figure).to_have_attribute("data-state", "current")
    figure = page.locator('batch-loom[figure="one-step"]')
    figure.locator('[data-preset="group-b"]').click()
    expect(figure).to_have_attribute("data-state", "current")
    open_all_details(page)
    check(page)
    page.emulate_media(color_scheme="dark")
    check(page)
    expect_spoken_when_settled(page)


def test_problem_told_and_request_lit_up(open_page: OpenPage, root: Path, wait_ready: WaitReady) -> None:
    """An embed that has been used, in Chinese and dark: a value that Python refuses, then a request that is lit up."""
    page = open_page(None, **NO_BROWSER_HELP, viewport={"width": 390, "height": 844})
    page.add_init_script(path=root / "node_modules" / "axe-core" / "axe.min.js")
    page.goto("zh/embed/preemption/?theme=dark")
    figure = page.locator("batch-loom")
    figure.locator('[data-step-to="last"]').click()
    wait_ready(page)
    expect(figure).to_have_attribute("data-state", "current")
    check(page)
    figure.evaluate(
        """(figure) => {
            const slider = figure.form.elements.num_gpu_blocks;
            slider.max = 99;
            slider.value = 50;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
        }"""
    )
    problem = figure.locator('[data-part="problem"]')
    expect(problem).to_contain_text("num_gpu_blocks: 50")
    expect(problem).to_have_attribute("role", "alert")
    check(page)
    figure.locator("[data-reset]").click()
    expect(problem).to_be_hidden()
    figure.locator('button[data-request="B"]').click()
    open_all_details(page)
    check(page)


# --- live regions


def expect_spoken_when_settled(page: Page) -> None:
    """One polite region a figure; it says nothing while the figure plays, and the outcome at the end."""
    for figure in page.locator("batch-loom").all():
        expect(figure.locator('[role="status"], [aria-live="polite"]')).to_have_count(1)
    figure = page.locator('batch-loom[figure="six-steps"]')
    figure.scroll_into_view_if_needed()
    told = figure.evaluate(
        """async (figure) => {
            const root = figure.shadowRoot;
            const [spoken, play] = [root.querySelector('[data-part="spoken"]'), root.querySelector("[data-play]")];
            const slider = root.querySelector('[name="step"]');
            const told = [];
            const note = () => told.push([spoken.textContent, play.getAttribute("aria-pressed")]);
            const watch = new MutationObserver(note);
            slider.value = Number(slider.max) - 2;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            spoken.textContent = "";
            watch.observe(spoken, { childList: true });
            const valueText = slider.getAttribute("aria-valuetext");
            play.click();
            await new Promise((done) => {
                new MutationObserver((_, me) => { if (told.length > 0) { me.disconnect(); done(); } })
                    .observe(spoken, { childList: true });
            });
            return told;
        }"""
    )
    sentence = figure.locator('[data-part="why"]').inner_text()
    assert told == [[sentence, "false"]]


# --- the keyboard alone

FOCUSED = """() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    const thumb = getComputedStyle(element, "::-webkit-slider-thumb");
    const name = element.getAttribute("aria-label") || element.name || element.id || element.textContent.trim();
    return {
        name: `${element.localName} ${element.type ?? ""} ${name} ${element.value ?? ""}`,
        figure: element.getRootNode().host?.getAttribute("figure") ?? "",
        isBody: element === document.body,
        isRange: element.type === "range",
        ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
        seen: box.bottom > 0 && box.top < innerHeight && box.width > 0,
        below: box.top + scrollY,
    };
}"""


@pytest.mark.parametrize("viewport", [{"width": 1440, "height": 900}, {"width": 390, "height": 844}])
def test_tab_reaches_all_in_order_and_shows_where_it_is(open_page: OpenPage, viewport: dict[str, int]) -> None:
    page = open_page(None, viewport=viewport)
    page.route("**/vendor/**", hold)
    page.goto("en/")
    places = []
    for _ in range(900):
        page.keyboard.press("Tab")
        place = page.evaluate(FOCUSED)
        if place["isBody"]:
            break
        places.append(place)
    assert place["isBody"], "the focus never left the page"
    assert [place["name"] for place in places if not place["seen"]] == []
    assert [place["name"] for place in places if not place["ring"] and not place["isRange"]] == []
    figures = [place["figure"] for place in places if place["figure"]]
    assert list(dict.fromkeys(figures)) == sorted(set(figures), key=figures.index)
    expected = page.locator("batch-loom").evaluate_all("(all) => all.map((one) => one.getAttribute('figure'))")
    assert list(dict.fromkeys(figures)) == expected
    wanted = page.evaluate(
        """() => [...document.querySelectorAll("batch-loom")].map((figure) => {
            const all = [...figure.shadowRoot.querySelectorAll("button, input, select, textarea, summary, a[href]")];
            const seen = all.filter((one) => one.type !== "radio" && one.checkVisibility({ visibilityProperty: true }));
            const free = seen.filter((one) => !one.matches(".heads button")); // the slider does the same
            return [figure.getAttribute("figure"), free.length];
        })"""
    )
    for name, count in wanted:
        assert figures.count(name) >= count, name


# --- narrow windows and large text

WIDE = """() => {
    const found = [];
    if (document.documentElement.scrollWidth > innerWidth) found.push(`page: ${document.documentElement.scrollWidth}`);
    return found;
}"""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_320_pixels_and_large_text_need_no_sideways_scrolling(open_page: OpenPage, language: str) -> None:
    page = open_page(None, viewport=PHONE)
    page.route("**/vendor/**", hold)
    page.goto(f"{language}/")
    open_all_details(page)
    assert page.evaluate(WIDE) == []
    page.goto(f"{language}/embed/six-steps/")
    assert page.evaluate(WIDE) == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", ["en/", "zh/", "en/embed/one-step/"])
def test_text_of_twice_the_size(open_page: OpenPage, path: str, width: int) -> None:
    """The text alone grows, in a wide and in a narrow window; tables are open."""
    page = open_page(None, viewport={"width": width, "height": 800})
    page.route("**/vendor/**", hold)
    page.goto(path)
    page.evaluate("() => { document.documentElement.style.fontSize = '212.5%'; }")
    open_all_details(page)
    assert page.evaluate(WIDE) == []
    beside = page.evaluate(
        """() => [document, ...[...document.querySelectorAll("batch-loom")].map((one) => one.shadowRoot)]
            .flatMap((root) => [...root.querySelectorAll("*")])
            .filter((one) => one.checkVisibility() && !one.closest("svg, .scroll, .counters, .columns, .spoken"))
            .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
            .map((one) => `${one.getRootNode().host?.id ?? ""} ${one.localName}.${one.className}`)"""
    )
    assert beside == []
    clipped = page.evaluate(
        """() => [document, ...[...document.querySelectorAll("batch-loom")].map((one) => one.shadowRoot)]
            .flatMap((root) => [...root.querySelectorAll("button, label, dd, dt, p, figcaption, td, th, summary")])
            .filter((one) => one.checkVisibility() && getComputedStyle(one).overflow === "hidden")
            .filter((one) => !getComputedStyle(one).clipPath.startsWith("inset"))
            .filter((one) => one.scrollHeight > one.clientHeight + 2 || one.scrollWidth > one.clientWidth + 2)
            .map((one) => one.textContent.trim().slice(0, 60))"""
    )
    assert clipped == []


# --- other ways to look


def test_reduced_motion_leaves_none(open_page: OpenPage) -> None:
    page = open_page(None, reduced_motion="reduce")
    page.route("**/vendor/**", hold)
    page.goto("en/")
    moving = page.evaluate(
        """() => [document, ...[...document.querySelectorAll("batch-loom")].map((one) => one.shadowRoot)]
            .flatMap((root) => [...root.querySelectorAll("*")])
            .filter((one) => {
                const { transitionDuration, animationName } = getComputedStyle(one);
                return animationName !== "none" || transitionDuration.split(",").some((time) => parseFloat(time) > 0);
            })
            .map((one) => one.outerHTML.slice(0, 80))"""
    )
    assert moving == []
    assert page.evaluate("() => getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_forced_colours_keep_the_marks(open_page: OpenPage) -> None:
    page = open_page(None, forced_colors="active")
    page.route("**/vendor/**", hold)
    page.goto("en/")
    figure = page.locator('batch-loom[figure="one-step"]')
    fills = figure.evaluate(
        """(figure) => [".cells.decode", ".cells.prefill", ".inner"].map((mark) =>
            getComputedStyle(figure.shadowRoot.querySelector(mark)).fill)"""
    )
    assert len(set(fills)) == 3
    button = figure.locator("[data-preset]").first
    button.focus()
    assert button.evaluate("(one) => getComputedStyle(one).borderStyle") == "solid"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_on_paper(open_page: OpenPage, language: str) -> None:
    """Black on white, no controls, tables open, steps side by side, links with their addresses."""
    page = open_page(None, color_scheme="dark")
    page.route("**/vendor/**", hold)
    page.goto(f"{language}/?theme=dark")
    expect(page.locator(".multiples").first).to_be_hidden()
    page.emulate_media(media="print", color_scheme="dark")
    figures = page.locator("batch-loom")
    for figure in figures.all():
        for part in figure.locator("button:visible, input:visible, select:visible, summary:visible").all():
            if part.evaluate("(one) => !one.closest('.heads')"):  # these name the columns
                pytest.fail(f"printed: {part.evaluate('(one) => one.outerHTML')}")
        expect(figure.locator("details table").last).to_be_visible()
        name = figure.get_attribute("figure") or ""
        if name in SCHEDULES or name in CASES:
            rows = CASES.get(name) or figure.locator('[data-part="table"] tbody tr').count()
            expect(figure.locator(".multiples > li")).to_have_count(rows)
            expect(figure.locator(".multiples > li svg").last).to_be_visible()
    colours = page.evaluate(
        """() => [document.body, document.querySelector("batch-loom").shadowRoot.querySelector("figure")]
            .flatMap((one) => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor])"""
    )
    luminance = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours]
    assert luminance == [0, 765, 0, 765]
    link = page.locator('main a[href*="/vllm/v1/core/sched/scheduler.py"]').first
    shown = link.evaluate("(one) => getComputedStyle(one, '::after').content")
    assert str(link.get_attribute("href")) in shown
    pages = page.pdf(format="A4").count(b"/Type /Page\n")
    assert 15 < pages < 40


CASES = {"one-step": 3, "starvation": 5}
"""Figures whose cases stand on buttons: on paper these are side by side."""
SCHEDULES = {name for name, figure in FIGURES.items() if "step" in figure.defaults} - {"batching", "hardware"}
