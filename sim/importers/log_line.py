"""Lines of a vLLM log: their time, their engine, and the numbers of the two kinds that repeat.

Source: `vllm/v1/metrics/loggers.py` of 0.33.0; labels of older releases are known as well. Parts of a line come and go,
so each is found by its label.
"""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from .dates import day_number
from .human import printed_number

STATS = "Avg prompt throughput:"
ITERATION = "iteration elapsed time:"

_NUMBER = r"(-?\d+(?:[.,]\d+)*)"
_LABELS = {
    "prompt_throughput": rf"Avg prompt throughput: {_NUMBER} tokens/s",
    "generation_throughput": rf"Avg generation throughput: {_NUMBER} tokens/s",
    "num_requests_running": rf"Running: {_NUMBER} reqs",
    "num_requests_waiting": rf"(?:Waiting|Pending): {_NUMBER} reqs",
    "num_requests_swapped": rf"Swapped: {_NUMBER} reqs",
    "num_requests_deferred": rf"Deferred: {_NUMBER} reqs",
    "num_preemptions": rf"Preemptions: {_NUMBER}",
    "kv_cache_usage_perc": rf"(?<!CPU )(?:[A-Z]+ )?KV cache usage: {_NUMBER}%",
    "cpu_kv_cache_usage_perc": rf"CPU KV cache usage: {_NUMBER}%",
    "prefix_cache_hit_rate": rf"(?<!External )Prefix cache hit rate: {_NUMBER}%",
    "external_prefix_cache_hit_rate": rf"External prefix cache hit rate: {_NUMBER}%",
    "mm_cache_hit_rate": rf"MM cache hit rate: {_NUMBER}%",
    "num_context_requests": rf"{_NUMBER} context requests",
    "num_context_tokens": rf"{_NUMBER} context tokens",
    "num_generation_requests": rf"{_NUMBER} generation requests",
    "num_generation_tokens": rf"{_NUMBER} generation tokens",
    "iteration_ms": rf"iteration elapsed time: {_NUMBER} ms",
}
_FOUND = {name: re.compile(pattern) for name, pattern in _LABELS.items()}
_NEEDED = {
    STATS: (
        "prompt_throughput",
        "generation_throughput",
        "num_requests_running",
        "num_requests_waiting",
        "kv_cache_usage_perc",
    ),
    ITERATION: (
        "num_context_requests",
        "num_context_tokens",
        "num_generation_requests",
        "num_generation_tokens",
        "iteration_ms",
    ),
}
_FRACTIONS = (
    "kv_cache_usage_perc",
    "cpu_kv_cache_usage_perc",
    "prefix_cache_hit_rate",
    "external_prefix_cache_hit_rate",
    "mm_cache_hit_rate",
)

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_OWN_TIME = re.compile(r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s+(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)")
_FULL_TIME = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_ENGINE = re.compile(r"\bEngine (\d{1,6}): |\b(\d+) Engines Aggregated: ")


class LogLine(NamedTuple):
    """A line with numbers: when it was written in us (`None` if it does not tell), by which engine, and they."""

    time_us: int | None
    engine: str
    values: Mapping[str, float]
    missing: tuple[str, ...]


def message_of(line: str) -> str:
    """The text of a line without colours, and out of the JSON that some logs have around it."""
    text = _COLOUR.sub("", line).strip()
    if text.startswith("{") and text.endswith("}"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        for key in ("message", "msg", "log", "line", "text"):
            if isinstance(value.get(key), str):
                time = next((str(value[name]) for name in ("timestamp", "asctime", "time", "ts") if name in value), "")
                return f"{time} {value[key]}".strip()
    return text


def numbers_of(text: str) -> LogLine | None:
    """The numbers of a line of statistics or of an iteration; `None` if it is neither."""
    kind = STATS if STATS in text else ITERATION if ITERATION in text else None
    if kind is None:
        return None
    values: dict[str, float] = {}
    for name, pattern in _FOUND.items():
        match = pattern.search(text)
        if match:
            number = printed_number(match[1])
            values[name] = round(number / 100, 6) if name in _FRACTIONS else number
    missing = tuple(name for name in _NEEDED[kind] if name not in values)
    engine = _ENGINE.search(text)
    return LogLine(time_us(text), (str(int(engine[1])) if engine[1] else "all") if engine else "", values, missing)


def time_us(text: str) -> int | None:
    """The time that a line tells, in us; without a year, as if in a leap year. `None` without a time.

    Two such times can be subtracted; over the turn of a year the difference is negative where no year is told.
    """
    match = _OWN_TIME.search(text)
    full = _FULL_TIME.search(text)
    if full is not None and (match is None or full.start() < match.start()):
        year, fraction = int(full[1]), (full[7] or "").ljust(6, "0")[:6]
        parts = full[2], full[3], full[4], full[5], full[6]
    elif match is not None:
        year, fraction = 2024, "0"
        parts = match[1], match[2], match[3], match[4], match[5]
    else:
        return None
    month, day, hour, minute, second = (int(part) for part in parts)
    days = day_number(year, month, day)
    if days is None:
        return None
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + int(fraction)
