"""A real excerpt of traffic under five budgets: time to the first token, between tokens, and tokens a second."""

from collections.abc import Mapping, Sequence

from ..cost import COST_MODELS
from ..parameters import Parameter, Value
from .charts import Series, chart
from .figure import Figure
from .forms import radios, slider
from .html import element, escape, output, table
from .traffic import BUDGETS, COST_MODEL, ROWS, Point, points
from .words import Words

NAME = "tradeoff"
BUDGET = Parameter(
    "budget",
    "choice",
    "2048",
    "Token budget of the run whose numbers are shown.",
    "显示哪一个预算下的数字。",
    choices=tuple(map(str, BUDGETS)),
)
DENSITY = Parameter(
    "density",
    "int",
    24,
    "By how much the times between arrivals are divided.",
    "到达间隔缩短的倍数。",
    minimum=1,
    maximum=32,
)
DEFAULTS: dict[str, Value] = {"budget": BUDGET.default, "density": DENSITY.default}
CHARTS: dict[str, tuple[str, ...]] = {
    "ttft": ("ttft_p99", "ttft_p50"),
    "itl": ("itl_p99", "itl_p50"),
    "rate": ("tokens_per_second",),
}
"""The charts, and in each its series, the larger one first."""


def form(words: Words) -> str:
    """The budget to look at, and how dense the traffic is."""
    profile = COST_MODELS[COST_MODEL]
    how = words.html("tradeoff.how", requests=len(ROWS), device=profile.device)
    return "".join(
        (
            element("p", {"class": "how"}, how),
            element("div", {"class": "switches"}, radios(NAME, BUDGET, BUDGET.default, words)),
            element("div", {"class": "sliders"}, slider(NAME, DENSITY, DENSITY.default, words, plays=True)),
        )
    )


def parts(values: Mapping[str, Value], words: Words) -> Sequence[str]:
    """Three charts with the chosen budget lit, its numbers, what they say, and all runs as a table."""
    density, budget = values["density"], int(str(values["budget"]))
    assert isinstance(density, int)
    runs = points(density)
    chosen = next(point for point in runs if point.budget == budget)
    drawn = [_chart(name, runs, chosen, words) for name in CHARTS]
    return (
        element("div", {"class": "charts", "data-part": "picture"}, *drawn),
        element("p", {"class": "why", "data-part": "why"}, _why(density, runs, chosen, words)),
        element("p", {"class": "simulated"}, words.html("tradeoff.simulated")),
        _table(runs, words),
    )


def _chart(name: str, runs: Sequence[Point], chosen: Point, words: Words) -> str:
    """A chart under its title, and beside the title the numbers of the chosen budget."""
    told = []
    for series in CHARTS[name]:
        value = getattr(chosen, series)
        number = output(series, value, _shown(series, value))
        unit = escape(words("tradeoff.unit" if name == "rate" else "tradeoff.ms"))
        label = words.html(f"tradeoff.{series}")
        told.append(
            element("div", {"class": f"number {series}"}, element("dt", None, label), element("dd", None, number, unit))
        )
    scale = 1 if name == "rate" else 1000
    lines = [Series(series, tuple(getattr(point, series) // scale for point in runs)) for series in CHARTS[name]]
    picture = {"class": "chart-of", "role": "img", "aria-label": _alt(name, runs, words)}
    return element(
        "section",
        {"class": f"chart-box {name}"},
        element("p", {"class": "chart-name"}, words.html(f"tradeoff.{name}")),
        element("dl", {"class": "numbers"}, *told),
        element("div", picture, chart(lines, [str(point.budget) for point in runs], runs.index(chosen))),
    )


def _shown(series: str, value: int) -> str:
    """A time in ms with one digit after the point, a rate as it is."""
    return str(value) if series == "tokens_per_second" else f"{value // 1000}.{value % 1000 // 100}"


def _alt(name: str, runs: Sequence[Point], words: Words) -> str:
    each = words("list.long").join(
        f"{point.budget}: "
        + words("list.short").join(_shown(series, getattr(point, series)) for series in reversed(CHARTS[name]))
        for point in runs
    )
    return words(f"tradeoff.{name}.alt", each=each)


def _why(density: int, runs: Sequence[Point], chosen: Point, words: Words) -> str:
    """The chosen run against the smallest budget, where it is not the same."""
    least = runs[0]
    values = {name: _shown(name, getattr(chosen, name)) for series in CHARTS.values() for name in series}
    values |= {f"{name}_least": _shown(name, getattr(least, name)) for name in ("ttft_p50", "itl_p99")}
    best = min(runs, key=lambda point: point.ttft_p50)
    case = "least" if chosen is least else "other"
    told = words.html(f"tradeoff.why.{case}", budget=chosen.budget, steps=chosen.steps, least=least.budget, **values)
    quiet = words.html("tradeoff.why.quiet" if density < 8 else "tradeoff.why.best", best=best.budget)
    return words("sentence.join").join((told, quiet))


def _table(runs: Sequence[Point], words: Words) -> str:
    names = ("ttft_p50", "ttft_p99", "itl_p50", "itl_p99", "tokens_per_second")
    titles = [words(f"tradeoff.column.{name}") for name in names]
    head = [words("tradeoff.budget"), *titles, words("tradeoff.steps")]
    rows: list[list[object]] = [
        [point.budget, *(_shown(name, getattr(point, name)) for name in names), point.steps] for point in runs
    ]
    return table(f"{NAME}-table", words("table.summary"), head, rows)


TRADEOFF = Figure(NAME, (BUDGET, DENSITY), DEFAULTS, form, parts)
