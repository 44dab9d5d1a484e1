"""Drawings of measured steps: tokens, time with its spread, how far a model is off; and steps along a line of time."""

from collections.abc import Sequence
from typing import NamedTuple

from ..spread import Spread
from .charts import ceiling
from .html import element, escape
from .moments import Moment
from .svg import Grid, cells, inner_marks, lane

COLUMN, LEFT = 44, 52
CELL, PER_ROW, MOST_CELLS = 10, 4, 32
TOKENS, TIME, RESIDUAL = 80, 150, 64
"""Heights of the three lanes; tokens are cells where all steps have few."""
HEAD, GAP, NAME = 52, 40, 22
"""Room above the first lane, for its name and the numbers of tokens; above the others; and where names stand."""
CLIP = 500
"""Errors are drawn up to so many thousandths."""


class Bar(NamedTuple):
    """A step.

    Args:
        step: its index.
        work: the requests that got tokens.
        spread: how long it took, in us; `None` where there was no work.
        model: what the model says, in us; `None` without a model.
    """

    step: int
    work: Sequence[Moment]
    spread: Spread | None
    model: int | None

    @property
    def tokens(self) -> int:
        """Tokens of the step."""
        return sum(moment.got for moment in self.work)

    @property
    def residual(self) -> int | None:
        """By how many thousandths of the measured median the model is above it."""
        if self.spread is None or self.model is None:
            return None
        off = (self.model - self.spread.median) * 1000
        return off // self.spread.median if off >= 0 else -(-off // self.spread.median)


