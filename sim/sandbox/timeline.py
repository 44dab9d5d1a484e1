"""The timeline of the sandbox: a row for each request, a column for each step, and below what the steps share.

Only what is seen is drawn: the steps of one page and the rows of one page.
"""

from collections.abc import Sequence

from ..figures.html import element, escape
from ..figures.timeline import COLOURS
from ..figures.words import Words
from .lanes import Activity, Lane, Lanes
from .pieces import Step, pieces, steps_of
from .run import Run
from .window import WIDTH, Window

HEAD, ROW, FOOT = 64, 26, 40
"""Heights of the budget above, of a request, and of each line below, in pixels; `sandbox.css` knows them too."""
ROOM = 24
"""Pixels that a number below or above a column needs."""
TALL: dict[Activity, tuple[tuple[int, int], ...]] = {
    "prefill": ((18, 4),),
    "recompute": ((7, 4), (7, 15)),
    "decode": ((10, 8),),
    "waiting": ((4, 11),),
    "nothing": ((4, 11),),
}
"""What a request does where single steps have no room: heights of its bars, and how far below the top of the row."""


def timeline(run: Run, window: Window, request: str, words: Words) -> str:
    """Names of the rows, and the drawing beside them; `request` is the one that is marked.

    The band over the step that is looked at stands at the left: `band_place` says where it belongs. So a timeline is
    the same for all steps that it shows.
    """
    body = HEAD + ROW * len(window.lanes)
    height = body + 3 * FOOT
    marks = marked(window, request)
    box: dict[str, object] = {"width": window.width if window.is_single else WIDTH, "height": height}
    box |= {"viewBox": f"0 0 {window.width} {height}", "preserveAspectRatio": "none"}
    data = box | {
        "class": "grid" if window.is_single else "grid dense",
        "data-scrub": "step",
        "data-first": window.first,
        "data-count": window.columns,
        "data-last": run.num_steps - 1,
        "role": "img",
        "aria-label": words(
            "sandbox.alt", first=window.first, last=window.last, steps=run.num_steps, requests=window.num_rows
        ),
    }
    steps = steps_of(run.trace.steps, window) if window.is_single else []
    rows = [lane_row(steps, lane, index, window) for index, lane in enumerate(window.lanes)]
    above = head(run.lanes, run.budget, window, range(window.first, window.last + 1))
    below = foot(run.lanes, run.usable_blocks, window, body)
    drawing = element("svg", data, *marks, *above, *rows, *below)
    # A drawing of its own: when only the band moves, the other is not painted again.
    under = element("svg", box | {"class": "under", "aria-hidden": "true"}, band(window, 0, height))
    return _names(run, window, words) + element("div", {"class": "drawings"}, under, drawing)


# ---------------------------------------------------------------- names beside the rows


def _names(run: Run, window: Window, words: Words) -> str:
    top = element("span", {"class": "name head"}, words.html("sandbox.lane.budget", budget=run.budget))
    below = (
        words.html("sandbox.lane.blocks", blocks=run.usable_blocks),
        words.html("sandbox.lane.running", most=run.lanes.most_running),
        words.html("sandbox.lane.waiting", most=run.lanes.most_waiting),
    )
    foot = [element("span", {"class": "name foot"}, text) for text in below]
    return element("div", {"class": "names"}, top, *(_name(lane) for lane in window.lanes), *foot)


def _name(lane: Lane) -> str:
    """A button that lights the request up."""
    data = {"type": "button", "class": f"name r{lane.place % COLOURS}", "id": f"sandbox-row-{lane.place}"}
    data |= {"data-request": lane.spec.id, "aria-pressed": "false", "title": lane.spec.id}
    return element("button", data, escape(lane.spec.id))


# ---------------------------------------------------------------- above and below the rows


