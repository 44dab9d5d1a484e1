"""Measured beside simulated: running, waiting and KV cache over time, from a log or from metrics, and from a run."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..engine import simulate
from ..scenario import Scenario
from ..trace import Trace
from .charts import ceiling
from .html import element, escape
from .svg import lane
from .words import Words

WIDTH, HEIGHT = 460, 140
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 26
MOST_POINTS = 320
"""So many points a line has at most: of each stretch the highest, so that no peak is lost."""

SECOND_US = 1_000_000
CHARTS = (
    ("running", "num_requests_running", 1),
    ("waiting", "num_requests_waiting", 1),
    ("kv", "kv_cache_usage_perc", 100),
)
"""Each with the series that it shows, and what its values are multiplied by."""


class Line(NamedTuple):
    """A line: its class, and points of a time in us and a value."""

    name: str
    points: list[tuple[int, int]]


def draw_beside(scenario: Scenario, series: Mapping[str, Sequence[Sequence[Any]]], words: Words) -> str:
    """One chart for each of `CHARTS`; times count from the first of either side.

    Args:
        scenario: what is simulated; without requests only what was measured is drawn.
        series: what was measured, by name.
        words: in which language.
    """
    trace = simulate(scenario) if scenario.requests else None
    drawn = []
    for name, key, factor in CHARTS:
        lines = [Line("measured", points) for points in _measured(series, key, factor)]
        if trace is not None and trace.error is None and trace.steps:
            lines.append(Line("simulated", _simulated(trace, scenario, name)))
        if lines:
            drawn.append(_chart(name, [Line(line.name, _thinned(line.points)) for line in lines], words))
    if trace is not None and trace.error is not None:
        drawn.insert(0, element("p", None, escape(trace.error.message)))
    elif trace is not None and not scenario.in_time:
        drawn.insert(0, element("p", None, words.html("import.steps")))
    return "".join(drawn)


def _measured(series: Mapping[str, Sequence[Sequence[Any]]], key: str, factor: int) -> list[list[tuple[int, int]]]:
    """The series of that name; with labels there is one for each engine."""
    return [
        [(int(time), round(value * factor)) for time, value in points]
        for name, points in series.items()
        if name == key or name.startswith(key + "{")
    ]


def _simulated(trace: Trace, scenario: Scenario, name: str) -> list[tuple[int, int]]:
    usable = max(1, scenario.config.num_gpu_blocks - 1)
    points = []
    for record in trace.steps:
        time = record.step * SECOND_US if record.start_us is None else record.start_us
        if name == "kv":
            value = round(100 * (usable - record.free_blocks) / usable)
        else:
            value = len(record.running if name == "running" else record.waiting)
        points.append((time, value))
    return points


def _thinned(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    stretch = -(-len(points) // MOST_POINTS)
    return [max(points[at : at + stretch], key=lambda point: point[1]) for at in range(0, len(points), stretch)]


def _chart(name: str, lines: Sequence[Line], words: Words) -> str:
    last = max(1, *(time for line in lines for time, _ in line.points))
    top = ceiling(max(1, *(value for line in lines for _, value in line.points)))
    parts = []
    for value in (0, top):
        y = _y(value, top)
        parts.append(element("path", {"class": "grid-line", "d": f"M{LEFT} {y}H{WIDTH - RIGHT}"}))
        parts.append(element("text", {"x": LEFT - 6, "y": y + 4, "text-anchor": "end"}, str(value)))
    for time, anchor in ((0, "start"), (last, "end")):
        x = LEFT if time == 0 else WIDTH - RIGHT
        text = words("import.seconds", n=f"{time / SECOND_US:.3g}")
        parts.append(element("text", {"x": x, "y": HEIGHT - 6, "text-anchor": anchor}, escape(text)))
    for line in lines:
        path = "M" + "L".join(f"{_x(time, last)} {_y(value, top)}" for time, value in line.points)
        parts.append(element("path", {"class": f"beside-{line.name}", "d": path}))
    drawing = lane(element("g", {"font-size": 12}, *parts), width=WIDTH, height=HEIGHT, kind="chart")
    peaks = [words("import.peak." + line.name, n=max(value for _, value in line.points)) for line in lines]
    title = element(
        "figcaption", None, element("b", None, escape(words(f"import.chart.{name}"))), " ", escape(" ".join(peaks))
    )
    return element("figure", {"data-chart": name}, title, drawing)


def _x(time: int, last: int) -> int:
    return LEFT + (WIDTH - LEFT - RIGHT) * time // last


def _y(value: int, top: int) -> int:
    return TOP + (HEIGHT - TOP - BOTTOM) * (top - value) // top
