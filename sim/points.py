"""What is varied: axes, their combinations, and one run with its numbers."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from .engine import simulate
from .errors import ConfigError
from .metrics import summarize
from .parameter import Parameter, Value, shown, value_of
from .parameters import CONFIG, by_name
from .scenario import parse_scenario

MAX_POINTS = 1_000_000

RATE = Parameter(
    "rate",
    "int",
    1,
    "How many times faster the requests arrive.",
    "请求到达加快多少倍。",
    minimum=1,
    maximum=1_000_000,
)

ROWS = by_name((*CONFIG, RATE))
"""What can be varied, by name."""

REFUSED = "refused"
"""The outcome of a point that vLLM refuses, or in which it stops at a failed assertion; its numbers are -1."""

TIMES = ("ttft_steps", "itl_steps", "e2e_steps", "ttft_us", "itl_us", "e2e_us")

METRICS = (
    *("requests", "finished", "steps", "idle_steps", "scheduled_tokens", "recomputed_tokens", "cached_tokens"),
    *("generated_tokens", "budget_used_permille", "preemptions", "waiting_max", "running_max", "duration_us"),
    *(f"{name}_{p}" for name in TIMES for p in ("p50", "p90", "p99")),
)
"""Columns of results, all integers; -1 where a run has no such number."""

Point = dict[str, Value]
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing that is varied: its name and the values it takes, in order."""

    name: str
    values: Sequence[Value]


def parse_axes(texts: Iterable[str]) -> list[Axis]:
    """Axes, each from `KEY=VALUE,VALUE,...` or `KEY=FIRST:LAST:STEP` with the last included.

    Raises:
        ConfigError: unknown key, a key twice, no value, a value out of range or twice.
    """
    axes: dict[str, Axis] = {}
    for text in texts:
        axis = _axis(text)
        if axis.name in axes:
            raise ConfigError(f"--vary {axis.name}", "given twice, must be given once")
        axes[axis.name] = axis
    return list(axes.values())


def _axis(text: str) -> Axis:
    name, equals, listed = text.partition("=")
    if not equals:
        raise ConfigError("--vary", f"{shown(text)} is not allowed, must be KEY=VALUE,VALUE,... or KEY=FIRST:LAST:STEP")
    if name not in ROWS:
        raise ConfigError(f"--vary {name}", f"unknown key, must be one of {', '.join(ROWS)}")
    values = tuple(ROWS[name].check(value, f"--vary {name}") for value in _values(listed, name))
    if not values or len(set(values)) < len(values):
        raise ConfigError(f"--vary {name}", f"{shown(listed)} is not allowed, must be different values")
    return Axis(name, values)


def _values(listed: str, name: str) -> Iterator[object]:
    parts = listed.split(":")
    if len(parts) != 3:
        yield from map(value_of, listed.split(","))
        return
    try:
        first, last, step = map(int, parts)
        numbers = range(first, last + (1 if step > 0 else -1), step)
    except ValueError:
        raise ConfigError(f"--vary {name}", f"{shown(listed)} is not allowed, must be FIRST:LAST:STEP") from None
    if len(numbers) > MAX_POINTS:
        raise ConfigError(f"--vary {name}", f"{len(numbers)} values are too many, at most {MAX_POINTS} are allowed")
    yield from numbers


def points_of(axes: Sequence[Axis], most: int = MAX_POINTS) -> list[Point]:
    """Every combination of the axes' values, the last axis fastest.

    Raises:
        ConfigError: more than `most`.
    """
    count = prod(len(axis.values) for axis in axes)
    if count > most:
        raise ConfigError("--vary", f"{count} points are too many, at most {most} are allowed")
    names = [axis.name for axis in axes]
    combined = itertools.product(*(axis.values for axis in axes))
    return [dict(zip(names, values, strict=True)) for values in combined]


def check_point(point: object) -> Point:
    """A point that came as JSON.

    Raises:
        ConfigError: no object, an unknown key, a value out of range.
    """
    if not isinstance(point, Mapping):
        raise ConfigError("point", f"{shown(point)} is not allowed, must be an object of keys and values")
    for name in point:
        if name not in ROWS:
            raise ConfigError(f"point.{name}", f"unknown key, must be one of {', '.join(ROWS)}")
    return {name: ROWS[name].check(value, f"point.{name}") for name, value in point.items()}


def run_point(document: Mapping[str, Any], point: Point) -> Result:
    """One run.

    Args:
        document: a scenario in the form of the contract.
        point: values of configuration keys, and `rate`.

    Returns:
        `outcome`, the numbers of `METRICS`, and `refusal`, vLLM's message, where it has one.
    """
    scenario = parse_scenario(document_at(document, point))
    trace = simulate(scenario)
    if trace.error is not None:
        message = trace.error.reason
        return {"outcome": REFUSED} | dict.fromkeys(METRICS, -1) | {"refusal": message}
    summary = summarize(trace, scenario).to_json()
    return {"outcome": trace.outcome} | {name: _number(summary, name) for name in METRICS}


def _number(summary: Mapping[str, Any], name: str) -> int:
    group, _, part = name.rpartition("_")
    value = summary[name] if name in summary else (summary[group] or {}).get(part)
    return -1 if value is None else int(value)


def document_at(document: Mapping[str, Any], point: Mapping[str, Value]) -> dict[str, Any]:
    """The scenario that is run at `point`: the same with its configuration, and with its arrivals that much faster."""
    settings = {key: value for key, value in point.items() if key != RATE.name}
    rate = int(point.get(RATE.name) or 1)
    requests = [_faster(request, rate) for request in document["requests"]]
    return {**document, "config": {**document.get("config", {}), **settings}, "requests": requests}


def _faster(request: Mapping[str, Any], rate: int) -> dict[str, Any]:
    # Steps are no time: where arrivals are in us, an abort stays at its step.
    keys = ("arrival_us",) if request.get("arrival_us") is not None else ("arrival_step", "abort_step")
    return {**request, **{key: request[key] // rate for key in keys if request.get(key) is not None}}
