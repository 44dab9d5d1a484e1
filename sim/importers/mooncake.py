"""Mooncake traces: JSON Lines in ms, prompts as hashes of blocks of 512 tokens; equal hashes are equal tokens."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import ConfigError
from ..parameters import REQUEST, by_name, shown
from .importer import Imported, Importer
from .rows import CONFIG, Row, read_rows

TIMESTAMP, INPUT, OUTPUT = FIELDS = ("timestamp", "input_length", "output_length")
HASHES = "hash_ids"
HASH_TOKENS = 512
NS_PER_MS = 1_000_000
MOST_MS = 10**15

SERVER = {"max_model_len": 131072, "enable_prefix_caching": True}
"""Its prompts have up to 126,195 tokens, and many begin alike."""

_ROWS = by_name(REQUEST)


def detect(line: str) -> bool:
    """Whether this is a row of a Mooncake trace."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.keys() >= set(FIELDS)


def read(lines: Iterable[str], rows: int | None = None) -> Imported:
    """Requests by time of arrival, the first at 0; a prompt is one segment for each hash, the last one partial.

    Args:
        lines: the file.
        rows: how many rows to read; `None` for all.

    Raises:
        ConfigError: no row that can be used.
    """
    imported = Imported("mooncake", CONFIG | SERVER)
    unknown: dict[str, None] = {}
    read_rows(imported, enumerate(lines, 1), rows, lambda line: _row(line, unknown), TIMESTAMP)
    imported.unknown = list(unknown)
    return imported


def _row(line: str, unknown: dict[str, None]) -> Row:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise ConfigError("", f"{shown(line.strip())} is not JSON") from None
    if not isinstance(value, dict):
        raise ConfigError("", f"{shown(value)} is not allowed, must be an object")
    for name in FIELDS:
        if name not in value:
            raise ConfigError(name, "missing, a row has this field")
    ms = value[TIMESTAMP]
    if type(ms) is not int or not 0 <= ms <= MOST_MS:
        raise ConfigError(TIMESTAMP, f"{shown(ms)} is not allowed, must be an integer from 0 to {MOST_MS} (ms)")
    prompt_tokens, output_tokens = _count(value, INPUT, "prompt_tokens"), _count(value, OUTPUT, "output_tokens")
    more = {"prefix": _prefix(value[HASHES], prompt_tokens)} if HASHES in value else {}
    unknown.update(dict.fromkeys(key for key in value if key not in FIELDS and key != HASHES))
    return Row(ms * NS_PER_MS, prompt_tokens, output_tokens, more)


def _count(value: Mapping[str, Any], name: str, key: str) -> int:
    checked = _ROWS[key].check(value[name], name)
    assert isinstance(checked, int)
    return checked


def _prefix(hashes: object, prompt_tokens: int) -> list[list[str | int]]:
    """Segments of the prompt. A hash is of a whole block, or of what is left of the prompt."""
    if not isinstance(hashes, list) or any(type(item) is not int for item in hashes):
        raise ConfigError(HASHES, f"{shown(hashes)} is not allowed, must be a list of integers")
    num_blocks = -(-prompt_tokens // HASH_TOKENS)
    if len(hashes) != num_blocks:
        problem = f"{len(hashes)} of them, must be {num_blocks}: one for each {HASH_TOKENS} of {prompt_tokens} tokens"
        raise ConfigError(HASHES, problem)
    lengths = [HASH_TOKENS] * (num_blocks - 1) + [prompt_tokens - HASH_TOKENS * (num_blocks - 1)]
    return [[str(item), length] for item, length in zip(hashes, lengths, strict=True)]


MOONCAKE = Importer("mooncake", "Mooncake trace (JSON Lines, one hash for each 512 tokens)", detect, read)
