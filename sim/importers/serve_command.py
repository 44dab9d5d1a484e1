"""`vllm serve` command lines, in scripts, containers or alone, and its configuration files in YAML."""

import json
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from ..errors import ConfigError
from ..parameters import shown
from .arguments import parse_arguments
from .flags import OPTIONS, REMOVED, REMOVED_ENVIRONMENT
from .importer import Imported, Importer, LeftOut
from .pasted import COMMAND, CONTAINER, behind_root, script_of
from .server import configure, tell_defaults, tell_refusal
from .shell import Command, Word, commands
from .yaml_subset import parse_yaml

_MODULE = re.compile(r"vllm\.entrypoints\.(openai\.)?(api_server|cli\.main)")
_IMAGE = re.compile(r"(?:[\w.-]+(?::\d+)?/)*[\w.-]*vllm[\w.-]*(?::[\w.-]+|@sha256:[0-9a-f]+)?")
_DOCKER_SWITCHES = re.compile(
    r"-[dit]+|-P|--(?:rm|init|privileged|detach|tty|interactive|read-only|publish-all|oom-kill-disable|no-healthcheck)"
)
_ARRAY = re.compile(
    r"""^[ \t]*(?:-[ \t]*)?(?:(?:CMD|ENTRYPOINT|args:|command:|"(?:args|command)":)[ \t]*)?"""
    r"""(\[\s*"(?:[^"\\\n]|\\.)*"(?:\s*,\s*"(?:[^"\\\n]|\\.)*")*\s*\]),?[ \t]*$""",
    re.MULTILINE,
)
"""Words of a command as a list in JSON, such as Docker and Kubernetes have them."""

_SCRIPT_FOLLOWS = re.compile(r"-[a-z]*c")
_DOCUMENT = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_KEY = re.compile(r"(?:- )?[\"']?([A-Za-z][\w-]*)[\"']?\s*:(?:\s|$)")
MAX_WORDS = 100_000
SECOND = "a second server is started here, only the first is read"
MANY = 20
"""So many places of a text are tried where a command could begin."""
LONGEST = 20_000
"""So many characters are read from there."""


