"""What of a run is seen: a page of its steps, and a page of its requests."""

from typing import NamedTuple

from .controls import ROWS
from .lanes import Lane
from .run import Run

WIDTH = 624
"""Pixels of the timeline, unless few columns need less."""
WIDEST = 52
"""Pixels of a column, at most."""
SINGLE_COLUMNS = 60
"""Up to so many steps every piece is an element of its own; more are drawn as one path a request and activity."""


class Window(NamedTuple):
    """The part that is seen.

    Args:
        first: its first step.
        steps: how many steps of the run are seen.
        columns: how many there is room for.
        lanes: the requests of its rows.
        row: place of the first of them among the requests that are there in these steps.
        num_rows: how many are there in these steps.
        has_sought: whether one more is in front of them, which is sought and not among them.
    """

    first: int
    steps: int
    columns: int
    lanes: tuple[Lane, ...]
    row: int
    num_rows: int
    has_sought: bool = False

    @property
    def last(self) -> int:
        """The last step that is seen."""
        return self.first + self.steps - 1

    @property
    def is_single(self) -> bool:
        """Whether pieces are drawn one by one."""
        return self.columns <= SINGLE_COLUMNS

    @property
    def cell(self) -> int:
        """Width of a column in units of the drawing: pixels, or 1 where columns are narrower than that."""
        return min(WIDEST, WIDTH // self.columns) if self.is_single else 1

    @property
    def width(self) -> int:
        """Width of the drawing in its units."""
        return self.columns * self.cell


def window_of(run: Run, step: int, columns: str, row: int, request: str) -> Window:
    """The page of steps with `step` in it, and the rows from `row` on of the requests that are there.

    `request`, if there is one of that name, always has a row: the first one, when it is not among them.
    """
    count = max(1, run.num_steps) if columns == "all" else int(columns)
    first = max(0, min(step - step % count, run.num_steps - 1))
    steps = min(count, run.num_steps - first)
    there = run.lanes.between(first, first + steps - 1)
    row = max(0, min(row, len(there) - ROWS))
    lanes = tuple(there[row : row + ROWS])
    has_sought = request in run.lanes.order and all(lane.spec.id != request for lane in lanes)
    if has_sought:
        lanes = (run.lanes.lanes[run.lanes.order[request]], *lanes)[:ROWS]
    return Window(first, steps, count, lanes, row, len(there), has_sought)


def beside(window: Window, run: Run) -> Window:
    """The same steps and requests of another run of them, which may have ended before."""
    steps = max(0, min(window.columns, run.num_steps - window.first))
    lanes = tuple(run.lanes.lanes[run.lanes.order[lane.spec.id]] for lane in window.lanes)
    return window._replace(steps=steps, lanes=lanes)
