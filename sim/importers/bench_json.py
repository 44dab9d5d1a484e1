"""Results of `vllm bench serve`: JSON with or without a list for each request, or the table that it prints.

Source: `vllm/benchmarks/serve.py` of 0.33.0: lists are in seconds, keys that end in `_ms` in milliseconds.
"""

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, TypeGuard

from ..errors import ConfigError
from ..parameters import MAX_ARRIVAL_US, MAX_TOKENS, shown
from .human import printed_number
from .importer import Imported, Importer
from .json_items import items
from .log_command import LogCommand
from .rows import CONFIG, plain
from .server import configure, tell_refusal

US = 1_000_000
RUN = (
    *("date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id", "num_prompts", "request_rate"),
    *("burstiness", "max_concurrency", "ramp_up_strategy", "ramp_up_start_rps", "ramp_up_end_rps", "duration"),
    *("completed", "failed", "total_input_tokens", "total_input", "total_output_tokens", "total_token_throughput"),
    *("request_throughput", "request_goodput", "request_goodput:", "output_throughput", "max_output_tokens_per_s"),
    *("max_concurrent_requests", "rtfx"),
)
LISTS = ("input_lens", "output_lens", "start_times", "ttfts", "itls", "errors", "generated_texts", "latencies")
MORE_LISTS = ("queue_times", "server_queue_times", "server_ttfts", "e2els", "tpots")
_SUMMARY = re.compile(r"(mean|median|std|p\d+(\.\d+)?|percentiles)_\w+|spec_decode_\w+")
_TABLE = re.compile(r"={3,} *Serving Benchmark Result *={3,}")
_NAMES = {
    "Successful requests": "completed",
    "Failed requests": "failed",
    "Benchmark duration": "duration",
    "Total input tokens": "total_input_tokens",
    "Total generated tokens": "total_output_tokens",
    "Request throughput": "request_throughput",
    "Output token throughput": "output_throughput",
    "Total Token throughput": "total_token_throughput",
    "Total token throughput": "total_token_throughput",
    "Maximum request concurrency": "max_concurrency",
    "Peak output token throughput": "max_output_tokens_per_s",
    "Peak concurrent requests": "max_concurrent_requests",
    "Request rate configured": "request_rate",
    "Traffic request rate": "request_rate",
}

_ROW = re.compile(
    rf"\b({'|'.join(_NAMES)}|(?:Mean|Median|Std|P[\d.]+) [\w -]+?)(?: \((\w+(?:/\w+)?)\))?:\s+(-?\d[\d.,]*)\s*$"
)


def detect(head: str) -> bool:
    """Whether this is a result of `vllm bench serve`."""
    if _TABLE.search(head):
        return True
    marks = (
        '"request_throughput"',
        '"total_input_tokens"',
        '"output_throughput"',
        '"input_lens"',
        '"num_prompts"',
        '"ttfts"',
    )
    return head.lstrip()[:1] in {"{", "["} and sum(mark in head for mark in marks) >= 2


def read(lines: Iterable[str], rows: int | None = None) -> Imported:
    """The requests of a run, by time of arrival where it tells that, and what it measured.

    Args:
        lines: the file.
        rows: how many requests to take; `None` for all.

    Raises:
        ConfigError: no result.
    """
    whole = list(lines)
    imported = Imported("bench-json", dict(CONFIG))
    if any(_TABLE.search(line) for line in whole):
        result, line = _table(whole, imported), 1
    else:
        result, line = _result(whole, imported)
    imported.found = {
        key: None if isinstance(value, float) and not isfinite(value) else value
        for key, value in result.items()
        if key in RUN or _SUMMARY.fullmatch(key)
    }
    known = (*RUN, *LISTS, *MORE_LISTS)
    imported.unknown = [key for key in result if key not in known and not _SUMMARY.fullmatch(key)]
    if isinstance(result.get("input_lens"), list) and isinstance(result.get("output_lens"), list):
        _requests(imported, result, line, rows)
    else:
        _averages(imported, result, rows)
    if result.get("max_concurrency"):
        imported.note("concurrency", n=result["max_concurrency"])
    tell_refusal(imported)
    return imported


def _result(lines: list[str], imported: Imported) -> tuple[dict[str, Any], int]:
    """The first result of a file, which may hold one a line."""
    found: tuple[dict[str, Any], int] | None = None
    why = "is empty, must hold a result of vllm bench serve"
    for item in items(lines):
        usable = isinstance(item.value, dict) and ("completed" in item.value or "input_lens" in item.value)
        if found is None and usable:
            found = item.value, item.line
        elif found is not None:
            imported.leave_out(item.line, item.why or "another result, only the first is read")
        else:
            why = f"line {item.line}: {item.why or shown(item.value) + ' is no result of vllm bench serve'}"
            imported.leave_out(item.line, item.why or "no result of vllm bench serve")
    if found is None:
        raise ConfigError("", why)
    return found


