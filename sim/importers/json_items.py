"""The values of a JSON file one by one, of a list or one a line; a file that is cut gives those before the cut."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from ..parameters import shown
from .human import MOST_DIGITS

_BETWEEN = re.compile(r"[\s,]*")
_NEXT = re.compile(r"^\s*\{", re.MULTILINE)
_NOTHING = re.compile(r"[\s\],]*")


class Item(NamedTuple):
    """A value and the line where it begins; or, where there is no JSON, why not."""

    line: int
    value: Any
    why: str = ""


def items(lines: Iterable[str]) -> Iterator[Item]:
    """The items of a list, or the values of a file with one or several.

    Args:
        lines: the file. The list, or each object, may stand on one line or on many.
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    number, first = next(numbered, (0, ""))
    whole = _decoded(first)
    second = next(numbered, None)
    if whole is None or second is None:
        before = "\n" * (number - 1) + first
        rest = [] if second is None else [second]
        yield from _document(before + "".join(_with_gaps(chain(rest, numbered), number + 1)))
        return
    for at, line in chain([(number, first), second], numbered):
        found = _decoded(line)
        yield Item(at, found[0]) if found else Item(at, None, _value(line.strip(), 0)[2] or "is not one value")


def _decoded(line: str) -> list[Any] | None:
    """The value on a line, in a list of one; `None` if there is none."""
    try:
        return [_DECODER.decode(line.strip())]
    except (ValueError, RecursionError):
        return None


def _with_gaps(numbered: Iterable[tuple[int, str]], number: int) -> Iterator[str]:
    """The lines, with empty ones where some were left out; `number` is that of the first."""
    following = number
    for found, line in numbered:
        yield "\n" * (found - following) + line
        following = found + 1


def _document(text: str) -> Iterator[Item]:
    at = len(text) - len(text.lstrip())
    line = 1 + text.count("\n", 0, at)
    at += text[at : at + 1] == "["
    while not _NOTHING.fullmatch(text, at):
        match = _BETWEEN.match(text, at)
        begin = match.end() if match else at
        line += text.count("\n", at, begin)
        value, end, why = _value(text, begin)
        yield Item(line, value, why)
        line += text.count("\n", begin, end)
        at = end


def _value(text: str, begin: int) -> tuple[Any, int, str]:
    """The value at a place and where it ends; behind what is no JSON, the next line that could begin one."""
    try:
        value, end = _DECODER.raw_decode(text, begin)
    except RecursionError:
        return None, len(text), "nested too deeply"
    except json.JSONDecodeError as error:
        following = _NEXT.search(text, text.find("\n", begin) + 1 or len(text))
        end = following.start() if following else len(text)
        if error.pos >= len(text.rstrip()) or (not following and error.msg.startswith("Unterminated")):
            return None, len(text), "is cut: the file ends within it"
        line = text.count("\n", begin, error.pos)
        where = f"column {error.colno}" + (f" of the line {line} further" if line else "")
        return None, max(end, begin + 1), f"{shown(text[begin:end].strip())} is not JSON: {error.msg} at {where}"
    return value, end, ""


_DECODER = json.JSONDecoder(parse_int=lambda digits: int(digits[:MOST_DIGITS]), parse_constant=lambda _: None)
