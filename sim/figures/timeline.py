"""A timeline: one column a step, each a frame of the budget that stands upright and is filled from the top."""

from collections.abc import Sequence
from typing import NamedTuple

from .html import element, escape
from .moments import Moment
from .svg import Grid, cells, crosses, frame, inner_marks, labels, lane, tile

COLOURS = 4
"""So many requests have a colour of their own before colours come again."""


class Layout(NamedTuple):
    """Measures of a timeline, in units of its drawing.

    Args:
        column: width of a step.
        cell: side of a token's cell.
        size: of the numbers beside the cells.
        waits: rows kept below the frames for requests that are left out; `None` for one if there is any.
        foot: height of what stands below all that.
    """

    column: int = 106
    cell: int = 34
    size: int = 18
    waits: int | None = None
    foot: int = 0

    def grid(self, step: int) -> Grid:
        """The cells of a step, one below the other."""
        return Grid(self.cell, 1, left=step * self.column + (self.column - self.cell) // 2)


class Timeline(NamedTuple):
    """A drawing that does not change from step to step but for the band over the one that is looked at."""

    body: str
    layout: Layout
    width: int
    height: int

    def at(self, selected: int) -> str:
        """The drawing with the band over a step."""
        width = self.layout.column
        band = {
            "class": "selected",
            "x": selected * width,
            "y": -2,
            "width": width,
            "height": self.height + 10,
            "rx": 6,
        }
        return lane(element("rect", band), self.body, width=self.width, height=self.height, kind="timeline")


def timeline(
    steps: Sequence[Sequence[Moment]], budget: int, layout: Layout, feet: Sequence[str] = (), columns: int = 0
) -> Timeline:
    """The drawing.

    Args:
        steps: all requests of each step, in the order in which they were scheduled.
        budget: tokens of a step, the height of each frame.
        layout: its measures.
        feet: for each step, what stands below the column, drawn from its own upper left corner.
        columns: how many there is room for, if that is more than there are steps.
    """
    is_left_out = any(moment.why for line in steps for moment in line)
    waits = int(is_left_out) if layout.waits is None else layout.waits
    body = (budget + (waits + 1 if waits else 0)) * layout.cell
    parts = [_threads(steps, step, layout) for step in range(len(steps) - 1)]
    parts += [_column(step, line, budget, layout) for step, line in enumerate(steps)]
    for step, foot in enumerate(feet):
        parts.append(element("g", {"transform": f"translate({step * layout.column} {body})"}, foot))
    return Timeline("".join(parts), layout, layout.column * max(columns, len(steps)), body + layout.foot)


def colour(moment: Moment) -> str:
    """The class of a request's colour."""
    return f"r{moment.place % COLOURS}"


def _column(step: int, line: Sequence[Moment], budget: int, layout: Layout) -> str:
    grid, pieces, used = layout.grid(step), [], 0
    for moment in line:
        if not moment.got:
            continue
        pieces.append(_piece(grid, step, moment, used, layout))
        used += moment.got
    left_out = [moment for moment in line if moment.why][: 1 if layout.waits is None else layout.waits]
    hollow = [_left_out(grid, step, moment, budget + 1 + row) for row, moment in enumerate(left_out)]
    return "".join((cells("idle", grid, range(used, budget)), *pieces, frame(grid, budget), *hollow))


def _piece(grid: Grid, step: int, moment: Moment, first: int, layout: Layout) -> str:
    """The cells of one request in one step, its letter in each, and the count beside them."""
    indices = range(first, first + moment.got)
    kept, rejected = indices[: moment.got - moment.rejected], indices[moment.got - moment.rejected :]
    x, y = grid.at(first)
    middle = y + moment.got * grid.pitch // 2 + layout.size // 3
    place = {"class": "count", "x": x + grid.pitch + layout.size // 3 + 1, "y": middle, "font-size": layout.size}
    data = {
        "class": f"piece {colour(moment)}",
        "data-step": step,
        "data-request": moment.request_id,
        "data-tokens": moment.got,
        "data-kind": moment.kind,
    }
    inner = inner_marks(grid, kept) if moment.kind == "decode" else ""
    names = labels(moment.kind, grid, [(index, _letter(moment)) for index in kept])
    drawn = (cells(moment.kind, grid, kept), inner, names, cells("rejected", grid, rejected), crosses(grid, rejected))
    return element("g", data, *drawn, element("text", place, f"+{moment.got}"))


def _left_out(grid: Grid, step: int, moment: Moment, index: int) -> str:
    data = {
        "class": f"piece {colour(moment)}",
        "data-step": step,
        "data-request": moment.request_id,
        "data-why": moment.why,
    }
    cut = ""
    if moment.why == "preempted":
        data["class"] = f"piece cut {colour(moment)}"
        x, y = grid.at(index)
        cut = element("path", {"class": "slash", "d": f"M{x - 3} {y + grid.pitch + 2}L{x + grid.pitch + 3} {y - 2}"})
    return element("g", data, cells("wait", grid, [index]), labels("wait", grid, [(index, _letter(moment))]), cut)


def _letter(moment: Moment) -> str:
    return moment.request_id[:2]


def _threads(steps: Sequence[Sequence[Moment]], step: int, layout: Layout) -> str:
    """For each request that is in this step and the next, a band from one to the other."""
    here, there = _spans(steps[step], layout.cell), _spans(steps[step + 1], layout.cell)
    x1, x2 = layout.grid(step).left + layout.cell, layout.grid(step + 1).left
    middle = (x1 + x2) // 2
    bands = []
    for moment in steps[step]:
        if moment.request_id not in here or moment.request_id not in there:
            continue
        (a, b), (c, d) = here[moment.request_id], there[moment.request_id]
        path = f"M{x1} {a}C{middle} {a} {middle} {c} {x2} {c}V{d}C{middle} {d} {middle} {b} {x1} {b}z"
        data = {"class": f"thread {colour(moment)}", "data-request": moment.request_id, "d": path}
        bands.append(element("path", data))
    return "".join(bands)


def _spans(line: Sequence[Moment], cell: int) -> dict[str, tuple[int, int]]:
    spans, used = {}, 0
    for moment in line:
        if moment.got:
            spans[moment.request_id] = (used * cell, (used + moment.got) * cell)
            used += moment.got
    return spans


def chip(moment: Moment) -> str:
    """A request in a queue: its colour, its mark and its letter."""
    data = {"class": f"chip {colour(moment)}", "data-request": moment.request_id}
    return element("span", data, mark(moment.place), escape(moment.request_id))


def mark(place: int) -> str:
    """The small mark of a request, for use beside its letter."""
    data = {"class": "tile", "viewBox": "0 0 10 10", "width": 10, "height": 10, "aria-hidden": "true"}
    return element("svg", data, element("path", {"d": tile(place, 0, 0, 10)}))


def progress(moment: Moment, width: int) -> str:
    """A request's tokens as a bar of `width` cells: computed, computed in this step, known, not generated yet.

    Rejected drafts are crossed out, as far as the request has tokens at all.
    """
    grid, after = Grid(20, width), min(moment.after, moment.total)
    kept, rejected = range(moment.before, moment.settled), range(moment.settled, after)
    drawing = (
        cells("done", grid, range(moment.before)),
        cells(moment.kind, grid, kept),
        inner_marks(grid, kept) if moment.kind == "decode" else "",
        cells("rejected", grid, rejected),
        crosses(grid, rejected),
        cells("todo", grid, range(after, moment.known)),
        cells("future", grid, range(max(moment.known, after), moment.total)),
    )
    shapes = element("g", {"class": colour(moment)}, *drawing)
    return lane(shapes, width=20 * width, height=20, kind="progress")