def _table(lines: list[str], imported: Imported) -> dict[str, Any]:
    """What the first printed table says, under the keys of the JSON; and a server's command beside it."""
    found: dict[str, Any] = {}
    command = LogCommand()
    tables = 0
    for number, line in enumerate(lines, 1):
        command.take(number, line.strip())
        if _TABLE.search(line):
            tables += 1
            if tables > 1:
                imported.leave_out(number, "another result, only the first is read")
        match = _ROW.search(line) if tables <= 1 else None
        if match is None:
            continue
        label, value = match[1].strip(), printed_number(match[3])
        if label in _NAMES:
            found.setdefault(_NAMES[label], value)
        elif match[2] == "ms":
            found["_".join(label.lower().split()) + "_ms"] = value
    configure(imported, command.settings(imported))
    return found


def _requests(imported: Imported, result: Mapping[str, Any], line: int, rows: int | None) -> None:
    inputs, outputs = (list(map(plain, result[key][:rows])) for key in ("input_lens", "output_lens"))
    lists = {key: value if isinstance(value := result.get(key), list) else [] for key in LISTS}
    imported.rows = len(inputs)
    found: list[tuple[int, int, int, int]] = []
    spacing = _spacing(result)
    first = min((time for time in lists["start_times"] if _is_number(time)), default=0)
    for index, (prompt, output) in enumerate(zip(inputs, outputs, strict=False)):
        error = _at(lists["errors"], index)
        start = _at(lists["start_times"], index)
        arrival = round((start - first) * US) if _is_number(start) else round(index * spacing)
        if error:
            last_line = str(error).strip().rpartition("\n")[2]
            imported.leave_out(line, f"request {index}: failed: {shown(last_line)}")
        elif not _is_count(prompt) or not _is_count(output):
            why = f"input_lens {shown(prompt)} and output_lens {shown(output)} must be integers from 1 to {MAX_TOKENS}"
            imported.leave_out(line, f"request {index}: {why}")
        elif not 0 <= arrival <= MAX_ARRIVAL_US:
            imported.leave_out(line, f"request {index}: arrives {arrival} us after the first")
        else:
            found.append((arrival, index, prompt, output))
    if len(outputs) != len(inputs):
        imported.leave_out(line, f"input_lens has {len(inputs)} entries and output_lens {len(outputs)}")
    for arrival, index, prompt, output in sorted(found):
        imported.requests.append(
            {"id": f"r{index}", "arrival_us": arrival, "prompt_tokens": prompt, "output_tokens": output}
        )
        _measured(imported, arrival, _at(lists["ttfts"], index), _at(lists["itls"], index))
    imported.unit = "s" if lists["start_times"] else ""
    _in_flight(imported)


def _spacing(result: Mapping[str, Any]) -> float:
    """Microseconds between arrivals at a steady rate; 0 for all at once."""
    try:
        rate = float(result.get("request_rate", "inf"))
    except (TypeError, ValueError):
        return 0.0
    return US / rate if rate > 1e-6 else 0.0


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else None


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 1 <= value <= MAX_TOKENS


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and isfinite(value)


def _measured(imported: Imported, arrival: int, ttft: Any, itl: Any) -> None:
    if not _is_number(ttft) or ttft <= 0:
        return
    imported.point("ttft_us", arrival, round(ttft * US))
    if isinstance(itl, list) and all(map(_is_number, itl)):
        imported.point("e2el_us", arrival, round((ttft + sum(itl)) * US))


def _in_flight(imported: Imported) -> None:
    """How many requests the client had open over time."""
    changes: dict[int, int] = {}
    for arrival, lasts in imported.series.get("e2el_us", []):
        changes[arrival] = changes.get(arrival, 0) + 1
        changes[arrival + lasts] = changes.get(arrival + lasts, 0) - 1
    open_now = 0
    for time in sorted(changes):
        open_now += changes[time]
        imported.point("num_requests_in_flight", time, open_now)


def _averages(imported: Imported, result: Mapping[str, Any], rows: int | None) -> None:
    """Requests of average length, where only totals were saved; all together they have the totals."""
    count = plain(result.get("completed"))
    total_input = plain(result.get("total_input_tokens", result.get("total_input")))
    total_output = plain(result.get("total_output_tokens"))
    if not _is_count(count) or not _is_count(total_input) or not _is_count(total_output):
        imported.note("no_lengths")
        return
    if not count <= min(total_input, total_output) or count > 1_000_000:
        imported.note("odd_lengths", n=count, prompt=total_input, output=total_output)
        return
    spacing = _spacing(result)
    imported.rows = min(count, count if rows is None else rows)
    for index in range(imported.rows):
        request = {"id": f"r{index}", "arrival_us": round(index * spacing)}
        # The division with remainder spread evenly.
        prompt = total_input * (index + 1) // count - total_input * index // count
        output = total_output * (index + 1) // count - total_output * index // count
        imported.requests.append(request | {"prompt_tokens": prompt, "output_tokens": output})
    imported.note("averages" if spacing else "averages_at_once")


BENCH_JSON = Importer("bench-json", "vllm bench serve: its result (JSON, JSON Lines, printed table)", detect, read)