def band(window: Window, x: int, height: int) -> str:
    """The band over a step, at `x`."""
    wide = window.cell if window.is_single else max(1, window.columns // 300)
    return element("rect", {"class": "selected", "x": x, "y": 0, "width": wide, "height": height})


def band_place(window: Window, step: int) -> int:
    """The `x` of the band over a step."""
    return (step - window.first) * window.cell


def marked(window: Window, request: str) -> list[str]:
    """The frame around the row of a request, if it has one."""
    places = [index for index, lane in enumerate(window.lanes) if lane.spec.id == request]
    size = {"width": window.width, "height": ROW}
    return [element("rect", {"class": "marked", "x": 0, "y": HEAD + index * ROW} | size) for index in places]


def head(lanes: Lanes, budget: int, window: Window, numbers: Sequence[int]) -> list[str]:
    """How full the budget is, and above it the `numbers` of the steps, where they have room."""
    used = lanes.used[window.first : window.last + 1]
    parts = [_bars("budget-used", used, budget, window.cell, 22, HEAD - 26)]
    parts.append(element("path", {"class": "limit", "d": f"M0 22H{window.steps * window.cell}"}))
    if not window.is_single:
        return parts
    every = 1 if window.cell >= ROOM else 5
    for index in range(0, window.steps, every):
        number = {"x": index * window.cell + window.cell // 2, "y": 14, "text-anchor": "middle", "class": "tick"}
        parts.append(element("text", number, str(numbers[index])))
    return parts + _amounts(used, window.cell, HEAD - 8)


def foot(lanes: Lanes, usable_blocks: int, window: Window, top: int) -> list[str]:
    """Blocks in use, and the lengths of both queues."""
    seen = slice(window.first, window.last + 1)
    lines: tuple[tuple[str, Sequence[int], int], ...] = (
        ("blocks-used", [usable_blocks - free for free in lanes.free[seen]], usable_blocks),
        ("running", lanes.running[seen], lanes.most_running),
        ("waiting", lanes.waiting[seen], lanes.most_waiting),
    )
    parts = []
    for index, (kind, values, most) in enumerate(lines):
        y = top + index * FOOT
        parts.append(_bars(kind, values, most, window.cell, y + 6, FOOT - 10))
        parts.append(element("path", {"class": "base", "d": f"M0 {y + FOOT - 4}H{window.steps * window.cell}"}))
        if window.is_single:
            parts += _amounts(values, window.cell, y + FOOT - 9)
    return parts


def _amounts(values: Sequence[int], cell: int, y: int) -> list[str]:
    """The numbers under or over the columns, where they have room."""
    fitting = [(index, value) for index, value in enumerate(values) if cell >= max(ROOM, 7 * len(str(value)) + 3)]
    middle = {"y": y, "text-anchor": "middle", "class": "amount"}
    return [element("text", {"x": index * cell + cell // 2} | middle, str(value)) for index, value in fitting]


def _bars(kind: str, values: Sequence[int], most: int, cell: int, top: int, height: int) -> str:
    """One bar for each step as one path, equal neighbours together; `most` fills the height."""
    data, start = [], 0
    for index in range(1, len(values) + 1):
        if index < len(values) and values[index] == values[start]:
            continue
        tall = max(1, values[start] * height // most) if values[start] and most else 0
        if tall:
            width = (index - start) * cell
            data.append(f"M{start * cell} {top + height - tall}h{width}v{tall}h-{width}z")
        start = index
    return element("path", {"class": f"bars {kind}", "d": "".join(data)})


# ---------------------------------------------------------------- one request


def lane_row(steps: Sequence[Step], lane: Lane, index: int, window: Window) -> str:
    """What the request of row `index` does in the steps that are seen; `steps` are these where they are single."""
    top = HEAD + index * ROW
    data = {"class": f"lane-row r{lane.place % COLOURS}"}
    if window.is_single:
        return element("g", data, *pieces(steps, lane, window, top))
    paths: dict[Activity, list[str]] = {}
    for first, last, activity in lane.within(window.first, window.last):
        boxes = paths.setdefault(activity, [])
        for height, below in TALL[activity]:
            wide = last - first + 1
            boxes.append(f"M{first - window.first} {top + below}h{wide}v{height}h-{wide}z")
    drawn = [element("path", {"class": f"long {kind}", "d": "".join(boxes)}) for kind, boxes in paths.items()]
    cuts = [n - window.first for n in lane.preempted if window.first <= n <= window.last]
    if cuts:
        drawn.append(element("path", {"class": "cut-line", "d": "".join(f"M{x} {top + 1}v{ROW - 2}" for x in cuts)}))
    return element("g", data | {"data-request": lane.spec.id}, *drawn)