def lanes(bars: Sequence[Bar], selected: int, names: tuple[str, str, str]) -> str:
    """Three lanes, one column a step: tokens, time, error of the model.

    Args:
        bars: the steps.
        selected: the one that is marked.
        names: what is written above each lane.
    """
    time_top = HEAD + TOKENS + GAP
    residual_top = time_top + TIME + GAP
    height = residual_top + RESIDUAL + 4
    width = LEFT + COLUMN * len(bars)
    band = {"class": "selected", "x": LEFT + selected * COLUMN, "y": 0, "width": COLUMN, "height": height, "rx": 6}
    top = ceiling(max((bar.spread.max for bar in bars if bar.spread), default=1))
    titles = zip(names, (-6, HEAD + TOKENS, time_top + TIME), strict=True)
    return lane(
        element("rect", band),
        *(element("text", {"class": "lane-name", "x": 0, "y": y + NAME}, escape(name)) for name, y in titles),
        _tokens(bars),
        _axis(time_top, TIME, [(0, "0"), (top // 2, ms(top // 2)), (top, ms(top))], top, width),
        *(_time(bar, time_top, top) for bar in bars),
        _zero(residual_top, width),
        *(_residual(bar, residual_top) for bar in bars),
        width=width,
        height=height,
        kind="lanes",
    )


def ms(us: int) -> str:
    """A time in ms, with as many digits after the point as make sense.

    >>> [ms(us) for us in (940, 3847, 20493, 205043)]
    ['0.94', '3.85', '20.5', '205']
    """
    if us < 9_995:
        return f"{(us + 5) // 1000}.{(us + 5) % 1000 // 10:02d}"
    if us < 99_950:
        return f"{(us + 50) // 1000}.{(us + 50) % 1000 // 100}"
    return str((us + 500) // 1000)


def percent(permille: int) -> str:
    """Thousandths as percent with one digit and a sign.

    >>> percent(-83), percent(120), percent(0)
    ('−8.3', '+12.0', '0.0')
    """
    size = abs(permille)
    return f"{'−' if permille < 0 else '+' if permille else ''}{size // 10}.{size % 10}"


def _x(step: int) -> int:
    """The left edge of a column."""
    return LEFT + step * COLUMN


def _tokens(bars: Sequence[Bar]) -> str:
    most = max(bar.tokens for bar in bars)
    draw = _cells if most <= MOST_CELLS else _stack
    pieces = [draw(bar, most) for bar in bars]
    texts = [
        element("text", {"class": "count", "x": _x(bar.step) + COLUMN // 2, "y": HEAD - 6}, str(bar.tokens))
        for bar in bars
        if bar.tokens
    ]
    return element("g", {"class": "tokens", "font-size": 12, "text-anchor": "middle"}, *pieces, *texts)


def _cells(bar: Bar, most: int) -> str:
    """Each token a cell, from the bottom of the lane up."""
    del most
    grid = Grid(CELL, PER_ROW, left=_x(bar.step) + 2, top=HEAD + TOKENS - CELL, upward=True)
    pieces, used = [], 0
    for moment in bar.work:
        places = range(used, used + moment.got)
        inner = inner_marks(grid, places) if moment.kind == "decode" else ""
        pieces.append(element("g", _piece(bar.step, moment), cells(moment.kind, grid, places), inner))
        used += moment.got
    return "".join(pieces)


def _stack(bar: Bar, most: int) -> str:
    """Tokens as the height of a bar, a request above the other."""
    pieces, used = [], 0
    for moment in bar.work:
        low, high = used * TOKENS // most, (used + moment.got) * TOKENS // most
        box = {"class": f"stack {moment.kind}", "x": _x(bar.step) + 8, "y": HEAD + TOKENS - high, "width": COLUMN - 16}
        pieces.append(element("g", _piece(bar.step, moment), element("rect", box | {"height": max(high - low, 1)})))
        used += moment.got
    return "".join(pieces)


def _piece(step: int, moment: Moment) -> dict[str, object]:
    return {
        "class": "piece",
        "data-step": step,
        "data-request": moment.request_id,
        "data-tokens": moment.got,
        "data-kind": moment.kind,
    }


def _axis(y: int, height: int, marks: Sequence[tuple[int, str]], top: int, width: int) -> str:
    parts = []
    for value, text in marks:
        at = y + height - value * height // top
        parts.append(element("path", {"class": "grid-line", "d": f"M{LEFT} {at}H{width}"}))
        parts.append(element("text", {"x": LEFT - 8, "y": at + 4, "text-anchor": "end"}, escape(text)))
    return element("g", {"class": "axis", "font-size": 12}, *parts)


def _time(bar: Bar, y: int, top: int) -> str:
    """Whisker, box and median of what was measured, and a hollow diamond where the model is."""
    if bar.spread is None:
        return ""
    middle = _x(bar.step) + COLUMN // 2
    low, q1, median, q3, high = (y + TIME - value * TIME // top for value in bar.spread)
    parts = [
        element("path", {"class": "whisker", "d": f"M{middle} {low}V{high}m-5 0h10M{middle - 5} {low}h10"}),
        element("rect", {"class": "box", "x": middle - 9, "y": q3, "width": 18, "height": max(q1 - q3, 2), "rx": 2}),
        element("path", {"class": "median", "d": f"M{middle - 12} {median}h24"}),
    ]
    if bar.model is not None:
        at = y + TIME - min(bar.model, top) * TIME // top
        parts.append(element("path", {"class": "model", "d": f"M{middle - 7} {at}l7 -7l7 7l-7 7z"}))
    data = {"class": "measured", "data-step": bar.step, "data-median": bar.spread.median, "data-model": bar.model}
    return element("g", data, *parts)


def _zero(y: int, width: int) -> str:
    middle = y + RESIDUAL // 2
    texts = [
        element("text", {"x": LEFT - 8, "y": at, "text-anchor": "end"}, text)
        for at, text in ((y + 10, f"+{CLIP // 10}"), (middle + 4, "0"), (y + RESIDUAL, f"−{CLIP // 10}"))
    ]
    rule = element("path", {"class": "grid-line", "d": f"M{LEFT} {middle}H{width}"})
    return element("g", {"class": "axis", "font-size": 12}, rule, *texts)


def _residual(bar: Bar, y: int) -> str:
    residual = bar.residual
    if residual is None:
        return ""
    middle = y + RESIDUAL // 2
    size = min(abs(residual), CLIP) * RESIDUAL // (2 * CLIP)
    box = {"class": "over" if residual >= 0 else "under", "x": _x(bar.step) + 14, "width": COLUMN - 28}
    return element("rect", box | {"y": middle - size if residual >= 0 else middle, "height": max(size, 1)})


# ---------------------------------------------------------------- steps along a line of time

WIDE, STRIP = 640, 30


def strip(bars: Sequence[Bar], prompt: str, longest_us: int) -> str:
    """A run on a line of time: each step as wide as its median, those with a piece of the prompt in its colour.

    Args:
        bars: the steps.
        prompt: id of the request whose prefill is marked.
        longest_us: what the whole width stands for.
    """
    parts, at = [], 0
    for bar in bars:
        if bar.spread is None:
            continue
        x, end = at * WIDE // longest_us, (at + bar.spread.median) * WIDE // longest_us
        kind = next((moment.kind for moment in bar.work if moment.request_id == prompt), "decode")
        box = {"class": f"stack {kind}", "x": x, "y": 0, "width": max(end - x - 1, 1), "height": STRIP}
        parts.append(element("rect", box))
        at += bar.spread.median
    return lane(*parts, width=WIDE, height=STRIP, kind="strip")