def detect(head: str) -> bool:
    """Whether this is a command line of `vllm serve`, flags of one, or a configuration file with its arguments."""
    head = script_of(head)
    lines = [line.strip() for line in head.split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")] or behind_root(head).strip().split("\n")
    if lines[0][:1] in {"", "{", "<"}:
        return False
    if _ARRAY.search(head):
        return "--" in head
    if lines[0].startswith("[") and not re.fullmatch(r"\[\w+\]", lines[0]):
        return False
    if lines[0].startswith("--") and not lines[0].startswith("---"):
        return True
    keys = [match[1] for line in head.split("\n")[:200] if (match := _KEY.match(line))]
    known = [key for key in keys if _flag_of(key) in OPTIONS or _flag_of(key) in REMOVED]
    if known and len(known) * 2 >= len(keys):
        return True
    return (
        bool(COMMAND.search(head) or ("vllm" in head and CONTAINER.search(head)))
        and "Avg prompt throughput" not in head
    )


def read(lines: Iterable[str], rows: int | None = None) -> Imported:
    """The configuration of the first server that is started, and no requests.

    Args:
        lines: a script, or a file for `--config`.
        rows: not used, there are no rows.

    Raises:
        ConfigError: nothing in it starts a server or sets an argument.
    """
    del rows
    text = script_of("".join(lines))
    imported = Imported("serve-command", {})
    if not text.strip():
        raise ConfigError("", "is empty, must hold a command line of vllm serve, or its configuration in YAML")
    imported.removed += removed_environment(text)
    words = _from_arrays(text) or (_from_yaml(text, imported) if _is_yaml(text) else _from_script(text, imported))
    if len(words) > MAX_WORDS:
        raise ConfigError("", f"{len(words)} words are too many for a command line")
    settings = parse_arguments(words, imported)
    imported.rows = len(settings) + len(imported.unknown) + len(imported.removed)
    configure(imported, settings)
    if "model" in settings:
        imported.found["model"] = settings["model"].value
    if "config" in settings:
        imported.note("other_config", value=settings["config"].value)
    tell_defaults(imported)
    tell_refusal(imported)
    return imported


def removed_environment(text: str) -> list[str]:
    """The variables that a text sets and that vLLM no longer reads."""
    return [name for name in REMOVED_ENVIRONMENT if re.search(rf"\b{name}\b[\"']?\s*[=:]", text)]


def _flag_of(key: str) -> str:
    return "--" + key.replace("_", "-")


# --- scripts


def _from_script(text: str, imported: Imported) -> list[Word]:
    """The words behind `vllm serve`."""
    words = server_words(text, imported)
    if words is None:
        raise ConfigError("1", f"{shown(text.strip())} starts no vllm serve, and sets no argument of it")
    return words


def server_words(script: str, imported: Imported, first_line: int = 1) -> list[Word] | None:
    """What stands behind `vllm serve`, or what else starts a server; `None` if nothing does.

    Args:
        script: commands, as `script_of` gives them.
        imported: is told of further servers, and of flags of commands that start none.
        first_line: the number of its first line.
    """
    words, problems = _first_server(commands(script, first_line))
    if words is None:
        script = behind_root(script)
        # A quote before it, such as an apostrophe, that is never closed does not hide a command.
        for match in islice(COMMAND.finditer(script), MANY):
            line = first_line + script.count("\n", 0, match.start())
            for begin in (script.rfind("\n", 0, match.start()) + 1, match.start()):
                if words is None:
                    words, problems = _first_server(commands(script[begin : begin + LONGEST], line))
    for problem in problems:
        imported.leave_out(*problem)
    return words


def _first_server(found: Sequence[Command]) -> tuple[list[Word] | None, list[LeftOut]]:
    """The words behind the first `vllm serve`, and what is wrong with the commands."""
    words: list[Word] | None = None
    problems: list[LeftOut] = []
    for command in _joined(found):
        first = command.words[0]
        more = _arguments_of(command)
        if more is None:
            if any(word.text.partition("=")[0] in OPTIONS for word in command.words):
                problems.append(LeftOut(first.line, f"{shown(first.text)} ... starts no vllm serve"))
        elif words is not None:
            problems.append(LeftOut(first.line, SECOND))
        else:
            if not command.closed:
                problems.append(LeftOut(command.words[-1].line, "a quote is not closed"))
            words = more
    return words, problems


def _joined(found: Sequence[Command]) -> list[Command]:
    """Lines that begin with a flag belong to the command before, whose line should have ended in a backslash."""
    whole: list[Command] = []
    for command in found:
        if whole and command.words[0].text.startswith("--"):
            whole[-1] = Command(whole[-1].words + command.words, command.closed)
        else:
            whole.append(command)
    return whole


def _arguments_of(command: Command) -> list[Word] | None:
    """What stands behind `vllm serve` in a command; `None` if that is not what it starts."""
    texts = [word.text for word in command.words]
    begin = _begin(texts)
    for index, word in enumerate(command.words):
        # sh -c "vllm serve ..."
        inside = index and COMMAND.search(word.text) and (begin is None or _SCRIPT_FOLLOWS.fullmatch(texts[index - 1]))
        words = _first_server(commands(word.text, word.line))[0] if inside else None
        if words is not None:
            return words
    return None if begin is None else command.words[begin:]


def _begin(texts: Sequence[str]) -> int | None:
    """Where the arguments of the server begin."""
    for index, text in enumerate(texts):
        program = text.rpartition("/")[2].removesuffix(".exe")
        following = texts[index + 1 : index + 2]
        if program == "vllm" and following == ["serve"]:
            return index + 2
        if _MODULE.fullmatch(text):
            return index + (2 if following == ["serve"] else 1)
        if program in {"docker", "podman", "nerdctl"} and "run" in texts[index:]:
            return _behind_image(texts, texts.index("run", index) + 1)
    return 0 if texts[0].startswith("--") else 1 if texts[0] == "serve" else None


def _behind_image(texts: Sequence[str], index: int) -> int | None:
    """Where the arguments of a container begin that runs vLLM's image."""
    while index < len(texts) and texts[index].startswith("-"):
        index += 1 if "=" in texts[index] or _DOCKER_SWITCHES.fullmatch(texts[index]) else 2
    if index >= len(texts):
        return None
    rest = texts[index + 1 :]
    inside = _begin(rest) if rest else 0
    if inside is not None:
        return index + 1 + inside
    return index + 1 if _IMAGE.fullmatch(texts[index]) or "$" in texts[index] else None


def _from_arrays(text: str) -> list[Word]:
    """The words behind `vllm serve` where they stand in lists; none if there are no such lists."""
    words: list[Word] = []
    for match in _ARRAY.finditer(text):
        line = 1 + text.count("\n", 0, match.start(1))
        words += [Word(item, line) for item in json.loads(match[1])]
    begin = _begin([word.text for word in words]) if words else None
    return [] if begin is None else words[begin:]


# --- YAML


def _is_yaml(text: str) -> bool:
    lines = [line.strip() for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith(("#", "%")) and line != "---"]
    return bool(lines and _KEY.match(lines[0]) and not COMMAND.match(lines[0]))


def _from_yaml(text: str, imported: Imported) -> list[Word]:
    """The words that the parser of vLLM makes of a configuration file.

    Source: `vllm/utils/argparse_utils.py::load_config_file`.
    """
    text = _document(text, imported)
    value = parse_yaml(text)
    if not isinstance(value, dict):
        raise ConfigError("1", f"{shown(value)} is not allowed, must be keys with values")
    container = _container(value)
    if container is None and not any(_flag_of(key) in OPTIONS for key in value):
        container = _script(value)
    if container is not None:
        return _from_script(" ".join(_quoted(item) for item in container), imported)
    line_of = {match[1]: number for number, line in enumerate(text.split("\n"), 1) if (match := _KEY.match(line))}
    words: list[Word] = []
    for key, item in value.items():
        line = line_of.get(key, 1)
        words += [Word(word, line) for word in _words(key, item)]
    return words


def _document(text: str, imported: Imported) -> str:
    """Of a file with several documents the first that starts a server, in its lines; other files as they are."""
    ends = [*(match.start() for match in _DOCUMENT.finditer(text)), len(text)]
    parts = ["\n" * text.count("\n", 0, begin) + text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    servers = [part for part in parts if COMMAND.search(part) or ("vllm" in part and CONTAINER.search(part))]
    for part in servers[1:]:
        line = 1 + len(part) - len(part.lstrip("\n"))
        imported.leave_out(line, SECOND)
    return servers[0] if servers else text


def _script(value: Any) -> list[str] | None:
    """A text that starts a server, under whatever key, such as a step of a pipeline."""
    if isinstance(value, str):
        return [_Raw(value)] if COMMAND.search(value) else None
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for item in inner if (found := _script(item))), None)


