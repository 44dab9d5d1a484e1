"""`vllm serve` command lines, in scripts, containers or alone, and its configuration files in YAML."""

import re
from collections.abc import Iterable

from ..errors import ConfigError
from ..parameters import shown
from .arguments import parse_arguments
from .documents import document_words, is_document, is_list
from .importer import Imported, Importer
from .pasted import COMMAND, CONTAINER, behind_root, script_of
from .server import configure, tell_defaults, tell_refusal
from .server_line import removed_environment, server_words

MAX_WORDS = 100_000


def detect(head: str) -> bool:
    """Whether this is a command line of `vllm serve`, flags of one, or a configuration file with its arguments."""
    head = script_of(head)
    lines = [line.strip() for line in head.split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")] or behind_root(head).strip().split("\n")
    if lines[0][:1] in {"", "<"}:
        return False
    if lines[0].startswith("{") or (lines[0].startswith("[") and not re.fullmatch(r"\[\w+\]", lines[0])):
        return is_document(head)
    if lines[0].startswith("--") and not lines[0].startswith("---"):
        return True
    starts = COMMAND.search(head) or ("vllm" in head and CONTAINER.search(head))
    return is_list(head) or is_document(head) or (bool(starts) and "Avg prompt throughput" not in head)


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
    words = document_words(text, imported)
    words = server_words(text, imported) if words is None else words
    if words is None:
        raise ConfigError("1", f"{shown(text.strip())} starts no vllm serve, and sets no argument of it")
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


SERVE_COMMAND = Importer(
    "serve-command", "vllm serve: a command line, a script, or its configuration (YAML)", detect, read
)
