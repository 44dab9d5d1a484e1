"""The engine's states: static, loading with honest progress, ready without a jump, failed with a reason."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Route, expect

GROUP_A = {"decode": "10", "prefill": "6", "prefill_left": "18", "idle": "0", "steps_to_finish_prefill": "4"}
OpenPage = Callable[..., Page]
WaitReady = Callable[..., Page]
Announce = Callable[[str], None]


def one_step(page: Page) -> Locator:
    """The first figure."""
    return page.locator('batch-loom[figure="one-step"]')


def expect_numbers(page: Page, numbers: dict[str, str]) -> None:
    """The results that the first figure shows."""
    for name, value in numbers.items():
        expect(one_step(page).locator(f'output[name="{name}"]')).to_have_attribute("data-value", value)


def open_with(open_page: OpenPage, path: str, pattern: str, answer: Callable[[Route], None]) -> Page:
    """Opens a page; `answer` takes the requests for `pattern`."""
    page = open_page(None)
    page.route(pattern, answer)
    page.goto(path)
    return page


@pytest.fixture
def held(open_page: OpenPage, wait_ready: WaitReady) -> tuple[Page, Callable[[], None]]:
    """A page that has all of its engine but the largest file, and what lets that file come."""
    routes: list[Route] = []

    def hold(route: Route) -> None:
        routes.append(route)

    page = open_with(open_page, "en/", "**/pyodide.asm.wasm", hold)
    wait_ready(page, "loading")
    bar = page.locator("progress[data-engine-progress]")
    # Neither nothing nor all.
    expect(bar).to_have_attribute("value", re.compile(r"^0\.[45][0-9]+$"))
    expect(bar).to_be_visible()
    return page, lambda: routes.pop().continue_()


def test_loading_shows_progress_and_keeps_edits_until_ready(
    held: tuple[Page, Callable[[], None]], wait_ready: WaitReady
) -> None:
    page, release = held
    expect_numbers(page, GROUP_A)
    figure = one_step(page)
    figure.locator('input[name="D"]').fill("16")
    expect(figure).to_have_attribute("data-state", "busy")
    expect_numbers(page, GROUP_A)

    release()
    wait_ready(page)
    expect(page.locator("progress[data-engine-progress]")).to_be_hidden()
    expect(figure).to_have_attribute("data-state", "current")
    expect_numbers(page, {"decode": "16", "prefill": "0", "steps_to_finish_prefill": "never"})


def test_becomes_live_without_a_jump(held: tuple[Page, Callable[[], None]], wait_ready: WaitReady) -> None:
    page, release = held
    boxes = "() => [...document.querySelectorAll('batch-loom')].map((f) => JSON.stringify(f.getBoundingClientRect()))"
    before = page.evaluate(boxes)
    page.evaluate(
        """() => {
            window.drawn = 0;
            for (const figure of document.querySelectorAll("batch-loom")) {
                figure.addEventListener("drawn", () => { window.drawn += 1; });
            }
        }"""
    )
    release()
    wait_ready(page)
    for figure in page.locator("batch-loom").all():
        expect(figure).to_have_attribute("data-state", "current")
    assert page.evaluate(boxes) == before
    assert page.evaluate("() => window.drawn") == 0


@pytest.mark.parametrize(
    "name",
    ["pyodide.asm.wasm", "pyodide.asm.mjs", "boot.mjs", "pyscript/core.js", "worker.py", "morphdom-esm.js"],
)
def test_missing_file_is_named_and_the_page_stays_whole(
    open_page: OpenPage, wait_ready: WaitReady, expect_problem: Announce, name: str
) -> None:
    expect_problem(".")
    page = open_with(open_page, "en/", f"**/{name}", lambda route: route.fulfill(status=404, body=""))
    wait_ready(page, "failed")
    check_failed(page, name)


def test_damaged_file_is_a_failure_not_a_wait(
    open_page: OpenPage, wait_ready: WaitReady, expect_problem: Announce
) -> None:
    def cut(route: Route) -> None:
        route.fulfill(content_type="application/wasm", body=b"\0asm\1\0\0\0\1")

    expect_problem(".")
    page = open_with(open_page, "en/", "**/pyodide.asm.wasm", cut)
    wait_ready(page, "failed")
    check_failed(page, "pyodide.asm.wasm")


def test_blocked_worker_is_a_failure(open_page: OpenPage, wait_ready: WaitReady, expect_problem: Announce) -> None:
    def stricter(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=response.text().replace("worker-src 'self' blob:", "worker-src 'self'"))

    expect_problem("console: .*worker")
    page = open_with(open_page, "zh/", "**/zh/", stricter)
    wait_ready(page, "failed")
    check_failed(page, "worker")


def check_failed(page: Page, reason: str) -> None:
    """The reason in words, the pictures as they were drawn, controls at rest, a rejected promise."""
    message = page.locator('[data-when="failed"]')
    expect(message).to_be_visible()
    expect(message.locator("[data-engine-reason]")).to_contain_text(reason)
    expect(page.locator("progress[data-engine-progress]")).to_be_hidden()
    expect_numbers(page, GROUP_A)
    expect(one_step(page)).to_have_attribute("data-state", "static")
    expect(one_step(page).locator('input[name="D"]')).to_be_disabled()
    told = page.evaluate("() => window.batchloom.ready.then(() => 'ready', (error) => error.message)")
    assert reason in told
    assert "\n" not in told


def test_worker_that_ends_later_is_noticed(open_page: OpenPage, wait_ready: WaitReady) -> None:
    page = wait_ready(open_page("en/"))
    figure = one_step(page)
    figure.locator('input[name="D"]').fill("16")
    expect(figure).to_have_attribute("data-state", "current")
    page.workers[0].evaluate("() => { self.close(); }")
    wait_ready(page, "failed")
    expect(page.locator("[data-engine-reason]")).to_contain_text("ended")
    # The picture keeps its last state, and the controls agree with it.
    expect(figure.locator('input[name="D"]')).to_have_value("16")
    expect(figure.locator('input[name="D"]')).to_be_disabled()
    expect_numbers(page, {"decode": "16", "prefill": "0"})