def _words(key: str, value: Any) -> list[str]:
    flag = _flag_of(key)
    if isinstance(value, bool):
        return [flag] if value else [f"--no-{flag[2:]}"] if flag in OPTIONS or flag in REMOVED else [flag]
    if isinstance(value, list):
        return [flag, *map(str, value)] if value else []
    text = json.dumps(value) if isinstance(value, dict) else str(value)
    return [f"{flag}={text}"]


def _container(value: Any) -> list[str] | None:
    """The command of a container, in a file for Docker Compose or Kubernetes."""
    if isinstance(value, list):
        return next((found for item in value if (found := _container(item))), None)
    if not isinstance(value, dict):
        return None
    parts = [value[key] for key in ("entrypoint", "command", "args") if value.get(key)]
    if parts and all(isinstance(part, str | list) for part in parts):
        words = [str(item) for part in parts for item in (part if isinstance(part, list) else [part])]
        text = " ".join(words)
        if "vllm" in str(value.get("image", "")) or "vllm" in text or "--model" in text:
            split = [part if isinstance(part, list) else [_Raw(part)] for part in parts]
            return [str(item) if not isinstance(item, _Raw) else item for part in split for item in part]
    return next((found for item in value.values() if (found := _container(item))), None)


class _Raw(str):
    """A command as one text, whose words a shell finds."""

    __slots__ = ()


def _quoted(item: str) -> str:
    return item if isinstance(item, _Raw) else "'" + item.replace("'", "'\\''") + "'"


SERVE_COMMAND = Importer(
    "serve-command", "vllm serve: a command line, a script, or its configuration (YAML)", detect, read
)
