"""A run on paper: its steps side by side, each with its frame, what happens in it, and why somebody got nothing."""

from .events import events, told
from .html import element, escape
from .moments import Moment
from .reason_words import why_nothing
from .run import Run
from .svg import Grid, cells, crosses, frame, inner_marks, labels, lane
from .timeline import colour
from .words import Words

CELL = 30


def multiples(this: Run, words: Words) -> str:
    """The list; on a screen it is not shown, because there the steps can be gone through."""
    items = [_step(this, step, words) for step in range(this.length)]
    return element("ol", {"class": "multiples", "data-part": "multiples"}, *items)


def _step(this: Run, step: int, words: Words) -> str:
    nothing = [why_nothing(moment.request_id, moment.reason or {}, words) for moment in this.left_out(step)]
    title = element("b", None, f"t{step}") + f" {this.used(step)}/{this.budget} "
    happens = escape(told(events(this, step), words))
    reasons = (element("p", {"class": "nothing"}, text) for text in nothing)
    return element("li", None, element("p", None, title, happens), _frame(this, step), *reasons)


def _frame(this: Run, step: int) -> str:
    """The budget of a step lying down, filled from the left."""
    grid, used, parts = Grid(CELL, this.budget), 0, []
    for moment in this.scheduled(step):
        parts.append(_cells(grid, moment, used))
        used += moment.got
    rest = cells("idle", grid, range(used, this.budget))
    return lane(rest, *parts, frame(grid, this.budget), width=CELL * this.budget, height=CELL)


def _cells(grid: Grid, moment: Moment, first: int) -> str:
    kept = range(first, first + moment.got - moment.rejected)
    rejected = range(kept.stop, first + moment.got)
    inner = inner_marks(grid, kept) if moment.kind == "decode" else ""
    names = labels(moment.kind, grid, [(index, moment.request_id[:2]) for index in kept])
    drawn = cells(moment.kind, grid, kept), inner, names, cells("rejected", grid, rejected), crosses(grid, rejected)
    return element("g", {"class": colour(moment)}, *drawn)
