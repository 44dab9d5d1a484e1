"""Fixtures for tests in a real browser.

A test takes `page` (a desktop window) or `open_page` (any other), and fails at its end when the page wrote an error to
the console, raised one, or asked another host for anything; what a test provokes itself it announces with
`expect_problem`. The page's policy forbids `eval`, so `page.wait_for_function` does not work: wait with `wait_ready` or
with `expect(locator)`.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, Request, expect, sync_playwright

from scripts.chromium import find_chromium
from tests.browser.sandboxes import current

DESKTOP = {"width": 1440, "height": 900}
ENGINE_MS = 120_000
EXPECT_MS = 15_000
"""How long `expect` waits: a busy machine is no failure."""

expect.set_options(timeout=EXPECT_MS)

FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
]


class Problems:
    """What went wrong in the pages of one test.

    Args:
        host: the only host, with its port, that pages may ask.
    """

    def __init__(self, host: str) -> None:
        self.host = host
        self.seen: list[str] = []
        self.expected: list[re.Pattern[str]] = []

    def watch(self, context: BrowserContext) -> None:
        """Notes the problems of every page of a context from now on, those of its workers too."""
        context.on("console", lambda message: self._note(message.type == "error", f"console: {message.text}"))
        context.on("weberror", lambda error: self.seen.append(f"error: {error.error}"))
        context.on("request", self._note_request)

    def unexpected(self) -> list[str]:
        """The problems that the test did not announce, and the announced ones that did not come."""
        found = [text for text in self.seen if not any(pattern.search(text) for pattern in self.expected)]
        missing = [pattern for pattern in self.expected if not any(map(pattern.search, self.seen))]
        return found + [f"expected, but not seen: {pattern.pattern}" for pattern in missing]

    def _note_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        leaves = address.scheme not in {"data", "blob"} and address.netloc != self.host
        self._note(leaves, f"request to another host: {request.url}")

    def _note(self, is_problem: bool, text: str) -> None:
        if is_problem:
            self.seen.append(text)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the browser. The search may start Playwright, which must not run twice: this comes before it."""
    path = find_chromium()
    if path is None:
        pytest.fail("no Chromium found: run `make test`, or set CHROMIUM=/path/to/chromium", pytrace=False)
    return path


@pytest.fixture(scope="session")
def playwright(chromium: str) -> Iterator[Playwright]:
    """Playwright itself, for its list of devices."""
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def browser(playwright: Playwright, chromium: str) -> Iterator[Browser]:
    """One Chromium for all tests."""
    is_root = os.geteuid() == 0
    with playwright.chromium.launch(executable_path=chromium, args=FLAGS, chromium_sandbox=not is_root) as running:
        yield running


@pytest.fixture
def problems(site_url: str) -> Iterator[Problems]:
    """Collects what goes wrong, and fails the test at its end when that was not announced."""
    collected = Problems(urlsplit(site_url).netloc)
    yield collected
    unexpected = collected.unexpected()
    if unexpected:
        pytest.fail("problems in the page:\n" + "\n".join(unexpected), pytrace=False)


@pytest.fixture
def expect_problem(problems: Problems) -> Callable[[str], None]:
    """Announces, as a regular expression, a problem that must come, like `console: .*wasm` or `error: .*`."""
    return lambda pattern: problems.expected.append(re.compile(pattern))


@pytest.fixture
def new_context(browser: Browser, site_url: str, problems: Problems) -> Iterator[Callable[..., BrowserContext]]:
    """Makes a browser context of its own; takes Playwright's options of `new_context`."""
    contexts: list[BrowserContext] = []

    def make(**options: object) -> BrowserContext:
        context = browser.new_context(**{"base_url": site_url + "/", "viewport": DESKTOP, **options})
        problems.watch(context)
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def open_page(new_context: Callable[..., BrowserContext]) -> Callable[..., Page]:
    """Opens a page: `open_page("en/")`, with other options of the context: `open_page("zh/", color_scheme="dark")`.

    Useful ones are `viewport`, `color_scheme`, `has_touch`, `java_script_enabled`, `reduced_motion`, `locale`, and all
    of a device at once: `**playwright.devices["Pixel 7"]`.
    """

    def open_(path: str | None, **options: object) -> Page:
        page = new_context(**options).new_page()
        if path is not None:
            page.goto(path.lstrip("/"))
        return page

    return open_


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """An empty desktop window; `page.goto("en/")` opens the explainer (without a slash before `en`)."""
    return open_page(None)


@pytest.fixture
def kept_page(
    playwright: Playwright, chromium: str, problems: Problems, site_url: str, tmp_path: Path
) -> Iterator[Page]:
    """A window with a cache on disk, as readers have it; without a profile, Chromium keeps no large file."""
    options = {"executable_path": chromium, "args": FLAGS, "chromium_sandbox": os.geteuid() != 0}
    with playwright.chromium.launch_persistent_context(tmp_path, base_url=site_url + "/", **options) as context:
        problems.watch(context)
        yield context.pages[0]


@pytest.fixture
def wait_ready() -> Callable[..., Page]:
    """Waits until the page's `data-engine` is `ready`, or another state that is named, and returns the page."""

    def wait(page: Page, state: str = "ready") -> Page:
        expect(page.locator("html")).to_have_attribute("data-engine", state, timeout=ENGINE_MS)
        return page

    return wait


@pytest.fixture(scope="module")
def live_sandbox(browser: Browser, site_url: str) -> Iterator[Page]:
    """A sandbox whose engine is ready, shared by the tests of a file."""
    errors: list[str] = []
    with browser.new_page(viewport={"width": 1440, "height": 900}) as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{site_url}/en/sandbox/")
        expect(page.locator("html")).to_have_attribute("data-engine", "ready", timeout=60_000)
        yield page
    assert errors == []


@pytest.fixture
def sandbox(live_sandbox: Page) -> Locator:
    """The shared sandbox, reset."""
    live_sandbox.mouse.move(0, 0)
    figure = live_sandbox.locator('batch-loom[figure="sandbox"]')
    figure.locator("[data-reset]").click()
    return current(live_sandbox)


@pytest.fixture
def fresh(page: Page, wait_ready: Callable[..., Page]) -> Locator:
    """A sandbox of its own, for tests that leave its page or look at how it starts."""
    page.goto("en/sandbox/")
    return current(wait_ready(page))
