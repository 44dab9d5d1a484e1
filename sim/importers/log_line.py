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

_NUMBER = r"(?<![\d.,])(-?\d{1,20}(?:[.,]\d{1,20}){0,8})"
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

_COLOUR = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|(?:\x1b|\\u001b|\\x1b|\\033|\^\[)\[[0-9;?]*[A-Za-z]|\[[0-9;]{1,12}m"
)
"""Colours and titles of a terminal, also where the escape has been written out or lost."""

MOST = 1e15
"""No number of a server is as large."""

_OWN_TIME = re.compile(r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s+(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)")
_SYSLOG_TIME = re.compile(r"^(?:<\d+>)?([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d)\b")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FULL_TIME = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_ENGINE = re.compile(r"\bEngine (\d{1,6}): |\b(\d+) Engines Aggregated: ")


_PIECE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^][(){}'"]+|.""", re.DOTALL)
_BEFORE_SPECULATION = re.compile(r"\bspeculative_config(?:=|': *)\w*$")


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


def arguments_of(text: str) -> tuple[str, str]:
    """Arguments as Python prints them, without what stands in brackets within them, and those of speculation.

    Args:
        text: what follows the bracket before the first of them.
    """
    arguments: list[str] = []
    speculative: list[str] = []
    depth, inside = 0, False
    for match in _PIECE.finditer(text):
        piece = match[0]
        depth += (piece in "([{") - (piece in ")]}")
        if depth < 0:
            break
        if depth == 1 and piece in "([{":
            inside = bool(_BEFORE_SPECULATION.search("".join(arguments[-3:])))
        if depth == 0:
            arguments.append(piece)
        elif inside:
            speculative.append(piece)
    return "".join(arguments), "".join(speculative)


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
            if number > MOST:
                continue
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
    elif (syslog := _SYSLOG_TIME.match(text)) and syslog[1] in _MONTHS:
        year, fraction = 2024, "0"
        parts = str(_MONTHS.index(syslog[1]) + 1), syslog[2], syslog[3], syslog[4], syslog[5]
    else:
        return None
    month, day, hour, minute, second = (int(part) for part in parts)
    days = day_number(year, month, day)
    if days is None:
        return None
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + int(fraction)
