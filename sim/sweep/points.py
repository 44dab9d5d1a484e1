"""What a sweep runs: axes, their combinations, and one run with its numbers."""

import hashlib
import itertools
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..engine import simulate
from ..errors import ConfigError
from ..metrics import summarize
from ..parameter import Parameter, Value, shown, value_of
from ..parameters import CONFIG, by_name
from ..scenario import parse_scenario

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
"""What can be varied beside the keys of a configuration."""

REFUSED = "refused"
"""The outcome of a point whose configuration vLLM refuses; its numbers are -1."""

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
    values: tuple[Value, ...]


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
    rows = by_name((*CONFIG, RATE))
    if not equals:
        raise ConfigError("--vary", f"{shown(text)} is not allowed, must be KEY=VALUE,VALUE,... or KEY=FIRST:LAST:STEP")
    if name not in rows:
        raise ConfigError(f"--vary {name}", f"unknown key, must be one of {', '.join(rows)}")
    values = tuple(rows[name].check(value, f"--vary {name}") for value in _values(listed, name))
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


def points_of(axes: Sequence[Axis], replicas: int) -> list[Point]:
    """Every combination of the axes' values, the last axis fastest, each with `replica` 0, 1, ...

    Raises:
        ConfigError: more than `MAX_POINTS`.
    """
    count = replicas
    for axis in axes:
        count *= len(axis.values)
    if count > MAX_POINTS:
        raise ConfigError("--vary", f"{count} points are too many, at most {MAX_POINTS} are allowed")
    names = [*(axis.name for axis in axes), "replica"]
    combined = itertools.product(*(axis.values for axis in axes), range(replicas))
    return [dict(zip(names, values, strict=True)) for values in combined]


def run_point(document: Mapping[str, Any], point: Point) -> Result:
    """One run.

    Args:
        document: a scenario in the form of the contract.
        point: values of configuration keys, `rate`, and `replica`. Replica 0 is the scenario as it is; in the others
            the same arrivals get the requests in another order, by a generator seeded with the number.

    Returns:
        `outcome` and the numbers of `METRICS`.
    """
    settings = {key: value for key, value in point.items() if key not in ("replica", "rate")}
    requests = _requests(document["requests"], int(point.get("rate") or 1), int(point["replica"] or 0))
    config = {**document.get("config", {}), **settings}
    scenario = parse_scenario({**document, "config": config, "requests": requests})
    trace = simulate(scenario)
    if trace.error is not None:
        return {"outcome": REFUSED} | dict.fromkeys(METRICS, -1)
    summary = summarize(trace, scenario).to_json()
    return {"outcome": trace.outcome} | {name: _number(summary, name) for name in METRICS}


def _number(summary: Mapping[str, Any], name: str) -> int:
    group, _, part = name.rpartition("_")
    value = summary[name] if name in summary else (summary[group] or {}).get(part)
    return -1 if value is None else int(value)


def _requests(requests: Sequence[Mapping[str, Any]], rate: int, replica: int) -> list[dict[str, Any]]:
    arrival_keys = ("arrival_step", "arrival_us", "abort_step")
    bodies = [{key: value for key, value in request.items() if key not in arrival_keys} for request in requests]
    if replica:
        random.Random(replica).shuffle(bodies)  # noqa: S311 - chance by a known seed
    result = []
    for request, body in zip(requests, bodies, strict=True):
        times = {key: request[key] for key in arrival_keys if request.get(key) is not None}
        # Steps are no time: where arrivals are in us, an abort stays at its step.
        faster = {
            key: value // rate for key, value in times.items() if key != "abort_step" or "arrival_us" not in times
        }
        result.append(body | times | faster)
    return result


def key_of(document: Mapping[str, Any], points: Iterable[Point]) -> str:
    """What tells one sweep from another: a digest of its scenario and points."""
    text = json.dumps([document, list(points)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
