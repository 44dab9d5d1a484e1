"""YAML as configuration files of servers use it: blocks, lists, flow collections, scalars of YAML 1.1.

Anchors, aliases, tags, keys that are no scalars and several documents are refused by name. The standard library
has no YAML, and the page installs nothing.
"""

import re
from typing import Any, NamedTuple

from ..errors import ConfigError
from ..parameters import shown

MAX_DEPTH = 40

_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s'"\[\]{},#&*!|>%@`?-][^\n]*?|-[^\s][^\n]*?)\s*:(?:\s+|$)""")
_COMMENT = re.compile(r"""((?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^"'#]|(?<=\S)#|(?<=\w)['"])*)(?:(?:^|\s)#.*)?""")
_FLOW = re.compile(
    r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[\[\]{},]|:(?=[\s\[{"'])|[^\[\]{},]+?(?=\s*(?:[\[\]{},]|:\s|$)))"""
)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/", "0": "\0", "r": "\r", "e": "\x1b", " ": " "}
_WORDS = {
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]{0,400})", re.ASCII)
_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*)?\.[0-9_]+(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*\.(?:[eE][-+][0-9]+)?", re.ASCII
)


_TEMPLATE = re.compile(r"\{\{.*\}\}")
"""What a chart of Helm computes: alone on a line nothing, in a value a word like any other."""


class _Line(NamedTuple):
    indent: int
    text: str
    number: int


def parse_yaml(text: str) -> Any:
    """The value of a document.

    Raises:
        ConfigError: no YAML, or more of it than is read here; the field is the number of the line.
    """
    return _Reader(text).document()


class _Reader:
    def __init__(self, text: str) -> None:
        self._raw = text.split("\n")
        self._lines: list[_Line] = []
        self._next = 0
        for number, raw in enumerate(self._raw, 1):
            line = raw.rstrip("\r")
            stripped = line.strip()
            if not stripped or stripped.startswith(("#", "%")) or _TEMPLATE.fullmatch(stripped):
                continue
            if stripped in {"---", "..."} and not self._lines:
                continue
            if "\t" in line[: len(line) - len(line.lstrip())]:
                raise ConfigError(str(number), "is indented with a tab, must be with spaces")
            if line.startswith("---"):
                raise ConfigError(str(number), "a second document begins, only one is read")
            if stripped != "...":
                self._lines.append(_Line(len(line) - len(line.lstrip(" ")), stripped, number))

    def document(self) -> Any:
        if not self._lines:
            return None
        value = self._block(self._lines[0].indent, 0)
        if self._next < len(self._lines):
            line = self._lines[self._next]
            raise _misplaced(line)
        return value

    def _peek(self) -> _Line | None:
        return self._lines[self._next] if self._next < len(self._lines) else None

    def _block(self, indent: int, depth: int) -> Any:
        line = self._lines[self._next]
        if depth > MAX_DEPTH:
            raise ConfigError(str(line.number), "nested too deeply")
        if _is_item(line.text):
            return self._list(indent, depth)
        if _KEY.match(line.text):
            return self._mapping(indent, depth)
        self._next += 1
        return self._scalar(line.text, line, indent - 1)

    def _list(self, indent: int, depth: int) -> list[Any]:
        items: list[Any] = []
        while (line := self._peek()) and line.indent == indent and _is_item(line.text):
            rest = line.text[1:].lstrip()
            inner = indent + len(line.text) - len(rest)
            if not _bare(rest):
                self._next += 1
                items.append(self._nested(indent, depth))
            elif _is_item(rest) or _KEY.match(rest):
                self._lines[self._next] = line._replace(indent=inner, text=rest)
                items.append(self._block(inner, depth + 1))
            else:
                self._next += 1
                items.append(self._scalar(rest, line, indent))
        return items

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self._peek()) and line.indent == indent:
            match = _KEY.match(line.text)
            if match is None:
                raise ConfigError(str(line.number), f"{shown(line.text)} is not allowed, must be key: value")
            key = str(_plain(match[1], line.number)) if match[1][0] in "\"'" else match[1]
            if key in found:
                raise ConfigError(str(line.number), f"the key {shown(key)} stands twice, must be unique")
            rest = line.text[match.end() :]
            self._next += 1
            if _bare(rest):
                found[key] = self._scalar(rest, line, indent)
            else:
                following = self._peek()
                same = following and following.indent == indent and _is_item(following.text)
                found[key] = self._list(indent, depth + 1) if same else self._nested(indent, depth)
        return found

    def _nested(self, indent: int, depth: int) -> Any:
        line = self._peek()
        return self._block(line.indent, depth + 1) if line and line.indent > indent else None

    def _scalar(self, text: str, line: _Line, indent: int) -> Any:
        """A value that begins on a line; lines that are indented more go on with it."""
        if re.match(r"[|>][-+0-9]*(\s+#.*)?$", text):
            return self._text(line, indent, folded=text[0] == ">")
        if text[0] in "&*!":
            what = {"&": "an anchor", "*": "an alias", "!": "a tag"}[text[0]]
            raise ConfigError(str(line.number), f"{shown(text)} has {what}, which is not read here; write it out")
        parts = [_bare(text)]
        while (more := self._peek()) and (_open(" ".join(parts)) if text[0] in "[{\"'" else more.indent > indent):
            if _KEY.match(more.text) and text[0] not in "[{\"'":
                raise _misplaced(more)
            parts.append(_bare(more.text))
            self._next += 1
        whole = " ".join(parts)
        is_flow = whole[:1] in {"[", "{"} and not whole.startswith("{{")
        return _flow(whole, line.number) if is_flow else _plain(whole, line.number)

    def _text(self, line: _Line, indent: int, *, folded: bool) -> str:
        """A block of text, to the first line that is not indented more."""
        raw = []
        for text in self._raw[line.number :]:
            if text.strip() and len(text) - len(text.lstrip(" ")) <= indent:
                break
            raw.append(text.strip())
        end = line.number + len(raw)
        while (more := self._peek()) and more.number <= end:
            self._next += 1
        return (" " if folded else "\n").join(raw).strip()


def _misplaced(line: _Line) -> ConfigError:
    return ConfigError(str(line.number), f"{shown(line.text)} is indented otherwise than what it belongs to")


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _bare(text: str) -> str:
    """A value without the comment behind it."""
    match = _COMMENT.fullmatch(text)
    # A quote that is not closed on this line hides no comment.
    return (match[1] if match else text).strip()


def _open(text: str) -> bool:
    """Whether brackets or a quote are not closed yet."""
    plain = re.sub(r"""\"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""", "", text)
    if text[:1] in {'"', "'"}:
        return bool(plain.strip())
    return plain.count("[") + plain.count("{") > plain.count("]") + plain.count("}")


def _plain(text: str, number: int) -> Any:
    """A scalar: a quoted text, or what YAML 1.1 takes a bare word for."""
    if text[:1] == '"':
        if len(text) < 2 or not text.endswith('"'):
            raise ConfigError(str(number), f"{shown(text)} has no closing quote")
        return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), text[1:-1])
    if text[:1] == "'":
        if len(text) < 2 or not text.endswith("'"):
            raise ConfigError(str(number), f"{shown(text)} has no closing quote")
        return text[1:-1].replace("''", "'")
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    return float(text.replace("_", "")) if _FLOAT.fullmatch(text) else text


def _flow(text: str, number: int) -> Any:
    """A collection in brackets, such as JSON."""
    tokens = [match[1].strip() for match in _FLOW.finditer(text)]
    try:
        value, rest = _flow_value(tokens, 0, number)
    except (IndexError, RecursionError):
        raise ConfigError(str(number), f"{shown(text)} has a bracket that is not closed") from None
    if rest < len(tokens):
        raise ConfigError(str(number), f"{shown(text)} goes on behind its last bracket")
    return value


def _flow_value(tokens: list[str], at: int, number: int) -> tuple[Any, int]:
    if tokens[at] == "[":
        items: list[Any] = []
        at += 1
        while tokens[at] != "]":
            value, at = _flow_value(tokens, at, number)
            items.append(value)
            at += tokens[at] == ","
        return items, at + 1
    if tokens[at] != "{":
        return _plain(tokens[at], number), at + 1
    found: dict[str, Any] = {}
    at += 1
    while tokens[at] != "}":
        key = str(_plain(tokens[at], number))
        if tokens[at + 1] != ":":
            raise ConfigError(str(number), f"{shown(key)} is not followed by a colon")
        found[key], at = _flow_value(tokens, at + 2, number)
        at += tokens[at] == ","
    return found, at + 1
