"""The command of a container, or the settings of an engine, in a document in YAML or JSON, or in lists of words."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ..errors import ConfigError
from ..parameters import CONFIG, shown
from .flags import OPTIONS, REMOVED
from .importer import Imported
from .pasted import COMMAND, CONTAINER
from .server_line import SECOND, begin_of, server_words
from .shell import Word
from .yaml_subset import parse_yaml

_ARRAY = re.compile(
    r"""^[ \t]*(?:-[ \t]*)?(?:(?:CMD|ENTRYPOINT|args:|command:)[ \t]*)?"""
    r"""(\[\s*"(?:[^"\\\n]|\\.)*"(?:\s*,\s*"(?:[^"\\\n]|\\.)*")*\s*\]),?[ \t]*$""",
    re.MULTILINE,
)
"""Words of a command as a list in JSON, such as Docker has them."""

_DOCUMENT = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_KEY = re.compile(r"(?:- )?[\"']?([A-Za-z][\w-]*)[\"']?\s*:(?:\s|$)")
_COMMAND_KEYS = ("entrypoint", "command", "cmd", "args")
_COMMAND_KEY = re.compile(r"\b(?:entrypoint|command|cmd|args)[\"']?\s*:", re.IGNORECASE)
_ENGINE_KEYS = ("enginekwargs", "engineargs", "vllmconfig", "vllmengineargs")
_ENGINE_KEY = re.compile(r"^[ \t]*(?:- )?[\"']?(?:engine_kwargs|engine_?[aA]rgs|vllmConfig)[\"']?\s*:", re.MULTILINE)
"""Where Ray Serve and charts of Helm have the arguments of the engine."""

_TELLING = re.compile(
    "(?<![\\w-])(?:"
    + "|".join(row.flag for row in CONFIG if row.flag.startswith("--") and "." not in row.flag)
    + "|--served-model-name|--tensor-parallel-size|--gpu-memory-utilization)(?![\\w-])"
)
"""Flags that other programs do not have."""


def is_document(head: str) -> bool:
    """Whether this begins like a document with a command of vLLM or its arguments."""
    if head.lstrip()[:1] in {"{", "["}:
        return bool(_COMMAND_KEY.search(head) and ("vllm" in head or _TELLING.search(head))) or is_list(head)
    keys = [match[1] for line in head.split("\n")[:200] if (match := _KEY.match(line))]
    known = [key for key in keys if flag_of(key) in OPTIONS or flag_of(key) in REMOVED]
    if known and len(known) * 2 >= len(keys):
        return True
    return bool(_ENGINE_KEY.search(head) or (_COMMAND_KEY.search(head) and _TELLING.search(head)))


def is_list(head: str) -> bool:
    """Whether there is a list of words with flags, as in a Dockerfile."""
    return bool(_ARRAY.search(head)) and "--" in head


def document_words(text: str, imported: Imported) -> list[Word] | None:
    """The words behind `vllm serve` in a document; `None` if the text is none.

    Args:
        text: YAML, JSON, or lists of words in the lines of another file.
        imported: is told of further servers.

    Raises:
        ConfigError: a document that cannot be read, or that starts no server.
    """
    if text.lstrip()[:1] in {"{", "["}:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return _from_arrays(text)
        found = None if _is_words(value) else _from_value(value, text, imported)
        return found or _from_arrays(text)
    if not _is_yaml(text):
        return _from_arrays(text)
    try:
        return _from_yaml(_document(text, imported), imported)
    except ConfigError:
        words = _from_arrays(text)
        if words is None:
            raise
        return words


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _from_arrays(text: str) -> list[Word] | None:
    """The words behind `vllm serve` where they stand in lists."""
    words: list[Word] = []
    for match in _ARRAY.finditer(text):
        line = 1 + text.count("\n", 0, match.start(1))
        with suppress(ValueError):
            words += [Word(item, line) for item in json.loads(match[1], strict=False)]
    begin = begin_of([word.text for word in words]) if words else None
    return None if begin is None else words[begin:]


def _is_yaml(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith(("#", "%", "---"))]
    # What a Makefile does for a target is indented with a tab.
    tabs = any(line.startswith("\t") for line in lines)
    return bool(lines and _KEY.match(lines[0].strip()) and not COMMAND.match(lines[0].strip()) and not tabs)


def _document(text: str, imported: Imported) -> str:
    """Of a file with several documents the first that starts a server, in its lines; other files as they are."""
    ends = [*(match.start() for match in _DOCUMENT.finditer(text)), len(text)]
    parts = ["\n" * text.count("\n", 0, begin) + text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    servers = [part for part in parts if COMMAND.search(part) or ("vllm" in part and CONTAINER.search(part))]
    for part in servers[1:]:
        line = 1 + len(part) - len(part.lstrip("\n"))
        imported.leave_out(line, SECOND)
    return servers[0] if servers else text


def _from_yaml(text: str, imported: Imported) -> list[Word]:
    """The words of a command, or those that the parser of vLLM makes of a configuration file.

    Source: `vllm/utils/argparse_utils.py::load_config_file`.
    """
    value = parse_yaml(text)
    if not isinstance(value, dict):
        raise ConfigError("1", f"{shown(value)} is not allowed, must be keys with values")
    return _from_value(value, text, imported) or _settings(value, text)


def _from_value(value: Any, text: str, imported: Imported) -> list[Word] | None:
    """The words of the container of vLLM, of the settings of its engine, or of a script, whichever there is."""
    items = _container(value, _names_vllm) or _container(value, _has_its_flags)
    if items is None:
        engine = _engine(value)
        if engine is not None:
            return _settings(engine, text)
        if isinstance(value, dict) and not any(flag_of(key) in OPTIONS for key in value):
            items = _script(value)
    return None if items is None else server_words(*_in_lines(items, text, imported))


def _names_vllm(image: str, command: str) -> bool:
    return "vllm" in image or "vllm" in command


def _has_its_flags(image: str, command: str) -> bool:
    del image
    return "--model" in command or bool(_TELLING.search(command))


def _container(value: Any, is_server: Callable[[str, str], bool]) -> list[str] | None:
    """The command of a container, in a file for Docker or Kubernetes: its words, or a text for a shell."""
    for item in _objects(value):
        keys = {str(key).lower(): inner for key, inner in item.items()}
        parts = [keys[key] for key in _COMMAND_KEYS if keys.get(key)]
        if parts and all(isinstance(part, str | list) for part in parts):
            words = [word for part in parts for word in (map(str, part) if isinstance(part, list) else [_Raw(part)])]
            if is_server(str(keys.get("image", "")), " ".join(words)):
                return words
    return None


def _engine(value: Any) -> dict[str, Any] | None:
    """Arguments of the engine under a key of their own, and flags beside them."""
    for item in _objects(value):
        for key, inner in item.items():
            if re.sub(r"[^a-z]", "", str(key).lower()) in _ENGINE_KEYS and isinstance(inner, dict):
                return inner
    return None


def _inside(value: Any) -> Iterator[Any]:
    """A value and all within it, in the order of the document."""
    rest = [value]
    while rest:
        item = rest.pop()
        yield item
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        rest += reversed(list(inner))


def _objects(value: Any) -> Iterator[Mapping[Any, Any]]:
    return (item for item in _inside(value) if isinstance(item, dict))


def _script(value: Any) -> list[str] | None:
    """A text that starts a server, under whatever key, such as a step of a pipeline."""
    found = next((item for item in _inside(value) if isinstance(item, str) and COMMAND.search(item)), None)
    return None if found is None else [_Raw(found)]


def _settings(values: Mapping[Any, Any], text: str) -> list[Word]:
    """The words for arguments by name, with the lines where they stand."""
    line_of: dict[str, int] = {}
    for number, found in enumerate(text.split("\n"), 1):
        if match := _KEY.match(found.strip()):
            line_of.setdefault(match[1], number)
    words: list[Word] = []
    for key, item in values.items():
        line = line_of.get(str(key), 1)
        if str(key).lower().replace("_", "").replace("-", "") == "extraargs" and isinstance(item, list):
            words += [Word(str(word), line) for word in item]
        else:
            words += [Word(word, line) for word in _words(str(key), item)]
    return words


def _words(key: str, value: Any) -> list[str]:
    flag = flag_of(key)
    if isinstance(value, bool):
        return [flag] if value else [f"--no-{flag[2:]}"] if flag in OPTIONS or flag in REMOVED else [flag]
    if isinstance(value, list):
        return [flag, *map(str, value)] if value else []
    text = json.dumps(value) if isinstance(value, dict) else str(value)
    return [f"{flag}={text}"]


def flag_of(key: str) -> str:
    """The flag that a key stands for, in whatever way its words are put together."""
    flag = "--" + key.replace("_", "-")
    return flag if flag in OPTIONS else "--" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", key).lower().replace("_", "-")


class _Raw(str):
    """A command as one text, whose words a shell finds."""

    __slots__ = ()


def _in_lines(items: list[str], text: str, imported: Imported) -> tuple[str, Imported, int]:
    """A script of the items, each on the line where it stands in a document, and the line of the first."""
    script, at, line, first = "", 0, 1, 1
    for item in items:
        begin = item.strip().split("\n", 1)[0]
        match = re.compile(rf"(?<![\w-]){re.escape(begin)}(?![\w-])").search(text, at) if begin else None
        if match:
            line += text.count("\n", at, match.start())
            at = match.start()
        if script:
            script += " " + "\\\n" * (line - first - script.count("\n"))
        else:
            first = line
        script += _quoted(item)
    return script, imported, first


def _quoted(item: str) -> str:
    return item if isinstance(item, _Raw) else "'" + item.replace("'", "'\\''") + "'"
