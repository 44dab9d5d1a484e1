"""Embeds: one figure alone, still until it is used, in frames of pages that come from elsewhere."""

import html
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect

from scripts.embed_table import BEGIN, END, table
from scripts.serve import Server
from sim.figures import FIGURES
from sim.page import DRAWN

OpenPage = Callable[..., Page]
WaitReady = Callable[..., Page]
Announce = Callable[[str], None]
LANGUAGES = ("en", "zh")


@pytest.fixture
def host(tmp_path: Path, expect_problem: Announce) -> Iterator[Callable[..., str]]:
    """Serves a page of another origin; takes what stands in it and a name of this machine, returns its address."""
    with Server(tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()

        def write(body: str, name: str = "127.0.0.1") -> str:
            page = f'<!doctype html><html lang="en"><title>A course</title><link rel="icon" href="data:,">{body}'
            (tmp_path / "index.html").write_text(page, "utf-8")
            address = server.url.replace("127.0.0.1", name)
            expect_problem(re.escape(address))  # the fixture takes the host's page for a request to elsewhere
            return address

        yield write
        server.shutdown()
        thread.join()


def frame(address: str, **attributes: str) -> str:
    """The code of a frame."""
    text = " ".join(f'{name}="{html.escape(value)}"' for name, value in {"src": address, **attributes}.items())
    return f'<iframe width="100%" height="420" {text}></iframe>'


def state(place: FrameLocator, name: str) -> None:
    """Waits for a state of the engine in a frame."""
    expect(place.locator("html")).to_have_attribute("data-engine", name, timeout=120_000)


def number(figure: Locator | FrameLocator, name: str) -> Locator:
    """A result."""
    return figure.locator(f'output[name="{name}"]')


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_an_embed_that_is_complete_without_a_script(site_dir: Path, language: str, name: str) -> None:
    embed = (site_dir / language / "embed" / name / "index.html").read_text("utf-8")
    explainer = (site_dir / language / "index.html").read_text("utf-8")
    assert embed.count("<batch-loom ") == 1
    assert f'<batch-loom figure="{name}" id="{name}" data-state="static">' in embed
    drawn = re.search(r'<div data-part="result">.*(?=</figure>)', embed, re.DOTALL)
    assert drawn
    assert "<table" in drawn[0]
    if f'figure="{name}"' in explainer:
        assert drawn[0] in explainer
    assert f'href="../../../{language}/#{name}" target="_blank" rel="noopener"' in embed
    assert "creativecommons.org/licenses/by/4.0/" in embed


def test_all_is_there_without_javascript(open_page: OpenPage) -> None:
    page = open_page("en/embed/one-step/", java_script_enabled=False)
    expect(number(page.locator("batch-loom"), "prefill")).to_have_text("6")
    expect(page.locator(".attribution")).to_be_visible()
    expect(page.locator("noscript")).to_be_visible()


def test_engine_starts_on_first_use_only(open_page: OpenPage, wait_ready: WaitReady) -> None:
    page = open_page(None)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.goto("en/embed/one-step/", wait_until="networkidle")
    expect(page.locator("html")).to_have_attribute("data-engine", "static")
    assert [path for path in asked if "/vendor/" in path] == []
    assert page.evaluate("() => document.activeElement === document.body")

    page.locator('input[name="D"]').focus()
    wait_ready(page)
    page.keyboard.press("End")
    expect(page.locator("batch-loom")).to_have_attribute("data-state", "current")
    expect(number(page.locator("batch-loom"), "steps_to_finish_prefill")).to_have_attribute("data-value", "never")


def test_two_frames_in_a_page_from_elsewhere(open_page: OpenPage, site_url: str, host: Callable[..., str]) -> None:
    first = f"{site_url}/en/embed/one-step/?B=32&theme=dark&lock=B&hide=presets,table"
    second = f"{site_url}/zh/embed/six-steps/?theme=light"
    page = open_page(host(frame(first, id="first") + frame(second, id="second")))
    one, two = page.frame_locator("#first"), page.frame_locator("#second")

    # What the address asks for is shown: that is the first use.
    state(one, "ready")
    expect(one.locator("batch-loom")).to_have_attribute("data-state", "current")
    expect(number(one, "prefill")).to_have_attribute("data-value", "22")
    expect(one.locator('input[name="B"]')).to_be_disabled()
    expect(one.locator('[data-for="B"][data-step-by="1"]')).to_be_disabled()
    expect(one.locator('[data-part="presets"]')).to_be_hidden()
    state(two, "static")

    two.locator('[data-step-to="first"]').click()
    state(two, "ready")
    expect(two.locator("batch-loom")).to_have_attribute("data-state", "current")
    expect(two.locator("[aria-current]")).to_have_attribute("data-set", '{"step": 0}')
    one.locator('input[name="D"]').fill("0")
    expect(number(one, "decode")).to_have_attribute("data-value", "0")
    expect(one.locator('[data-part="table"]')).to_be_hidden()
    background = "() => getComputedStyle(document.body).backgroundColor"
    assert page.frames[1].evaluate(background) != page.frames[2].evaluate(background)


def test_a_frame_in_which_the_browser_keeps_nothing(
    open_page: OpenPage, site_url: str, host: Callable[..., str], expect_problem: Announce
) -> None:
    """Under another name of this machine the frame is a foreign one, in which Chromium denies storage."""
    for told in ("error: .*already being dispatched", "error: Event"):
        expect_problem(told)  # of PyScript's own storage on the main thread, which nothing needs
    page = open_page(host(frame(f"{site_url}/en/embed/one-step/?B=32"), "localhost"))
    inside = page.frame_locator("iframe")
    state(inside, "ready")
    expect(number(inside, "prefill")).to_have_attribute("data-value", "22")
    denied = "() => { try { return String(localStorage); } catch (error) { return error.name; } }"
    assert page.frames[1].evaluate(denied) == "SecurityError"


def test_bad_parameter_is_told_in_the_frame(open_page: OpenPage, site_url: str, host: Callable[..., str]) -> None:
    page = open_page(host(frame(f"{site_url}/en/embed/six-steps/?step=99&nonsense=1")))
    notices = page.frame_locator("iframe").locator("[data-notices] li")
    expect(notices).to_have_count(2)
    expect(notices.first).to_contain_text("99")
    state(page.frame_locator("iframe"), "static")


def test_closed_frame_shows_the_figure_and_says_why_it_is_still(
    open_page: OpenPage, site_url: str, host: Callable[..., str], expect_problem: Announce
) -> None:
    expect_problem("CORS policy")
    expect_problem("Failed to load resource")
    page = open_page(host(frame(f"{site_url}/zh/embed/one-step/?theme=dark", sandbox="allow-scripts")))
    inside = page.frame_locator("iframe")
    state(inside, "failed")
    expect(inside.locator("[data-sandboxed]")).to_be_visible()
    expect(inside.locator("[data-sandboxed]")).to_contain_text("allow-same-origin")
    expect(number(inside, "prefill")).to_have_text("6")
    expect(inside.locator('input[name="D"]')).to_be_disabled()
    expect(inside.locator("html")).to_have_attribute("data-theme", "dark")


def test_code_of_an_embed_is_copied_as_the_figure_is_set(open_page: OpenPage, site_url: str) -> None:
    page = open_page(None, permissions=["clipboard-read", "clipboard-write"])
    page.route("**/vendor/**", lambda route: None)  # the engine neither comes nor fails
    page.goto("zh/?theme=dark")
    figure = page.locator('batch-loom[figure="one-step"]')
    figure.locator('[data-preset="group-c"]').click()
    figure.locator("[data-copy-embed]").click()
    expect(figure.locator('[data-part="copied"]')).to_be_visible()
    expect(figure.locator('[role="status"]')).to_have_text(figure.locator('[data-part="copied"]').inner_text())
    code = page.evaluate("() => navigator.clipboard.readText()")
    assert re.fullmatch(r"<iframe [^<>]*></iframe>", code)
    assert "style=" not in code
    source = html.unescape(re.findall(r'src="([^"]*)"', code)[0])
    assert source.startswith(f"{site_url}/zh/embed/one-step/?")
    assert parse_qs(urlsplit(source).query) == {"D": ["16"], "policy": ["prefill-first"]}
    assert re.search(r'title="[^"]*[\u4e00-\u9fff]', code)
    assert 300 < int(re.findall(r'height="(\d+)"', code)[0]) < 3000


def test_code_is_selected_where_the_clipboard_is_closed(open_page: OpenPage) -> None:
    page = open_page("en/")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    figure = page.locator('batch-loom[figure="budgets"]')
    figure.locator("[data-copy-embed]").click()
    field = figure.locator("textarea")
    expect(field).to_be_focused()
    selected = field.evaluate("(field) => field.value.slice(field.selectionStart, field.selectionEnd)")
    assert selected.startswith("<iframe ")
    assert selected.endswith("</iframe>")
    expect(figure.locator('[role="status"]')).to_contain_text("Ctrl+C")


def test_documented_snippet_is_like_the_copied_one(root: Path) -> None:
    text = (root / "docs" / "embed.md").read_text("utf-8")
    snippets = re.findall(r"<iframe[^>]*>", text)
    assert snippets
    assert all("style=" not in snippet and "/embed/" in snippet for snippet in snippets)


def test_documented_controls_are_those_of_the_figures(root: Path) -> None:
    text = (root / "docs" / "embed.md").read_text("utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0] == table(), "run scripts/embed_table.py"
    assert re.findall(r"^\| `([a-z-]+)` \| `\w+` \(", table(), re.MULTILINE) == list(DRAWN)


@pytest.mark.parametrize("language", LANGUAGES)
def test_copied_address_of_every_figure_works(open_page: OpenPage, site_dir: Path, language: str) -> None:
    """Each control that a figure has is changed, and the page at the copied address starts with what was set."""
    page = open_page(None, permissions=["clipboard-read", "clipboard-write"])
    page.route("**/vendor/**", lambda route: None)
    page.goto(f"{language}/")
    other = page.context.new_page()
    other.route("**/vendor/**", lambda route: None)
    for name in FIGURES:
        figure = page.locator(f'batch-loom[figure="{name}"]')
        for slider in figure.locator('input[type="range"]').all():
            slider.evaluate("(one) => { one.value = one.value === one.max ? one.min : one.max; }")
        for choice in figure.locator('input[type="radio"]:not(:checked), input[type="checkbox"]').all():
            choice.click()
        figure.locator("[data-copy-embed]").click()
        expect(figure.locator('[data-part="copied"]')).to_be_visible()
        code = page.evaluate("() => navigator.clipboard.readText()")
        address = html.unescape(re.findall(r'src="([^"]*)"', code)[0])
        assert f"/{language}/embed/{name}/?" in address
        other.goto(address)
        expect(other.locator("[data-notices] li")).to_have_count(0)
        values = (
            "(figure) => [...figure.form.elements].filter(({ name }) => name).map((o) => [o.name, o.value, o.checked])"
        )
        assert other.locator("batch-loom").evaluate(values) == figure.evaluate(values)
