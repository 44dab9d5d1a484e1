"""Reading what a user hands in: strictly JSON, value by value, every fault with its place."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, BinaryIO, NamedTuple, TypeVar

from ..errors import ConfigError
from ..parameters import shown

STDIN = "<stdin>"
BOM = b"\xef\xbb\xbf"
MOST_DIGITS = 400
"""Digits of an integer that are read. No field allows so many, and Python refuses to convert thousands."""

_SPACE = re.compile(r"[ \t\r\n]*")

T = TypeVar("T")


class Place(NamedTuple):
    """Where a value stands: its file, the line (`None` in a document over several lines), the index in a list."""

    file: str
    line: int | None = None
    item: int | None = None

    def fault(self, error: ConfigError) -> ConfigError:
        """`error`, found in the value that stands here, with this place in front of its field."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        field = error.field
        if self.item is not None:
            field = f"[{self.item}].{field}" if field else f"[{self.item}]"
        return ConfigError(f"{place}: {field}" if field else place, error.problem)

    def parse(self, parse: Callable[[Any], T], value: object) -> T:
        """What `parse` makes of the value that stands here.

        Raises:
            ConfigError: that of `parse`, with this place; or the value is nested too deeply.
        """
        try:
            return parse(value)
        except ConfigError as error:
            raise self.fault(error) from None
        except RecursionError:
            raise self.fault(ConfigError("", "nested too deeply")) from None


def file_name(file: str) -> str:
    """What messages call `file`."""
    return STDIN if file == "-" else file


