"""Many runs of one scenario held against each other: what is measured of each, and which of them no other one beats."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from .config import parse_config
from .errors import ConfigError
from .parameter import shown
from .parameters import CONFIG, by_name
from .points import METRICS as COLUMNS
from .points import Point, Result, parse_axes, points_of
from .scenario import parse_scenario
from .serve_command import serve_command

CONFIG_KEYS = tuple(by_name(CONFIG))
MOST_POINTS = 200
"""Points that the page runs."""

Better = Literal[-1, 1]


class Metric(NamedTuple):
    """One number of a run.

    Args:
        name: also the end of the id of its words.
        better: 1 if more of it is better, -1 if less is.
        unit: `time` is us or steps, as the scenario has it; `rate` is tokens in a second or in 1,000 steps.
        column: of a result, with `{}` for the unit of time.
    """

    name: str
    better: Better
    unit: Literal["time", "rate", "times", "tokens", "permille"]
    column: str


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("ttft_p50", -1, "time", "ttft_{}_p50"),
        Metric("ttft_p99", -1, "time", "ttft_{}_p99"),
        Metric("itl_p50", -1, "time", "itl_{}_p50"),
        Metric("itl_p99", -1, "time", "itl_{}_p99"),
        Metric("e2e_p99", -1, "time", "e2e_{}_p99"),
        Metric("throughput", 1, "rate", "generated_tokens"),
        Metric("preemptions", -1, "times", "preemptions"),
        Metric("recomputed_tokens", -1, "tokens", "recomputed_tokens"),
        Metric("budget_used", 1, "permille", "budget_used_permille"),
    )
}
"""What can be an axis of the picture; all are columns of its table."""


class Run(NamedTuple):
    """One point, as it is drawn.

    Args:
        point: what was set.
        outcome: as in the trace, or `refused`.
        refusal: what vLLM says then, else empty.
        numbers: by name of `METRICS`, `None` where the run has no such number.
        serve: the `vllm serve` line.
    """

    point: Point
    outcome: str
    refusal: str
    numbers: dict[str, int | None]
    serve: str


def plan(texts: Sequence[str], most: int = MOST_POINTS) -> list[Point]:
    """The points of axes such as `max_num_seqs=64,128` or `max_num_seqs=8:64:8`; spaces do not count.

    Raises:
        ConfigError: none, something about these, or more than `most` points; its field is the key.
    """
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ConfigError("vary", f"{shown(texts)} is not allowed, must be a list of KEY=VALUE,VALUE,...")
    try:
        return points_of(parse_axes([text.replace(" ", "") for text in texts]), most)
    except ConfigError as error:
        raise ConfigError(error.field.removeprefix("--vary").lstrip(), error.problem) from None


def is_in_time(document: Mapping[str, Any]) -> bool:
    """Whether the numbers of a scenario's runs are in us rather than in steps."""
    return parse_scenario(document).in_time


def runs_of(document: Mapping[str, Any], points: Sequence[Point], results: Sequence[Any]) -> list[Run]:
    """The points of a sweep with what came of them.

    Args:
        document: the scenario, in the form of the contract.
        points: what was set in each run.
        results: of `run_point`, one for each.

    Raises:
        ConfigError: no scenario, a point that is none, or not as many results as points.
    """
    in_time = is_in_time(document)
    if len(points) != len(results):
        raise ConfigError("results", f"{len(results)} for {len(points)} points, must be one for each")
    for place, result in enumerate(results):
        if not isinstance(result, Mapping) or not {"outcome", *COLUMNS} <= result.keys():
            raise ConfigError(f"results[{place}]", f"{shown(result)} is not allowed, must be the result of a point")
    return [_run(document, point, result, in_time) for point, result in zip(points, results, strict=True)]


def _run(document: Mapping[str, Any], point: Point, result: Result, in_time: bool) -> Run:
    settings = {key: value for key, value in point.items() if key in CONFIG_KEYS}
    config = parse_config({**document.get("config", {}), **settings})
    numbers = {name: number(metric, result, in_time) for name, metric in METRICS.items()}
    return Run(point, result["outcome"], str(result.get("refusal", "")), numbers, serve_command(config).rstrip())


def number(metric: Metric, result: Result, in_time: bool) -> int | None:
    """One number of a run, rounded down: times in us or in steps, tokens a second or in 1,000 steps."""
    value: int = result[metric.column.format("us" if in_time else "steps")]
    if metric.unit == "rate":
        span, per = (result["duration_us"], 1_000_000) if in_time else (result["steps"], 1000)
        return value * per // span if span > 0 else None
    return None if value < 0 else value


def frontier(spots: Sequence[tuple[int, int]], better: tuple[Better, Better]) -> list[int]:
    """Places in `spots` of those that none beats: none is as good in both and better in one. Equal ones are all kept.

    Args:
        spots: two numbers of each run.
        better: for each of the two, 1 if more of it is better, -1 if less is.

    Returns:
        The places from the best in the first number to the best in the second.

    >>> frontier([(5, 5), (1, 9), (5, 6), (9, 9)], (-1, -1))
    [1, 0]
    """
    across, up = better
    ordered = sorted(range(len(spots)), key=lambda place: (-across * spots[place][0], -up * spots[place][1], place))
    kept: list[int] = []
    for place in ordered:
        if not kept or spots[place] == spots[kept[-1]] or up * spots[place][1] > up * spots[kept[-1]][1]:
            kept.append(place)
    return kept
