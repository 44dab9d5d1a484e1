"""The command of a script that starts a server, and what stands behind it."""

import re
from collections.abc import Sequence
from itertools import islice

from ..parameters import shown
from .flags import OPTIONS, REMOVED_ENVIRONMENT
from .importer import Imported, LeftOut
from .pasted import COMMAND, behind_root
from .shell import Command, Word, commands

_MODULE = re.compile(r"vllm\.entrypoints\.(openai\.)?(api_server|cli\.main)")
_IMAGE = re.compile(r"(?:[\w.-]+(?::\d+)?/)*[\w.-]*vllm[\w.-]*(?::[\w.-]+|@sha256:[0-9a-f]+)?")
_DOCKER_SWITCHES = re.compile(
    r"-[dit]+|-P|--(?:rm|init|privileged|detach|tty|interactive|read-only|publish-all|oom-kill-disable|no-healthcheck)"
)
_SCRIPT_FOLLOWS = re.compile(r"-[a-z]*c")

SECOND = "a second server is started here, only the first is read"
MANY = 20
"""So many places of a text are tried where a command could begin."""
DEEPEST = 4
"""So many shells start each other."""
LONGEST = 20_000
"""So many characters are read from there."""


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


def _first_server(found: Sequence[Command], depth: int = 0) -> tuple[list[Word] | None, list[LeftOut]]:
    """The words behind the first `vllm serve`, and what is wrong with the commands."""
    words: list[Word] | None = None
    problems: list[LeftOut] = []
    for command in _joined(found):
        first = command.words[0]
        more = _arguments_of(command, depth)
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


def _arguments_of(command: Command, depth: int) -> list[Word] | None:
    """What stands behind `vllm serve` in a command; `None` if that is not what it starts."""
    texts = [word.text for word in command.words]
    begin = begin_of(texts)
    for index, word in enumerate(command.words):
        # sh -c "vllm serve ..."
        follows = bool(index) and _SCRIPT_FOLLOWS.fullmatch(texts[index - 1])
        inside = COMMAND.search(word.text) and (follows or (begin is None and (index or command.closed)))
        words = _first_server(commands(word.text, word.line), depth + 1)[0] if inside and depth < DEEPEST else None
        if words is not None:
            return words
    return None if begin is None else command.words[begin:]


def begin_of(texts: Sequence[str]) -> int | None:
    """Where the arguments of the server begin."""
    last_run = max((index for index, text in enumerate(texts) if text == "run"), default=-1)
    for index, text in enumerate(texts):
        program = text.rpartition("/")[2].removesuffix(".exe")
        following = texts[index + 1 : index + 2]
        if program == "vllm" and following == ["serve"]:
            return index + 2
        if _MODULE.fullmatch(text):
            return index + (2 if following == ["serve"] else 1)
        if program in {"docker", "podman", "nerdctl"} and index < last_run:
            return _behind_image(texts, texts.index("run", index) + 1)
    return 0 if texts[0].startswith("--") else 1 if texts[0] == "serve" else None


def _behind_image(texts: Sequence[str], index: int) -> int | None:
    """Where the arguments of a container begin that runs vLLM's image."""
    while index < len(texts) and texts[index].startswith("-"):
        index += 1 if "=" in texts[index] or _DOCKER_SWITCHES.fullmatch(texts[index]) else 2
    if index >= len(texts):
        return None
    rest = texts[index + 1 :]
    inside = begin_of(rest) if rest else 0
    if inside is not None:
        return index + 1 + inside
    return index + 1 if _IMAGE.fullmatch(texts[index]) or "$" in texts[index] else None


def removed_environment(text: str) -> list[str]:
    """The variables that a text sets and that vLLM no longer reads."""
    return [name for name in REMOVED_ENVIRONMENT if re.search(rf"\b{name}\b[\"']?\s*[=:]", text)]
