"""Writes the static site: the pages with every figure drawn, Python for the browser, and the simulator packed for it.

    .venv/bin/python build.py --out dist

The site works from any host and under any path: all addresses in it are relative.
"""

import argparse
import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

from babel.messages.pofile import read_po
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from scripts.editor import EDITED_SCENARIO, EditorError, copy, write_editor
from scripts.glossary import GlossaryError, Marker, Term, check_glossaries, read_glossary
from scripts.pack import pack_simulator
from scripts.presets import PresetError, read_presets
from scripts.recordings import RecordingError, record_site, run_anew
from scripts.snapshot import SnapshotError, make_snapshot, run_node
from scripts.styles import write_styles
from scripts.versions import FOLDERS, version_folders
from sim import VLLM_VERSION, __version__
from sim.figures.questions import QUESTIONS, draw_question
from sim.figures.words import Words
from sim.frontier import METRICS
from sim.generate import GENERATOR
from sim.importers import FORMATS
from sim.page import DRAWN
from sim.parameters import CONFIG, by_name
from sim.points import RATE
from sim.recordings.recording import DEVICES
from sim.sandbox.saved import TYPES

ROOT = Path(__file__).resolve().parent
SITE = ROOT / "site"
PACKAGES = ROOT / "node_modules"
Catalogs = dict[str, dict[str, str]]
"""Messages by id, by language."""

LANGUAGES = {"en": "en", "zh": "zh-CN"}
"""The folder of each language, and its name in `lang`."""

FIGURE_CATALOGS = ("", "sandbox.", "sweep.", "diagnosis.")
"""Beginnings of the names of the catalogues that figures need, also in the browser."""
BUILD_CATALOGS = ("page.", "question.")
"""Those that only the build needs."""

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval'; worker-src 'self' blob:; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
"""Content-Security-Policy of pages with PyScript, which needs `unsafe-eval` and a worker from a blob."""

SCRIPT_WORDS: dict[str, tuple[str, ...]] = {
    "allowed.range": ("min", "max"),
    "allowed.choice": ("choices",),
    "notice.unknown": ("name", "given"),
    "notice.bad": ("name", "given", "allowed", "used"),
    "notice.part": ("name", "given"),
    "notice.typed": ("name", "given", "allowed"),
    "notice.broken": (),
    "used.default": (),
}
"""Words that scripts fill in, each with its placeholders; the page carries them in a `<template>`."""

ABSOLUTE = ("sitemap.xml", "robots.txt", "feed.xml")
"""Files that need the site's own address."""

PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
BOOT = "boot.mjs"
"""The one asset that stands beside Pyodide."""
OF_PAGES = ("edit-", "sandbox")
"""Beginnings of the names of the modules that only single pages load."""
COUNTED_FILES = ("pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
PYSCRIPT_FILES = ("core", "error")
"""Beginnings of the names of PyScript's modules that its start loads; engine.mjs switches the other plugins off."""


HEADING = re.compile(r'<section id="([^"]+)">\s*<h2>(.*?)</h2>', re.DOTALL)
"""A chapter's id and title, for the table of contents; the first one has its own place."""
TITLE = re.compile(r'<section id="([^"]+)">\s*<h[12]>(.*?)</h[12]>', re.DOTALL)
"""The same of any chapter."""


class BuildError(Exception):
    """The site cannot be built; told in one line."""


def read_catalog(path: Path) -> dict[str, str]:
    """The messages of a gettext catalogue by their id."""
    with path.open("rb") as file:
        catalog = read_po(file)
    if fuzzy := [str(message.id) for message in catalog if message.id and message.fuzzy]:
        raise BuildError(f"{path.relative_to(ROOT)}: not final (fuzzy): {', '.join(fuzzy[:3])}")
    return {str(message.id): str(message.string) for message in catalog if message.id}


def read_catalogs(*prefixes: str) -> Catalogs:
    """The catalogues `<prefix><language>.po` of all prefixes together; both languages must have the same ids."""
    catalogs: Catalogs = {language: {} for language in LANGUAGES}
    for language in LANGUAGES:
        for prefix in prefixes:
            catalogs[language] |= read_catalog(SITE / "locales" / f"{prefix}{language}.po")
    if different := set(catalogs["en"]) ^ set(catalogs["zh"]):
        raise BuildError(f"site/locales: only in one language: {', '.join(sorted(different)[:3])}")
    return catalogs


# ---------------------------------------------------------------- pages


class Pages:
    """Draws the pages.

    A chapter is a file of `site/content/<language>/`, in order of name: a template in which `{{ figure("one-step") }}`
    stands for a figure, and, if its name ends in `.md`, Markdown after that.

    Args:
        out: the folder of the site.
        catalogs: the messages of the figures by language.
        base: the site's address, ending in a slash; without one, nothing is written that must be absolute.
        folders: where the files of `FOLDERS` are, from `out` on.
    """

    def __init__(self, out: Path, catalogs: Catalogs, base: str = "", folders: Mapping[str, str] = FOLDERS) -> None:
        build_words = read_catalogs(*BUILD_CATALOGS)
        self.out, self.base = out, base
        self.addresses: list[str] = []
        self.results: dict[tuple[str, str], str] = {}
        self.words = {name: Words(name, catalogs[name] | build_words[name]) for name in LANGUAGES}
        self.markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
        self.jinja = Environment(
            loader=FileSystemLoader((ROOT / "templates", SITE / "content")),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self.jinja.globals |= {
            **folders,
            "languages": LANGUAGES,
            "version": __version__,
            "vllm_version": VLLM_VERSION,
            "policy": POLICY,
            "base": base,
            "modules": sorted(
                path.name for path in (SITE / "assets").glob("*.mjs") if not path.name.startswith((BOOT, *OF_PAGES))
            ),
            "sandbox_modules": sorted(path.name for path in (SITE / "assets").glob("sandbox-*.mjs")),
            "exports": (*TYPES, "png"),
            "generator": GENERATOR,
            "presets": read_presets(SITE / "presets"),
            "engine_modules": [path.name for path in pyscript_files()],
            "all_words": self.words,
            "script_words": {id_: {name: f"{{{name}}}" for name in names} for id_, names in SCRIPT_WORDS.items()},
            "figure": Markup("<!-- figure:{} -->").format,
            "parameters": by_name(CONFIG),
            "rate": RATE,
            "sweep_metrics": tuple(METRICS),
            "slots": lambda names: {name: f"{{{name}}}" for name in names},
        }

    def write(self) -> None:
        """Write every page."""
        self._write("index.html", "chooser.html", root="./", language="en", words=self.words["en"])
        folder = SITE / "content" / "glossary"
        glossaries = {name: read_glossary(folder / f"{name}.md", self.markdown.render) for name in LANGUAGES}
        check_glossaries(glossaries)
        for language, terms in glossaries.items():
            page = {"root": "../", "language": language, "words": self.words[language]}
            files = sorted((SITE / "content" / language).iterdir())
            marker = Marker(terms, "glossary/")
            chapters = [self._chapter(f"{language}/{file.name}", page, marker) for file in files]
            marker.check()
            contents = [heading for chapter in chapters for heading in HEADING.findall(chapter)]
            parts = {"chapters": chapters, "contents": contents, "terms": terms}
            self._write(f"{language}/index.html", "explainer.html", **parts, **page)
            self._write_glossary(terms, marker, chapters, page | {"root": "../../"})
            self._write_embeds(language)
            self._write_sandbox(page | {"root": "../../", "formats": tuple(FORMATS)})
            edit = page | {"root": "../../../", "scenario": EDITED_SCENARIO}
            self._write(f"{language}/sandbox/scheduler/index.html", "scheduler.html", **edit)
            self._write(f"{language}/sandbox/import/index.html", "import.html", formats=tuple(FORMATS), **edit)
        self._write("404.html", "404.html", icon=_data_address(SITE / "assets" / "icon.svg"))
        if self.base:
            for name in ABSOLUTE:
                self._write(name, name, addresses=self.addresses, releases=read_releases())

    def _write_glossary(self, terms: list[Term], marker: Marker, chapters: list[str], page: dict[str, object]) -> None:
        """All terms, each with the chapter that mentions it first."""
        titles = [TITLE.findall(chapter)[0] for chapter in chapters]
        mentioned = {id_: titles[places[0]] for id_, places in marker.chapters.items()}
        path = f"{page['language']}/glossary/index.html"
        self._write(path, "glossary.html", terms=terms, mentioned=mentioned, **page)

    def _write_sandbox(self, page: dict[str, object]) -> None:
        """The tool, with what brings scenarios to it."""
        self._write(
            f"{page['language']}/sandbox/index.html", "sandbox.html", figure_html=self._figure("sandbox", page), **page
        )

    def _write_embeds(self, language: str) -> None:
        """Every figure alone."""
        page: dict[str, object] = {"root": "../../../", "language": language, "words": self.words[language]}
        for name in DRAWN:
            html = self._figure(name, page | {"is_embed": True})
            self._write(f"{language}/embed/{name}/index.html", "embed.html", name=name, figure_html=html, **page)

    def _chapter(self, path: str, page: dict[str, object], marker: Marker) -> str:
        """One chapter as HTML with its terms marked. Its figures are put in last: their HTML is no Markdown."""
        text = self._render(path, page)
        if path.endswith(".md"):
            text = self.markdown.render(text)
        return re.sub(r"<!-- figure:(\S+) -->", lambda match: self._figure(match[1], page), marker.mark(text))

    def _figure(self, name: str, page: dict[str, object]) -> str:
        """One figure, complete: its form, and its result for the values that the form starts with."""
        if name not in DRAWN:
            raise BuildError(f"no figure {name!r}, there are {', '.join(DRAWN)}")
        figure, words = DRAWN[name], self.words[str(page["language"])]
        if (name, words.language) not in self.results:
            self.results[name, words.language] = figure.render(figure.check(figure.defaults), words)
        parts = {"name": name, "form": figure.form(words), "result": self.results[name, words.language]}
        parts["questions"] = "".join(
            draw_question(question, words) for question in QUESTIONS if question.figure == name
        )
        return self._render("figure.html", {"is_embed": False, **page, **parts}).strip()

    def _render(self, template: str, values: dict[str, object]) -> str:
        return self.jinja.get_template(template).render(values)

    def _write(self, path: str, template: str, **values: object) -> None:
        address = path.removesuffix("index.html")
        if path != address and "/embed/" not in path:
            self.addresses.append(address)
        target = self.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        values |= {"address": address, "place": address.partition("/")[2]}
        target.write_text(self._render(template, values), encoding="utf-8")


def read_releases() -> list[tuple[str, str, str]]:
    """The releases of CHANGELOG.md that have a date: version, date, and what changed as HTML."""
    parts = re.split(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    releases = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    markdown = MarkdownIt("commonmark")
    return [(name, day, markdown.render(text)) for name, day, text in releases if re.fullmatch(r"[\d-]{10}", day)]


def _data_address(path: Path) -> str:
    """A file as an address that holds all of it."""
    return "data:image/svg+xml," + quote(path.read_text("utf-8"))


# ---------------------------------------------------------------- Python for the browser


def pyscript_files() -> list[Path]:
    """The modules of PyScript that its start loads."""
    modules = sorted((PACKAGES / "@pyscript" / "core" / "dist").glob("*.js"))
    return [path for path in modules if path.name.startswith(PYSCRIPT_FILES)]


def write_runtime(out: Path, catalogs: Catalogs, *, with_snapshot: bool) -> None:
    """Copy Pyodide and PyScript, and put the simulator and the start beside them."""
    pyodide, pyscript, morphdom = (PACKAGES / name for name in ("pyodide", "@pyscript/core", "morphdom"))
    for package in (pyodide, pyscript, morphdom):
        if not package.is_dir():
            raise BuildError(f"{package.relative_to(PACKAGES.parent)} is missing: run `make setup` (or `npm ci`) first")
    target = out / "vendor" / "pyodide"
    copy([pyodide / name for name in PYODIDE_FILES] + [SITE / "assets" / BOOT], target)
    copy(pyscript_files(), out / "vendor" / "pyscript")
    copy([morphdom / "dist" / "morphdom-esm.js", morphdom / "LICENSE"], out / "vendor" / "morphdom")
    copy([pyscript / "LICENSE"], out / "vendor" / "pyscript")
    manifests = [json.loads((package / "package.json").read_bytes()) for package in (pyodide, pyscript, morphdom)]
    licences = "".join(
        "{name} {version}, {license}, {repository[url]}\n".format_map(manifest) for manifest in manifests
    )
    (out / "vendor" / "LICENSES.txt").write_text(licences, encoding="utf-8")
    pack_simulator(target / "sim.zip", catalogs)
    lock = json.loads((pyodide / "pyodide-lock.json").read_bytes())
    snapshot = make_snapshot(PACKAGES, target) if with_snapshot else None
    counted = (*COUNTED_FILES, "sim.zip", *((snapshot.name,) if snapshot else ()))
    sizes = {name: (target / name).stat().st_size for name in counted}
    lines = (
        "// Written by build.py: what boot.mjs has to know.",
        f"export const BYTES = {json.dumps(sizes)};",
        f"export const SNAPSHOT = {json.dumps(snapshot and snapshot._asdict())};",
        f"export const LOCK = {json.dumps(json.dumps({'info': lock['info'], 'packages': {}}))};",
    )
    (target / "runtime.mjs").write_text("\n".join(lines) + "\n", encoding="utf-8")


# ---------------------------------------------------------------- all of it


def build(out: Path, base: str = "", *, with_snapshot: bool = True) -> None:
    """Write the whole site into `out`, for the address `base` if given; what an earlier build left is replaced."""
    for name in (*LANGUAGES, *FOLDERS):
        shutil.rmtree(out / name, ignore_errors=True)
    for name in ABSOLUTE:
        (out / name).unlink(missing_ok=True)
    catalogs = read_catalogs(*FIGURE_CATALOGS)
    write_runtime(out, catalogs, with_snapshot=with_snapshot)
    copy([path for path in sorted((SITE / "assets").iterdir()) if path.name != BOOT], out / "assets")
    write_styles(out / "assets")
    write_editor(PACKAGES, out)
    Pages(out, catalogs, base, version_folders(out)).write()
    run_node(ROOT / "scripts" / "compress.mjs", out, PACKAGES / ".cache" / "batchloom")


def base_url(text: str) -> str:
    """The address of a site, ending in a slash."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise argparse.ArgumentTypeError(f"{text!r} is not the address of a site, like https://example.org/batchloom/")
    return text.rstrip("/") + "/"


def main() -> int:
    """The command line of the build."""
    parser = argparse.ArgumentParser(description="Write the static site of Batchloom.")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write, made if need be")
    parser.add_argument(
        "--base-url",
        type=base_url,
        metavar="URL",
        help="the address where the site will be: adds what must name it (canonical links, previews, sitemap, feed)",
    )
    parser.add_argument(
        "--no-snapshot",
        action="store_true",
        help="leave out the memory snapshot from which Python starts fast in the page: it then imports everything",
    )
    parser.add_argument("--hardware", choices=DEVICES, help="first record the site's scenarios there, then build")
    arguments = parser.parse_args()
    try:
        if arguments.hardware:
            record_site(SITE / "recordings", arguments.hardware)
            run_anew()
        build(arguments.out, arguments.base_url or "", with_snapshot=not arguments.no_snapshot)
    except (BuildError, EditorError, GlossaryError, PresetError, RecordingError, SnapshotError, OSError) as error:
        sys.stderr.write(f"build.py: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
