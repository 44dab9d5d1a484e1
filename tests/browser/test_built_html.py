"""What the built files say before any script runs: policy, addresses, both languages, the same bytes every time."""

import hashlib
import json
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

import build

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval'; worker-src 'self' blob:; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
PAGES = ("index.html", "en/index.html", "zh/index.html", "en/glossary/index.html", "zh/glossary/index.html")
EXPLAINERS = PAGES[1:3]
ADDRESSES = ("src", "href", "action", "data", "poster")
FIGURES = ["one-step", "batching", "six-steps", "budgets", "starvation", "tradeoff", "chunked-prefill", "kv-blocks"]
FIGURES += ["preemption", "prefix-cache", "speculation", "priority", "async", "encoder", "long-prefill", "hardware"]


class Elements(HTMLParser):
    """Collects every element of a page with its attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[str] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One more element."""
        self.found.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        """Text; what stands in a script or style is kept."""
        if self._open in ("script", "style") and data.strip():
            self.raw.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Text that follows is outside again."""
        if tag == self._open:
            self._open = ""

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of one name."""
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="session")
def elements(site_dir: Path) -> dict[str, Elements]:
    """The elements of each page."""
    return {page: Elements((site_dir / page).read_text("utf-8")) for page in PAGES}


@pytest.mark.parametrize("page", PAGES)
def test_policy_is_the_one_of_the_contract(elements: dict[str, Elements], page: str) -> None:
    policies = [meta for meta in elements[page].named("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert [meta["content"] for meta in policies] == [POLICY]


@pytest.mark.parametrize("page", PAGES)
def test_no_inline_script_style_or_handler(elements: dict[str, Elements], page: str) -> None:
    found = elements[page]
    assert found.raw == []
    assert found.named("style") == []
    assert all(script.get("src") for script in found.named("script"))
    assert [
        name for _, attributes in found.found for name in attributes if name == "style" or name.startswith("on")
    ] == []


@pytest.mark.parametrize("page", PAGES)
def test_loaded_addresses_are_relative_and_exist(site_dir: Path, elements: dict[str, Elements], page: str) -> None:
    for tag, attributes in elements[page].found:
        for name in ADDRESSES:
            address = attributes.get(name)
            if not address or address.startswith("#") or (tag == "a" and re.match(r"https?://", address)):
                continue
            assert not re.match(r"[a-z]+:|/", address), address
            path = (site_dir / page).parent / address.partition("#")[0].partition("?")[0]
            assert (path / "index.html" if path.is_dir() else path).is_file(), address


@pytest.mark.parametrize("page", EXPLAINERS)
def test_figures_are_drawn_into_declarative_shadow_roots(elements: dict[str, Elements], page: str) -> None:
    hosts = elements[page].named("batch-loom")
    assert [host["figure"] for host in hosts] == FIGURES
    assert {host["data-state"] for host in hosts} == {"static"}
    roots = [template for template in elements[page].named("template") if template.get("shadowrootmode") == "open"]
    assert len(roots) == len(hosts)


@pytest.mark.parametrize("page", EXPLAINERS)
def test_ids_are_unique_in_the_page(elements: dict[str, Elements], page: str) -> None:
    ids = [attributes["id"] for _, attributes in elements[page].found if "id" in attributes]
    assert sorted(ids, key=str) == sorted(set(ids), key=str)


def test_languages_point_at_each_other(elements: dict[str, Elements]) -> None:
    assert [page.named("html")[0]["lang"] for page in elements.values()] == ["en", "en", "zh-CN", "en", "zh-CN"]
    for page in elements.values():
        alternates = [link["hreflang"] for link in page.named("link") if link.get("rel") == "alternate"]
        assert alternates == ["en", "zh-CN", "x-default"]


def test_zip_holds_the_browser_modules_and_the_words_and_nothing_else(site_dir: Path, vendor: str) -> None:
    with zipfile.ZipFile(site_dir / vendor / "pyodide" / "sim.zip") as archive:
        names = archive.namelist()
        words = {name: json.loads(archive.read(f"sim/figures/catalog_{name}.json")) for name in ("en", "zh")}
    assert names == sorted(names)
    assert {"sim/__init__.py", "sim/page.py", "sim/engine.py", "sim/figures/__init__.py"} <= set(names)
    assert not {"sim/cli.py", "sim/__main__.py"} & set(names)
    assert all(name.endswith((".py", ".json")) for name in names)
    assert words["en"].keys() == words["zh"].keys()


def test_counted_sizes_are_those_of_the_files(site_dir: Path, vendor: str) -> None:
    folder = site_dir / vendor / "pyodide"
    text = (folder / "runtime.mjs").read_text("utf-8")
    match = re.search(r"BYTES = (\{.*?\});", text)
    assert match
    sizes = json.loads(match[1])
    assert set(sizes) == {"pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "sim.zip", "app.snap.gz"}
    assert sizes == {name: (folder / name).stat().st_size for name in sizes}


def test_same_sources_give_the_same_bytes(site_dir: Path, tmp_path: Path) -> None:
    build.build(tmp_path)
    assert _digests(tmp_path) == _digests(site_dir)


def _digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_missing_runtime_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "PACKAGES", tmp_path / "node_modules")
    monkeypatch.setattr("sys.argv", ["build.py", "--out", str(tmp_path / "dist")])
    assert build.main() == 1
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "node_modules" in message
    assert "make setup" in message
