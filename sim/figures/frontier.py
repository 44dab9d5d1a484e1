"""A sweep as a picture: runs over two numbers, with the frontier through those that none beats; and as a table."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import ConfigError
from ..frontier import METRICS, Metric, Run, frontier, is_in_time, runs_of
from ..parameter import Value, shown
from ..points import Point, Result
from .html import element, escape
from .scatter import Scale, Spot, place_scale, round_scale, scatter
from .words import Words

VARIED = "varied"
"""The name of the key that is varied, as a choice of x."""


class View(NamedTuple):
    """How a sweep is shown.

    Args:
        words: in which language.
        in_time: its numbers are in us, not in steps.
        picked: the point that is marked.
        opens: whether points are buttons; a file has nothing that they could open.
    """

    words: Words
    in_time: bool
    picked: Point | None = None
    opens: bool = True


def draw_frontier(
    document: Mapping[str, Any],
    points: Sequence[Point],
    results: Sequence[Result],
    x: str,
    y: str,
    words: Words,
    picked: Point | None = None,
) -> str:
    """Picture and table of a sweep.

    Args:
        document: the scenario, in the form of the contract.
        points: what was set in each run.
        results: of `run_point`, one for each.
        x: a name of `frontier.METRICS`, or, of one axis, `varied` for its key.
        y: a name of `frontier.METRICS`.
        words: in which language.
        picked: the point that is marked.

    Returns:
        HTML. A button carries its point in `data-set`.

    Raises:
        ConfigError: see `frontier.runs_of`; another x or y.
    """
    runs = runs_of(document, points, results)
    view = View(words, is_in_time(document), picked)
    return draw_chart(runs, x, y, view) + draw_table(runs, view)


def draw_chart(runs: Sequence[Run], x: str, y: str, view: View) -> str:
    """The picture, what it says in a sentence, and which runs are not in it, and why.

    Raises:
        ConfigError: another x or y.
    """
    _check(runs, x, y)
    drawn = [run for run in runs if _why_not(run, x, y, view.words) is None]
    told, picture = view.words.html("sweep.told.none"), ""
    if drawn:
        told, picture = (_over_key if x == VARIED else _over_metric)(drawn, x, y, view)
        region = {"class": "scroll", "id": f"sweep-{x}-{y}", "tabindex": 0, "role": "region"}
        picture = element("div", region | {"aria-label": view.words("sweep.chart")}, picture)
    return element("p", {"class": "sweep-told"}, told) + picture + _left_out(runs, x, y, view.words)


def _check(runs: Sequence[Run], x: str, y: str) -> None:
    has_one_key = bool(runs) and len(runs[0].point) == 1
    allowed = {"x": (*METRICS, VARIED) if has_one_key else tuple(METRICS), "y": tuple(METRICS)}
    for field, name in (("x", x), ("y", y)):
        if name not in allowed[field]:
            raise ConfigError(field, f"{shown(name)} is not allowed, must be one of {', '.join(allowed[field])}")


def _why_not(run: Run, x: str, y: str, words: Words) -> str | None:
    """Why a run is not in the picture, if it is not."""
    if run.outcome == "finished" and any(run.numbers[name] is None for name in (x, y) if name != VARIED):
        return words.html("sweep.no.number")
    return _failure(run, words)


def _failure(run: Run, words: Words) -> str | None:
    """Why a run did not come to its end, if it did not."""
    if run.refusal:
        return words.html("sweep.refused", message=run.refusal)
    return None if run.outcome == "finished" else words.html("sweep.unfinished", outcome=run.outcome)


def _over_metric(runs: Sequence[Run], x: str, y: str, view: View) -> tuple[str, str]:
    """Two numbers against each other: the sentence and the picture."""
    values = [(run.numbers[x] or 0, run.numbers[y] or 0) for run in runs]
    line = frontier(values, (METRICS[x].better, METRICS[y].better))
    names = {"x": view.words(f"sweep.metric.{x}"), "y": view.words(f"sweep.metric.{y}")}
    told = _told_frontier(runs, values, line, names, view.words)
    spots = [
        _spot(run, across, up, (x, y), "kept" if place in line else "beaten", view)
        for place, (run, (across, up)) in enumerate(zip(runs, values, strict=True))
    ]
    scales = [_scale(METRICS[name], [pair[place] for pair in values], view) for place, name in enumerate((x, y))]
    return told, scatter(scales[0], scales[1], spots, line, view.words("sweep.alt", n=len(runs), **names))


def _told_frontier(
    runs: Sequence[Run], values: Sequence[tuple[int, int]], line: Sequence[int], names: Mapping[str, str], words: Words
) -> str:
    """Where each of two numbers is best; where one run is best in both there is nothing to trade."""
    ends = [[place for place in line if values[place] == values[end]] for end in (line[0], line[-1])]
    (first, equal), (last, _) = (_cheapest(runs, places, words) for places in ends)
    if ends[0] == ends[1]:
        return words.html("sweep.told.both", n=len(runs), best=_settings(first.point), **names) + equal
    told = {"kept": len(line), "n": len(runs), "first": _settings(first.point), "last": _settings(last.point)}
    return words.html("sweep.told", **told, **names)


def _cheapest(runs: Sequence[Run], places: Sequence[int], words: Words) -> tuple[Run, str]:
    """Of runs with equal numbers the one to name, and a sentence that counts the others.

    Blocks cost memory: the one with the fewest is named, else the first.
    """
    named = min(places, key=lambda place: _num_blocks(runs[place].point))
    others = len(places) - 1
    return runs[named], words("sentence.join") + words.html("sweep.told.equal", n=others) if others else ""


def _num_blocks(point: Point) -> int:
    value = point.get("num_gpu_blocks")
    return value if isinstance(value, int) else 0


def _over_key(runs: Sequence[Run], _: str, y: str, view: View) -> tuple[str, str]:
    """One number for each value of the key: the sentence and the picture."""
    (key,) = runs[0].point
    values = [run.numbers[y] or 0 for run in runs]
    best = (max if METRICS[y].better > 0 else min)(values)
    first, equal = _cheapest(runs, [place for place, value in enumerate(values) if value == best], view.words)
    names = {"x": key, "y": view.words(f"sweep.metric.{y}")}
    told = view.words.html("sweep.told.varied", best=_label(first.point), **names) + equal
    spots = [_spot(run, place, values[place], (y,), "kept", view) for place, run in enumerate(runs)]
    across, up = place_scale(key, [_label(run.point) for run in runs]), _scale(METRICS[y], values, view)
    return told, scatter(across, up, spots, range(len(runs)), view.words("sweep.alt", n=len(runs), **names))


def _scale(metric: Metric, values: Sequence[int], view: View) -> Scale:
    title = view.words(f"sweep.axis.{'more' if metric.better > 0 else 'less'}", head=_head(metric, view))
    return round_scale(title, values, lambda value: _tick(metric, value, view))


def _spot(run: Run, x: int, y: int, names: Sequence[str], kind: str, view: View) -> Spot:
    numbers = [_told(METRICS[name], run, view) for name in names]
    numbers += [view.words("sweep.kept")] if kind == "kept" and len(names) > 1 else []
    name = f"{_settings(run.point)}: {view.words('list.long').join(numbers)}"
    data: dict[str, object] = {"role": "img"}
    if view.opens:
        data = {"role": "button", "tabindex": 0, "data-set": json.dumps(run.point)}
    if view.picked == run.point:
        data["aria-current"] = "true"
    label = _label(run.point) if len(names) > 1 else _shown(METRICS[names[0]], run.numbers[names[0]], view)
    return Spot(x, y, label, name, kind, data)


def _told(metric: Metric, run: Run, view: View) -> str:
    unit = view.words(_unit(metric, view.in_time))
    return f"{view.words(f'sweep.metric.{metric.name}')} {_shown(metric, run.numbers[metric.name], view)} {unit}"


# ---------------------------------------------------------------- below the picture


def _left_out(runs: Sequence[Run], x: str, y: str, words: Words) -> str:
    reasons = [(run, _why_not(run, x, y, words)) for run in runs]
    items = [
        element("li", None, element("code", None, escape(_settings(run.point))), " ", why)
        for run, why in reasons
        if why is not None
    ]
    if not items:
        return ""
    head = element("p", None, words.html("sweep.left_out", n=len(items)))
    return element("div", {"class": "sweep-left-out"}, head, element("ul", None, *items))


def draw_table(runs: Sequence[Run], view: View) -> str:
    """All runs with all their numbers and their `vllm serve` lines."""
    words = view.words
    keys = list(runs[0].point) if runs else []
    heads = [*keys, *(_head(metric, view) for metric in METRICS.values()), words("sweep.serve")]
    cells = [element("th", {"scope": "col"}, escape(head)) for head in heads]
    if view.opens:
        cells.append(element("td"))
    body = element("tbody", None, *(_row(run, view) for run in runs))
    region = {"class": "scroll sweep-table", "id": "sweep-table", "tabindex": 0, "role": "region"}
    inner = element("table", None, element("thead", None, element("tr", None, *cells)), body)
    return element("div", region | {"aria-label": words("sweep.table", n=len(runs))}, inner)


def _row(run: Run, view: View) -> str:
    first, *rest = (_text(value) for value in run.point.values())
    cells = [element("th", {"scope": "row"}, escape(first)), *(element("td", None, escape(value)) for value in rest)]
    failure = _failure(run, view.words)
    if failure is None:
        numbers = [_shown(metric, run.numbers[metric.name], view) for metric in METRICS.values()]
        cells += [element("td", None, escape(number)) for number in numbers]
    else:
        cells.append(element("td", {"colspan": len(METRICS)}, failure))
    cells.append(element("td", None, element("code", {"class": "sweep-serve", "translate": "no"}, escape(run.serve))))
    if view.opens:
        label = view.words("sweep.open")
        name = f"{label}: {_settings(run.point)}"
        data = {"type": "button", "class": "point", "data-set": json.dumps(run.point), "aria-label": name}
        cells.append(element("td", None, element("button", data, escape(label))))
    return element("tr", {"aria-current": "true" if view.picked == run.point else None}, *cells)


# ---------------------------------------------------------------- values and units


def _text(value: Value) -> str:
    return value if isinstance(value, str) else shown(value)


def _label(point: Point) -> str:
    return " · ".join(map(_text, point.values()))


def _settings(point: Point) -> str:
    return ", ".join(f"{key} = {_text(value)}" for key, value in point.items())


def _unit(metric: Metric, in_time: bool) -> str:
    depends = metric.unit in ("time", "rate")
    return f"sweep.unit.{metric.unit}" + (("_us" if in_time else "_steps") if depends else "")


def _head(metric: Metric, view: View) -> str:
    unit = view.words(_unit(metric, view.in_time))
    return view.words("sweep.head", metric=view.words(f"sweep.metric.{metric.name}"), unit=unit)


def _shown(metric: Metric, value: int | None, view: View) -> str:
    """A number in its unit, times in ms and shares in percent with one digit after the point."""
    if value is None:
        return "–"
    if metric.unit == "permille":
        return f"{value // 10}.{value % 10}"
    return f"{value // 1000}.{value % 1000 // 100}" if metric.unit == "time" and view.in_time else str(value)


def _tick(metric: Metric, value: int, view: View) -> str:
    """A round number in its unit, without zeros behind the point."""
    if metric.unit == "permille" or (metric.unit == "time" and view.in_time):
        digits = 1 if metric.unit == "permille" else 3
        whole, part = divmod(value, 10**digits)
        return f"{whole}.{part:0{digits}}".rstrip("0").rstrip(".")
    return str(value)
