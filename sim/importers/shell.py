"""A command line as a shell reads it: quotes, escapes, lines that go on, comments, variables, several commands."""

import re
from typing import NamedTuple

from .pasted import plain_text

_TOKEN = re.compile(
    r"""(?P<comment>(?:(?<=[\s;|&])|\A)\#[^\n]*)
    |(?P<joined>\\\n)                                # the line goes on
    |(?P<space>[ \t\r]+|\\[ \t]+\n|(?<=[ \t])[`^][ \t]*\n|`\#[^`\n]*`)  # likewise, otherwise written, or a comment
    |(?:(?<=[\s;|&])|\A)(?P<list>[A-Za-z_]\w*)(?P<more>\+?)=\((?P<items>[^()]*)\)
    |"?\$\{(?P<all>\w+)\[[@*]\]\}"?
    |(?P<substituted>\$\([^()\n]*\)|`[^`\n]*`)        # what another command prints: not known
    |(?P<redirect>&?[0-9]*[<>]{1,2}(?:&[0-9-]+)?)
    |(?P<end>\n|&&|\|\|?|;|&)
    |\$?'(?P<single>[^']*)(?P<single_end>'|\Z)
    |"(?P<double>(?:[^"\\]|\\.)*)(?P<double_end>"|\\?\Z)
    |\$\{(?P<braces>\w+)(?::?[-=](?P<default>[^}]*))?\}
    |\$(?P<name>[A-Za-z_]\w*)
    |\\(?P<escaped>.)
    |(?P<plain>[^\s'"$\\;|&<>]+|.)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_IN_DOUBLE = re.compile(r"\\\n|\\([$`\"\\])|\$\{(\w+)(?::?[-=]([^}]*))?\}|\$([A-Za-z_]\w*)", re.ASCII)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL | re.ASCII)


LONGEST_VALUE = 100_000
"""So many characters of a variable are kept: one that doubles itself line by line stays small."""


class Word(NamedTuple):
    """A word of a command and the line where it begins, counted from 1."""

    text: str
    line: int


class Command(NamedTuple):
    """A simple command: its words, and whether its last quote is closed."""

    words: list[Word]
    closed: bool


def commands(text: str, first_line: int = 1) -> list[Command]:
    """The simple commands of a script, in order, with the variables filled in that it sets itself.

    Args:
        text: the script.
        first_line: the number of its first line.
    """
    reader = _Reader(first_line)
    reader.read(plain_text(text))
    return reader.found


class _Reader:
    """What has been read of a script."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.found: list[Command] = []
        self._known: dict[str, str] = {}
        self._lists: dict[str, list[Word]] = {}
        self._words: list[Word] = []
        self._word: str | None = None
        self._begin = line
        self._closed = True
        self._to_file = False

    def read(self, text: str) -> None:
        """Take a whole script."""
        for match in _TOKEN.finditer(text):
            self.take(match)
            self.line += match[0].count("\n")
        self.end_command()

    def take(self, match: re.Match[str]) -> None:
        """Go on with one token."""
        match match.lastgroup:
            case "items":
                inner = _Reader(self.line)
                inner._known = self._known
                inner.read(match["items"])
                before = self._lists.get(match["list"], []) if match["more"] else []
                self._lists[match["list"]] = before + [word for command in inner.found for word in command.words]
            case "all" if match["all"] in self._lists:
                self._words += self._lists[match["all"]]
            case "comment" | "joined":
                return
            case "space":
                self._end_word()
            case "redirect":
                self._end_word()
                self._to_file = "&" not in match[0][1:]
            case "end":
                self.end_command()
            case _:
                self._add(match)

    def end_command(self) -> None:
        """The command is complete; one that only sets variables is none."""
        self._end_word()
        self._to_file = False
        words, self._words = self._words, []
        rest = words[1:] if words and words[0].text in {"export", "set", "local"} else words
        pairs = [_ASSIGNMENT.fullmatch(word.text) for word in rest]
        if rest and all(pairs):
            for pair in filter(None, pairs):
                value = (self._known.get(pair[1], "") if pair[2] else "") + pair[3]
                self._known[pair[1]] = value[:LONGEST_VALUE]
        elif words:
            self.found.append(Command(words, self._closed))
        self._closed = True

    def _end_word(self) -> None:
        if self._word is None:
            return
        if self._to_file:
            self._to_file = False
        else:
            self._words.append(Word(self._word, self._begin))
        self._word = None

    def _add(self, match: re.Match[str]) -> None:
        if self._word is None:
            self._word, self._begin = "", self.line
        self._closed = "" not in {match["single_end"], match["double_end"]} and match["double_end"] != "\\"
        name = match["braces"] or match["name"]
        if name:
            pieces = self._value(name, match["default"], match[0]).split()
            # Without quotes, the words of a value are words of the command.
            for piece in pieces[:-1]:
                self._word += piece
                self._end_word()
                self._word = ""
            self._word += pieces[-1] if pieces else ""
        elif match["double"] is not None:
            self._word += _IN_DOUBLE.sub(self._in_double, match["double"])
        else:
            self._word += match["single"] if match["single"] is not None else match["escaped"] or match[0]

    def _in_double(self, match: re.Match[str]) -> str:
        name = match[2] or match[4]
        return self._value(name, match[3], match[0]) if name else match[1] or ""

    def _value(self, name: str, default: str | None, text: str) -> str:
        return self._known.get(name, text if default is None else default)