@contextmanager
def opened(file: str) -> Iterator[BinaryIO]:
    """The bytes of `file`, or of standard input for `-`.

    Raises:
        ConfigError: it cannot be opened or read.
    """
    try:
        with _stream(file) as stream:
            yield stream
    except OSError as error:
        raise ConfigError(file_name(file), f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(file_name(file), f"cannot be read: {error}") from None


def _stream(file: str) -> Any:
    if file != "-":
        return open(file, "rb")  # noqa: PTH123 - a Path would drop what the user wrote; the caller closes it
    if sys.stdin is None:
        raise ConfigError(STDIN, "cannot be read: standard input is closed")
    return nullcontext(sys.stdin.buffer)


def read_values(file: str) -> Iterator[tuple[Place, Any]]:
    """The JSON values of a file, each as soon as it has been read.

    Args:
        file: a path, or `-` for standard input. It holds one value, over any number of lines, or one value a line.
            A list stands for its items.

    Raises:
        ConfigError: at the first fault: unreadable, not UTF-8, empty, not JSON. The values before it are given out.
    """
    with opened(file) as stream:
        name = file_name(file)
        lines = ((number, text) for number, text in _lines(stream, name) if text.strip(" \t\r\n"))
        number, text = next(lines, (0, ""))
        if not number:
            raise ConfigError(name, "is empty, must hold JSON")
        first = Place(name, number)
        try:
            value = _decode(text, first)
        except _Unfinished as fault:
            rest = list(lines)
            if rest and text.lstrip().startswith("{") and _is_record(rest[0][1]):
                raise fault from None
            yield from _document(first, _joined(number, text, rest))
            return
        yield from _items_of(first, value)
        for number, text in lines:
            place = Place(name, number)
            yield from _items_of(place, _decode(text, place))


def _lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(stream, 1):
        data = line.removeprefix(BOM) if number == 1 else line
        try:
            yield number, data.decode()
        except UnicodeDecodeError as error:
            problem = f"is not UTF-8: byte 0x{data[error.start]:02x} at byte {error.start + 1} of the line"
            raise ConfigError(f"{name}:{number}", problem) from None


def _joined(first: int, text: str, rest: list[tuple[int, str]]) -> str:
    """The lines as one text again, with the empty ones that were left out, so that lines count right."""
    parts = [text]
    for number, line in rest:
        parts.append("\n" * (number - first - 1) + line)
        first = number
    return "".join(parts)


def _is_record(line: str) -> bool:
    """Whether a line is a scenario or a trace by itself, so that the line before it should have been one, too."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and not value.keys().isdisjoint(("requests", "config", "steps"))


def _items_of(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, list):
        yield from ((place._replace(item=index), item) for index, item in enumerate(value))
    else:
        yield place, value


def _document(first: Place, text: str) -> Iterator[tuple[Place, Any]]:
    """The value of a text over several lines; a list item by item, so that a fault leaves the items before it."""
    place = first._replace(line=None)
    begin = _after_space(text, 0)
    if text[begin] != "[":
        value, end = _decode_at(text, begin, first, place)
        _expect_end(text, end, first)
        yield place, value
        return
    position = _after_space(text, begin + 1)
    index = 0
    while index or text[position : position + 1] != "]":
        item = place._replace(item=index)
        value, end = _decode_at(text, position, first, item)
        yield item, value
        index += 1
        position = _after_space(text, end)
        if text[position : position + 1] == "]":
            break
        if text[position : position + 1] != ",":
            raise _syntax_fault(json.JSONDecodeError("Expecting ',' delimiter or ']'", text, position), first)
        position = _after_space(text, position + 1)
    _expect_end(text, position + 1, first)


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


class _Unfinished(ConfigError):
    """The text is not JSON; as the first line of a document over several lines it may still become so."""


def _decode(line: str, place: Place) -> Any:
    begin = _after_space(line, 0)
    value, end = _decode_at(line, begin, place, place)
    _expect_end(line, end, place)
    return value


def _expect_end(text: str, position: int, first: Place) -> None:
    position = _after_space(text, position)
    if position < len(text):
        raise _syntax_fault(json.JSONDecodeError("Something follows the end of the value", text, position), first)


def _syntax_fault(error: json.JSONDecodeError, first: Place) -> _Unfinished:
    """A fault of syntax, by its line and column; `first` is the place of the text's first line."""
    what = "not JSON"
    if error.pos >= len(error.doc.rstrip()):
        what = "not JSON, it ends too early"
        error = json.JSONDecodeError(error.msg, error.doc, len(error.doc.rstrip()))
    line = (first.line or 1) + error.lineno - 1
    return _Unfinished(f"{first.file}:{line}", f"{what}: {error.msg} at column {error.colno}")


def _decode_at(text: str, position: int, first: Place, place: Place) -> tuple[Any, int]:
    """The JSON value that begins at `position`, and where it ends.

    Args:
        text: JSON, with anything behind.
        position: index of the value's first character.
        first: place of the first line of `text`, for faults of syntax.
        place: place of the value, for other faults.
    """
    flaws: list[tuple[object, str]] = []

    def pairs_hook(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            flaws.append((found, f"the key {shown(twice)} stands twice in this object, must be unique"))
        return found

    def constant_hook(name: str) -> object:
        found = [name]
        flaws.append((found, f"{name} is not JSON, must be a number"))
        return found

    decoder = json.JSONDecoder(
        object_pairs_hook=pairs_hook,
        parse_constant=constant_hook,
        parse_int=lambda digits: int(digits[:MOST_DIGITS]),
    )
    try:
        value, end = decoder.raw_decode(text, position)
    except json.JSONDecodeError as error:
        raise _syntax_fault(error, first) from None
    except RecursionError:
        raise place.fault(ConfigError("", "nested too deeply")) from None
    if flaws:
        target, problem = flaws[0]
        raise place.fault(ConfigError(_path_to(target, value), problem))
    return value, end


def _path_to(target: object, value: object) -> str:
    """The path of an object inside a decoded value, such as `requests[2].prefix`; empty for the value itself."""
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        path, here = stack.pop()
        if here is target:
            return path
        if isinstance(here, dict):
            stack.extend((f"{path}.{key}" if path else key, item) for key, item in here.items())
        elif isinstance(here, list):
            stack.extend((f"{path}[{index}]", item) for index, item in enumerate(here))
    return ""
