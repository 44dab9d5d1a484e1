"""The shared marks: a token is a cell, a budget is a frame of so many cells, a wait is hollow.

All coordinates are integers. Colours and textures are classes; the style sheet gives them. Cells of one kind are one
`<path>`, so that hundreds of them stay cheap.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .html import element, escape

WIDTH = 640
"""Width of every lane of cells, in units of its drawing."""
HEIGHT = 80
"""Height of every lane: two rows of large cells, four of middle ones, eight of small ones."""
OUTLINED = ("idle", "todo", "future", "rejected")
DASHED = ("wait", "barred")


class Grid(NamedTuple):
    """Where cells stand: `pitch` from one to the next, `per_row` in a row, from `left`, `top` on.

    `upward` puts the second row above the first, as where people queue at a door below.
    """

    pitch: int
    per_row: int
    left: int = 0
    top: int = 0
    upward: bool = False

    def at(self, index: int) -> tuple[int, int]:
        """The upper left corner of cell `index`."""
        return self.corners((index,))[0]

    def corners(self, indices: Iterable[int]) -> list[tuple[int, int]]:
        """The upper left corners of these cells."""
        pitch, per_row, left, top, upward = self
        down = -pitch if upward else pitch
        return [(left + index % per_row * pitch, top + index // per_row * down) for index in indices]


def grid_for(count: int) -> Grid:
    """The grid with the largest cells in which `count` of them fit a lane. Up to 32 cells their size is the same."""
    for pitch in (40, 20, 10):
        per_row = WIDTH // pitch
        if count <= per_row * (HEIGHT // pitch):
            return Grid(pitch, per_row)
    raise ValueError(f"{count} cells do not fit a lane")


def cell_data(grid: Grid, cells: Sequence[int], inset: int) -> str:
    """Path data of a square for each cell of `cells`, `inset` smaller on every side."""
    side = grid.pitch - 2 * inset
    square = f"h{side}v{side}h-{side}z"
    return "".join([f"M{x + inset} {y + inset}{square}" for x, y in grid.corners(cells)])


def cells(kind: str, grid: Grid, indices: Sequence[int]) -> str:
    """Cells of one kind as one path: `decode`, `prefill`, `done`, `todo`, `idle`, `wait`.

    Filled kinds get their round corners from a stroke in their own colour; outlined kinds are thin.
    """
    if not indices:
        return ""
    inset = max(1, grid.pitch // 8)
    data = {"class": f"cells {kind}", "d": cell_data(grid, indices, inset), "stroke-width": _stroke(kind, grid)}
    if kind in DASHED:
        data["stroke-dasharray"] = f"{max(2, grid.pitch * 3 // 20)} {max(2, grid.pitch // 8)}"
    return element("path", data)


def _stroke(kind: str, grid: Grid) -> int:
    if kind in OUTLINED or kind in DASHED:
        return 2 if grid.pitch > 10 else 1
    return max(1, grid.pitch // 10)


def inner_marks(grid: Grid, indices: Sequence[int]) -> str:
    """The mark inside a decode's cell: a light disc."""
    if not indices:
        return ""
    radius = grid.pitch * 11 // 32 if grid.pitch >= 30 else grid.pitch // 4
    half = grid.pitch // 2
    arc = f"a{radius} {radius} 0 1 0"
    disc = f"{arc} {2 * radius} 0{arc} -{2 * radius} 0"
    data = "".join([f"M{x + half - radius} {y + half}{disc}" for x, y in grid.corners(indices)])
    return element("path", {"class": "inner", "d": data})


def crosses(grid: Grid, indices: Sequence[int]) -> str:
    """The mark inside a rejected draft's cell: a cross."""
    if not indices:
        return ""
    inset = grid.pitch * 5 // 16
    side = grid.pitch - 2 * inset
    cross = f"l{side} {side}m-{side} 0l{side} -{side}"
    data = "".join([f"M{x + inset} {y + inset}{cross}" for x, y in grid.corners(indices)])
    return element("path", {"class": "cross", "d": data, "stroke-width": 2})


def of(request: str, *parts: str) -> str:
    """Parts of a drawing that show one request, or, with spaces between, several; none where there are no parts."""
    return element("g", {"data-request": request}, *parts) if any(parts) else ""


def tile(place: int, x: int, y: int, side: int) -> str:
    """Path data of the small mark of a request, which tells it from others without its colour and its letter.

    Args:
        place: of the request; a square, a triangle, two bars, a diamond, and again.
        x, y: the upper left corner.
        side: width and height, even.
    """
    half, bar = side // 2, side * 2 // 5
    shapes = (
        f"h{side}v{side}h-{side}z",
        f"v{side}h{side}z",
        f"h{side}v{bar}h-{side}zM{x} {y + side - bar}h{side}v{bar}h-{side}z",
        f"m{half} 0l{half} {half}l-{half} {half}l-{half} -{half}z",
    )
    return f"M{x} {y}{shapes[place % len(shapes)]}"


def labels(kind: str, grid: Grid, names: Sequence[tuple[int, str]]) -> str:
    """A short text in the middle of each cell; none where cells are too small to hold one."""
    if grid.pitch < 20 or not names:
        return ""
    half = grid.pitch // 2
    size = grid.pitch * 2 // 5
    down = half + size * 3 // 8
    places = grid.corners(index for index, _ in names)
    texts = [
        f'<text x="{x + half}" y="{y + down}">{escape(name)}</text>'
        for (x, y), (_, name) in zip(places, names, strict=True)
    ]
    data = {"class": f"labels {kind}{' small' if size < 12 else ''}", "font-size": size, "text-anchor": "middle"}
    return element("g", data, *texts)


def frame(grid: Grid, count: int) -> str:
    """The outline of a budget: exactly `count` cells, stepped where the last row is not full."""
    full, rest = divmod(count, grid.per_row)
    x, y, pitch = grid.left, grid.top, grid.pitch
    if not full:
        data = f"M{x} {y}h{rest * pitch}v{pitch}h-{rest * pitch}z"
    else:
        width = grid.per_row * pitch
        data = f"M{x} {y}h{width}v{full * pitch}"
        if rest:
            data += f"h-{width - rest * pitch}v{pitch}h-{rest * pitch}z"
        else:
            data += f"h-{width}z"
    return element("path", {"class": "frame", "d": data, "stroke-width": 3 if pitch >= 20 else 2})


def lane(*parts: str, width: int = WIDTH, height: int = HEIGHT, left: int = 0, kind: str = "lane") -> str:
    """A drawing of `width` by `height` units with room for the frame's stroke around it, scaled by the style sheet."""
    data = {
        "class": kind,
        "viewBox": f"{left - 2} -2 {width + 4} {height + 4}",
        "width": width + 4,
        "height": height + 4,
        "aria-hidden": "true",
        "focusable": "false",
    }
    return element("svg", data, *parts)
