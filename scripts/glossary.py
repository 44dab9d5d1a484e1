"""The glossary: terms of `site/content/glossary/`, and their first mention in each chapter as a link to them.

An entry is a heading `## id: title`, a line of words by which chapters mention it, and its text in Markdown. A word in
backticks is found as code, the others in prose.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ENTRY = re.compile(r"^## (\S+): (.+)\n(.+)\n\n", re.MULTILINE)
PIECES = re.compile(r"(<!--.*?-->|<[^>]+>)", re.DOTALL)
QUIET = frozenset({"a", "h1", "h2", "h3", "th", "button"})
"""Elements in which nothing is marked."""


class GlossaryError(Exception):
    """The glossary does not fit the chapters; told in one line."""


class Term(NamedTuple):
    """An entry.

    Args:
        id: the same in both languages.
        title: its name, as HTML.
        words: ways in which chapters say it.
        html: what it means.
    """

    id: str
    title: str
    words: tuple[str, ...]
    html: str


def read_glossary(path: Path, render: Callable[[str], str]) -> list[Term]:
    """The entries of one language, in their order; `render` makes HTML of Markdown."""
    parts = ENTRY.split(path.read_text("utf-8"))[1:]
    found = zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True)
    return [
        Term(
            id_, render(title).strip().removeprefix("<p>").removesuffix("</p>"), tuple(words.split(", ")), render(text)
        )
        for id_, title, words, text in found
    ]


def check_glossaries(by_language: dict[str, list[Term]]) -> None:
    """Raise GlossaryError unless all languages explain the same terms in the same order."""
    ids = {language: [term.id for term in terms] for language, terms in by_language.items()}
    first, *others = ids
    for other in others:
        if ids[first] != ids[other]:
            different = set(ids[first]) ^ set(ids[other]) or {"their order"}
            raise GlossaryError(f"site/content/glossary: {first} and {other} differ in {', '.join(sorted(different))}")


class Marker:
    """Marks the terms of a glossary in chapters, and keeps account of where.

    Args:
        terms: the glossary.
        page: address of the glossary, as seen from the chapters.
    """

    def __init__(self, terms: Sequence[Term], page: str) -> None:
        self.page = page
        self.chapters: dict[str, list[int]] = {term.id: [] for term in terms}
        """Numbers of the chapters that mention each term, by id."""
        self._ids = {word.lower(): term.id for term in terms for word in term.words}
        prose = [word for word in self._ids if not word.startswith("`")]
        words = "|".join(map(re.escape, sorted(prose, key=len, reverse=True))) or "(?!)"
        self._pattern = re.compile(rf"(?<![A-Za-z0-9_])(?:{words})(?![A-Za-z0-9_-])", re.IGNORECASE)
        self._count = 0

    def mark(self, html: str) -> str:
        """A chapter in which the first mention of each term is a link; headings, links, longer code are left alone."""
        done: set[str] = set()
        open_: list[str] = []
        pieces = PIECES.split(html)
        for place, piece in enumerate(pieces):
            if piece.startswith("<"):
                self._follow(piece, open_)
            elif QUIET & set(open_):
                continue
            elif "code" not in open_:
                pieces[place] = self._pattern.sub(lambda match: self._link(match[0], match[0].lower(), done), piece)
            elif f"`{piece}`" in self._ids:
                pieces[place] = self._link(piece, f"`{piece}`", done)
        self._count += 1
        return "".join(pieces)

    def check(self) -> None:
        """Raise GlossaryError if no chapter mentions some term."""
        for id_, chapters in self.chapters.items():
            if not chapters:
                raise GlossaryError(f"{self.page}: no chapter says {id_!r} with any of its words")

    def _follow(self, tag: str, open_: list[str]) -> None:
        match = re.match(r"<(/?)(\w+)", tag)
        if match is None:
            return
        name = match[2].lower()
        if match[1] and name in open_:
            del open_[len(open_) - 1 - open_[::-1].index(name) :]
        elif not match[1] and (name in QUIET or name == "code"):
            open_.append(name)

    def _link(self, word: str, key: str, done: set[str]) -> str:
        id_ = self._ids[key]
        if id_ in done:
            return word
        done.add(id_)
        self.chapters[id_].append(self._count)
        return f'<a class="term" href="{self.page}#{id_}" aria-describedby="term-{id_}">{word}</a>'
