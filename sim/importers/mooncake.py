"""Mooncake traces: JSON Lines in ms, prompts as hashes of blocks of 512 tokens; equal hashes are equal tokens."""

import json
from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import Any

from ..errors import ConfigError
from ..parameters import shown
from .importer import Imported, Importer
from .rows import CONFIG, Row, Written, count_value, number_of_json, read_rows, seconds_to_ns

TIMESTAMP, INPUT, OUTPUT = FIELDS = ("timestamp", "input_length", "output_length")
ALIASES = {"created_time": TIMESTAMP, "input_tokens": INPUT, "output_tokens": OUTPUT}
"""What other readers of such files call the same."""
HASHES = "hash_ids"
HASH_TOKENS = 512
OTHER_HASH_TOKENS = (16, 32, 64, 128, 256, 1024)
"""Tokens of a hash in files made elsewhere, where the counts of hashes tell that they are not `HASH_TOKENS`."""

LOOKED_AT = 200
"""Rows from which the tokens of a hash and the unit of time are told."""

NS_PER_MS = 1_000_000
MOST_MS = 10**15

SERVER = {"max_model_len": 131072, "enable_prefix_caching": True}
"""Its prompts have up to 126,195 tokens, and many begin alike."""


def detect(head: str) -> bool:
    """Whether this begins with a row of a Mooncake trace."""
    value = _object(head.lstrip().split("\n", 1)[0])
    return value is not None and value.keys() >= set(FIELDS)


def _object(line: str) -> dict[str, Any] | None:
    """The object on a line, its fields under Mooncake's names; `None` if there is none."""
    try:
        value = json.loads(line, parse_float=number_of_json)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return {ALIASES.get(str(key), str(key)): item for key, item in value.items()}


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
    rest = iter(lines)
    first = list(islice(rest, LOOKED_AT))
    looked_at = [value for line in first if (value := _object(line))]
    # At least half have a fraction; a row that is no good has no say.
    in_seconds = (
        sum(1 if isinstance(value.get(TIMESTAMP), Written) else -1 for value in looked_at) >= 0 < len(looked_at)
    )
    imported.unit = "s" if in_seconds else "ms"
    hash_tokens = _hash_tokens(looked_at)
    if hash_tokens != HASH_TOKENS:
        imported.found["hash_tokens"] = hash_tokens
        imported.note("hashes", n=hash_tokens)
    numbered = enumerate(chain(first, rest), 1)
    read_rows(imported, numbered, rows, lambda line: _row(line, unknown, hash_tokens, in_seconds), TIMESTAMP)
    imported.unknown = list(unknown)
    return imported


def _hash_tokens(values: Iterable[Mapping[str, Any]]) -> int:
    """Tokens that a hash stands for, so that most rows have as many hashes as their prompts need."""
    pairs = [
        (value[INPUT], len(value[HASHES]))
        for value in values
        if isinstance(value.get(HASHES), list) and type(value.get(INPUT)) is int
    ]
    fits = {
        size: sum(-(-tokens // size) == count for tokens, count in pairs) for size in (HASH_TOKENS, *OTHER_HASH_TOKENS)
    }
    return max(fits, key=lambda size: fits[size])


def _row(line: str, unknown: dict[str, None], hash_tokens: int, in_seconds: bool) -> Row:
    value = _object(line)
    if value is None:
        try:
            other = json.loads(line)
        except (ValueError, RecursionError):
            raise ConfigError("", f"{shown(line.strip())} is not JSON") from None
        raise ConfigError("", f"{shown(other)} is not allowed, must be an object")
    for name in FIELDS:
        if name not in value:
            raise ConfigError(name, "missing, a row has this field")
    ns = _ns(value[TIMESTAMP], in_seconds)
    prompt_tokens = count_value(value[INPUT], INPUT, "prompt_tokens")
    output_tokens = count_value(value[OUTPUT], OUTPUT, "output_tokens")
    more = {"prefix": _prefix(value[HASHES], prompt_tokens, hash_tokens)} if HASHES in value else {}
    unknown.update(dict.fromkeys(key for key in value if key not in FIELDS and key != HASHES))
    return Row(ns, prompt_tokens, output_tokens, more)


def _ns(time: object, in_seconds: bool) -> int:
    if in_seconds and isinstance(time, int | float):
        ns = seconds_to_ns(time.text if isinstance(time, Written) else str(time))
        if ns is None:
            raise ConfigError(TIMESTAMP, f"{shown(time)} is not allowed, must be seconds such as 4.314579")
        return ns
    if type(time) is not int or not 0 <= time <= MOST_MS:
        raise ConfigError(TIMESTAMP, f"{shown(time)} is not allowed, must be an integer from 0 to {MOST_MS} (ms)")
    return time * NS_PER_MS


def _prefix(hashes: object, prompt_tokens: int, hash_tokens: int) -> list[list[str | int]]:
    """Segments of the prompt. A hash is of a whole block, or of what is left of the prompt."""
    if not isinstance(hashes, list) or any(type(item) is not int for item in hashes):
        raise ConfigError(HASHES, f"{shown(hashes)} is not allowed, must be a list of integers")
    num_blocks = -(-prompt_tokens // hash_tokens)
    if len(hashes) != num_blocks:
        problem = f"{len(hashes)} of them, must be {num_blocks}: one for each {hash_tokens} of {prompt_tokens} tokens"
        raise ConfigError(HASHES, problem)
    lengths = [hash_tokens] * (num_blocks - 1) + [prompt_tokens - hash_tokens * (num_blocks - 1)]
    return [[str(item), length] for item, length in zip(hashes, lengths, strict=True)]


MOONCAKE = Importer("mooncake", "Mooncake trace (JSON Lines, one hash for each 512 tokens)", detect, read)
