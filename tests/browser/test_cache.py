"""What a browser keeps: all but the HTML, for ever, for its address changes with its contents."""

import re
from collections.abc import Callable
from http.client import HTTPMessage
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page

from scripts.serve import Handler

NAMED = re.compile(
    r"""(?:\bfrom|\bimport|@import|new URL\()\s*\(?"(\.{0,2}/?[\w./-]+\.(?:m?js|css|py|json))"|url\("?([\w./-]+)"?\)"""
)
"""A file that a module or a style sheet names."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that the server is asked for."""
    addresses: list[str] = []
    answer = Handler.do_GET

    def note(handler: Handler) -> None:
        addresses.append(handler.path)
        answer(handler)

    monkeypatch.setattr(Handler, "do_GET", note)
    return addresses


def test_a_second_visit_asks_for_the_html_alone(
    kept_page: Page, asked: list[str], wait_ready: Callable[..., Page]
) -> None:
    kept_page.goto("en/")
    wait_ready(kept_page)
    assert len(asked) > 10
    asked.clear()
    kept_page.goto("en/")
    wait_ready(kept_page)
    assert asked == ["/some/folder/en/"]


def test_modules_and_style_sheets_name_only_files_that_exist(site_dir: Path, assets: str) -> None:
    named = [
        (path.parent / (module or style)).resolve()
        for path in (site_dir / assets).iterdir()
        if path.suffix in {".mjs", ".js", ".css"}
        for module, style in NAMED.findall(path.read_text("utf-8"))
    ]
    assert len(named) > 20
    assert any(site_dir / "vendor" in path.parents for path in named)
    assert [path for path in named if not path.is_file()] == []


def headers(address: str) -> HTTPMessage:
    """The headers with which the server answers."""
    with urlopen(address) as answer:
        return answer.headers


def test_how_long_files_hold(site_url: str, assets: str, vendor: str) -> None:
    for name in (f"{assets}/page.css", f"{vendor}/pyodide/boot.mjs"):
        assert headers(f"{site_url}/{name}")["Cache-Control"] == "public, max-age=31536000, immutable"
    assert headers(f"{site_url}/en/")["Cache-Control"] == "no-cache"
