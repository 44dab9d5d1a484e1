"""What makes a site of pages: addresses, previews, feed, 404; weight, no jump, no idle work."""

import gzip
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Page, expect

OpenPage = Callable[..., Page]
WaitReady = Callable[..., Page]

BASE = "https://example.org/batchloom/"
KILOBYTE = 1024
BUDGET = 120 * KILOBYTE


@pytest.fixture(scope="module")
def published(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built for an address."""
    out = tmp_path_factory.mktemp("published")
    subprocess.run(
        [sys.executable, "build.py", "--out", out, "--base-url", BASE.rstrip("/")], cwd=root, check=True, timeout=300
    )
    return out


def links(page: str, rel: str) -> list[str]:
    """Addresses of the links of one kind."""
    return re.findall(rf'<link rel="{rel}"[^>]* href="([^"]*)"', page)


@pytest.mark.parametrize("path", ["", "en/", "zh/"])
def test_published_pages_name_their_addresses(published: Path, path: str) -> None:
    page = (published / path / "index.html").read_text("utf-8")
    assert links(page, "canonical") == [BASE + path]
    assert {f"{BASE}en/", f"{BASE}zh/", BASE, f"{BASE}feed.xml"} == set(links(page, "alternate"))
    og = dict(re.findall(r'<meta property="og:(\S+)" content="([^"]*)"', page))
    assert og["url"] == BASE + path
    assert og["title"]
    assert og["description"]
    picture = published / og["image"].removeprefix(BASE)
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    size = [int.from_bytes(data[at : at + 4], "big") for at in (16, 20)]
    assert size == [int(og["image:width"]), int(og["image:height"])]


def test_published_embeds_point_at_the_whole(published: Path) -> None:
    page = (published / "zh/embed/one-step/index.html").read_text("utf-8")
    assert links(page, "canonical") == [f"{BASE}zh/"]
    assert f"{BASE}en/embed/one-step/" in links(page, "alternate")


def test_sitemap_robots_and_feed(published: Path) -> None:
    places = [place.text or "" for place in ET.parse(published / "sitemap.xml").findall("{*}url/{*}loc")]
    assert {BASE, f"{BASE}en/", f"{BASE}zh/", f"{BASE}en/glossary/", f"{BASE}zh/glossary/"} <= set(places)
    for place in places:
        assert (published / place.removeprefix(BASE) / "index.html").is_file()
    assert f"Sitemap: {BASE}sitemap.xml\n" in (published / "robots.txt").read_text("utf-8")
    feed = ET.parse(published / "feed.xml").getroot()
    assert feed.tag == "{http://www.w3.org/2005/Atom}feed"


def test_nothing_absolute_without_an_address(site_dir: Path) -> None:
    assert not {"sitemap.xml", "robots.txt", "feed.xml"} & {path.name for path in site_dir.iterdir()}
    page = (site_dir / "en/index.html").read_text("utf-8")
    assert 'rel="canonical"' not in page
    assert "og:" not in page


def test_bad_address_is_refused(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "build.py", "--out", tmp_path, "--base-url", "example.org"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'example.org' is not the address of a site" in done.stderr


def test_page_for_what_is_not_there_needs_nothing_else(site_dir: Path) -> None:
    page = (site_dir / "404.html").read_text("utf-8")
    assert not re.search(r'(?:src|href)="(?!data:)', page)
    assert "没有这个页面" in page
    assert "There is no such page" in page


@pytest.mark.parametrize(
    "path", ["index.html", "en/index.html", "zh/index.html", "en/embed/six-steps/index.html", "zh/sandbox/index.html"]
)
def test_weight_before_interaction(site_dir: Path, path: str) -> None:
    page = site_dir / path
    text = page.read_text("utf-8")
    names = re.findall(r'(?:src|href)="([^"]*assets/[^"]+\.(?:css|js|mjs))"', text)
    files = {page} | {(page.parent / name).resolve() for name in names}
    assert not any("@import" in file.read_text("utf-8") for file in files)
    weight = sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)
    assert weight <= BUDGET, {file.name: len(gzip.compress(file.read_bytes(), 9)) for file in files}


SHIFTS = """() => {
    window.shifted = 0;
    const add = (list) => { for (const entry of list.getEntries()) window.shifted += entry.value; };
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
}"""


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_jumps_when_python_arrives_and_unseen_figures_rest(
    open_page: OpenPage, wait_ready: WaitReady, width: int
) -> None:
    page = open_page("zh/" if width == 390 else "en/", viewport={"width": width, "height": 800})
    page.evaluate(SHIFTS)
    swaps = """() => {
        window.swapped = new Set();
        for (const figure of document.querySelectorAll("batch-loom")) {
            const note = () => window.swapped.add(figure.getAttribute("figure"));
            const result = figure.shadowRoot.querySelector('[data-part="result"]');
            const all = { attributes: true, characterData: true, childList: true, subtree: true };
            new MutationObserver(note).observe(result, all);
        }
    }"""
    page.evaluate(swaps)
    wait_ready(page)
    page.locator('batch-loom[figure="six-steps"]').evaluate(
        """(figure) => {
            const slider = figure.shadowRoot.querySelector('[name="step"]');
            slider.value = 0;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
        }"""
    )
    page.evaluate("() => window.batchloom.onestep({})")
    expect(page.locator('batch-loom[figure="six-steps"]')).to_have_attribute("data-state", "busy")
    assert page.evaluate("() => [...window.swapped]") == []
    assert page.evaluate("() => window.shifted") < 0.001


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_jumps_in_the_sandbox(open_page: OpenPage, wait_ready: WaitReady, width: int) -> None:
    page = open_page("en/sandbox/", viewport={"width": width, "height": 900})
    page.evaluate(SHIFTS)
    wait_ready(page)
    assert page.evaluate("() => window.shifted") < 0.001


def test_language_link_keeps_what_the_reader_has_set(open_page: OpenPage) -> None:
    page = open_page(None)
    page.route("**/vendor/**", lambda route: None)
    page.goto("en/?theme=dark#six-steps")
    page.locator('batch-loom[figure="one-step"] [data-preset="group-c"]').click()
    page.locator('batch-loom[figure="six-steps"] [data-step-to="last"]').click()
    page.locator("a[data-keep-address][hreflang='zh-CN']").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    expect(page.locator('batch-loom[figure="one-step"] input[name="D"]')).to_have_value("16")
    expect(page.locator('batch-loom[figure="budgets"] input[name="B"]')).to_have_value("11")
    expect(page.locator('batch-loom[figure="six-steps"] input[name="step"]')).to_have_value("5")
    expect(page.locator("[data-notices] li")).to_have_count(0)
    assert page.url.endswith("#six-steps")
