"""A timeline: one column a step, each a frame of the budget that stands upright and is filled from the top."""

from collections.abc import Sequence

from .html import element, escape
from .moments import Moment
from .svg import Grid, cells, frame, inner_marks, labels, lane

COLUMN = 106
"""Width of a step."""
CELL = 34
INDENT = (COLUMN - CELL) // 2
"""Room on the left of a frame."""
COLOURS = 3
"""So many requests have a colour of their own before colours come again."""


def timeline(steps: Sequence[Sequence[Moment]], budget: int, selected: int) -> str:
    """The drawing.

    Args:
        steps: all requests of each step, in the order in which they were scheduled.
        budget: tokens of a step, the height of each frame.
        selected: the column that is marked.
    """
    is_left_out = any(moment.why for line in steps for moment in line)
    height = (budget + (2 if is_left_out else 0)) * CELL
    band = {"class": "selected", "x": selected * COLUMN, "y": -2, "width": COLUMN, "height": height + 10, "rx": 6}
    parts = [element("rect", band)]
    parts += [_threads(steps, step) for step in range(len(steps) - 1)]
    parts += [_column(step, line, budget) for step, line in enumerate(steps)]
    return lane(*parts, width=COLUMN * len(steps), height=height, kind="timeline")


def colour(moment: Moment) -> str:
    """The class of a request's colour."""
    return f"r{moment.place % COLOURS}"


def _grid(step: int) -> Grid:
    return Grid(CELL, 1, left=step * COLUMN + INDENT)


def _column(step: int, line: Sequence[Moment], budget: int) -> str:
    grid, pieces, used = _grid(step), [], 0
    for moment in line:
        if not moment.got:
            continue
        pieces.append(_piece(grid, step, moment, used))
        used += moment.got
    left_out = [moment for moment in line if moment.why]
    hollow = [_left_out(grid, step, moment, budget + 1) for moment in left_out[:1]]
    return "".join((cells("idle", grid, range(used, budget)), *pieces, frame(grid, budget), *hollow))


def _piece(grid: Grid, step: int, moment: Moment, first: int) -> str:
    """The cells of one request in one step, its letter in each, and the count beside them."""
    indices = range(first, first + moment.got)
    x, y = grid.at(first)
    middle = y + moment.got * CELL // 2 + 6
    count = element("text", {"class": "count", "x": x + CELL + 7, "y": middle, "font-size": 18}, f"+{moment.got}")
    data = {
        "class": f"piece {colour(moment)}",
        "data-step": step,
        "data-request": moment.request_id,
        "data-tokens": moment.got,
        "data-kind": moment.kind,
    }
    inner = inner_marks(grid, indices) if moment.kind == "decode" else ""
    names = labels(moment.kind, grid, [(index, _letter(moment)) for index in indices])
    return element("g", data, cells(moment.kind, grid, indices), inner, names, count)


def _left_out(grid: Grid, step: int, moment: Moment, index: int) -> str:
    data = {
        "class": f"piece {colour(moment)}",
        "data-step": step,
        "data-request": moment.request_id,
        "data-why": moment.why,
    }
    return element("g", data, cells("wait", grid, [index]), labels("wait", grid, [(index, _letter(moment))]))


def _letter(moment: Moment) -> str:
    return moment.request_id[:2]


def _threads(steps: Sequence[Sequence[Moment]], step: int) -> str:
    """For each request that is in this step and the next, a band from one to the other."""
    here, there = _spans(steps[step]), _spans(steps[step + 1])
    x1, x2 = _grid(step).left + CELL, _grid(step + 1).left
    middle = (x1 + x2) // 2
    bands = []
    for moment in steps[step]:
        if moment.request_id not in here or moment.request_id not in there:
            continue
        (a, b), (c, d) = here[moment.request_id], there[moment.request_id]
        path = f"M{x1} {a}C{middle} {a} {middle} {c} {x2} {c}V{d}C{middle} {d} {middle} {b} {x1} {b}z"
        bands.append(element("path", {"class": f"thread {colour(moment)}", "d": path}))
    return "".join(bands)


def _spans(line: Sequence[Moment]) -> dict[str, tuple[int, int]]:
    spans, used = {}, 0
    for moment in line:
        if moment.got:
            spans[moment.request_id] = (used * CELL, (used + moment.got) * CELL)
            used += moment.got
    return spans


def chip(moment: Moment) -> str:
    """A request in a queue: its colour and its letter."""
    return element("span", {"class": f"chip {colour(moment)}"}, escape(moment.request_id))


def progress(moment: Moment, width: int) -> str:
    """A request's tokens as a bar of `width` cells: computed, computed in this step, known, not generated yet."""
    grid = Grid(20, width)
    after = moment.after
    drawing = (
        cells("done", grid, range(moment.before)),
        cells("decode" if moment.kind == "decode" else "prefill", grid, range(moment.before, after)),
        inner_marks(grid, range(moment.before, after)) if moment.kind == "decode" else "",
        cells("todo", grid, range(after, moment.known)),
        cells("future", grid, range(moment.known, moment.total)),
    )
    shapes = element("g", {"class": colour(moment)}, *drawing)
    return lane(shapes, width=20 * width, height=20, kind="progress")
