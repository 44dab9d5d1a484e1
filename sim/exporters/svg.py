"""A run as one self-contained SVG: the timeline of the sandbox with what its marks mean and a caption.

Light colours, a style sheet of its own, no script, no font but a generic one, so that it looks the same anywhere.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .. import VLLM_VERSION, __version__
from ..figures.html import element, escape
from ..sandbox.lanes import Lanes
from ..sandbox.legend import LONG_MARKS, MARKS, SIDE, mark
from ..sandbox.pieces import Step
from ..sandbox.reading import read_lanes
from ..sandbox.timeline import FOOT, HEAD, ROW, band, band_place, foot, head, lane_row, marked
from ..sandbox.window import Window
from ..scenario import Scenario
from ..trace import StepRecord, Trace
from .recovered import pool_of, recover

NAMES, LONG_WIDTH, LEAST_WIDTH = 120, 1200, 640
"""Pixels for names, for a timeline in which single steps have no room, and for all beside the names at least."""
MOST_ROWS = 200
LETTERS = 14
LINE, LETTER, SMALL = 16, 8, 6
"""Height of a line of the caption, and widths of a letter, in pixels: wider than nearly all are, and about the mean."""
MOST_LINES = 6
"""Lines of an address that are written; the link behind it is whole."""
TICK = 60
"""Pixels from one number of a step to the next where single steps have no room."""
COLOURS = ("#0072b2", "#c45000", "#00795a", "#7a4fa3")
STYLE = """.cells,.long{stroke:none}.lane-row .wait{fill:none;stroke:#646d78;stroke-dasharray:3 2}
.long.waiting,.long.nothing{fill:#b9bfc7}.amount,.tick{font-weight:500}.tick{fill:#545d68}
.lane-row .amount{fill:#fff;font-weight:700}.lane-row .inner{fill:#fff}
.hatch{fill:none;stroke:#fff;stroke-width:2}.slash,.cut-line,.cross{fill:none;stroke:#b3261e;stroke-width:3}
.cross{stroke-width:1.75}.ribbon{fill:#1d2126;stroke:#fff}.selected{fill:#e6edf3}
.marked{fill:none;stroke:#0a5c94;stroke-width:1.5}.limit{fill:none;stroke:#333b45;stroke-width:1.5}
.base{fill:none;stroke:#dcd9d1}.bars{fill:#b9bfc7}.bars.blocks-used{fill:#66afa0}.bars.running{fill:#66aad1}
.bars.waiting{fill:#dc9666}.limit,.base,.cut-line{vector-effect:non-scaling-stroke}
""" + "\n".join(
    f".r{n} .prefill,.r{n} .decode,.r{n} .recompute,.r{n}.name{{fill:{colour}}}"
    f".r{n} .in-recompute{{stroke:{colour};stroke-width:4;paint-order:stroke}}"
    for n, colour in enumerate(COLOURS)
)
WORDS = {
    "prefill": "prefill",
    "decode": "decode",
    "long-prefill": "prefill",
    "long-decode": "decode",
    "recompute": "computed again",
    "wait": "gets nothing",
    "cut": "preempted",
    "cached": "prefix cache hit",
    "rejected": "drafts rejected",
}
_forbidden = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class View(NamedTuple):
    """What of a run is drawn: the `window` on its lanes, the step and the request that are marked, and the address."""

    lanes: Lanes
    window: Window
    step: int
    request: str
    address: str


class _Run(NamedTuple):
    """A run to draw, what its budget and its blocks are called, and the numbers of its steps."""

    records: Sequence[StepRecord]
    numbers: Sequence[int]
    lanes: Lanes
    budget: int
    usable_blocks: int
    names: tuple[str, str]


def svg(trace: Trace, scenario: Scenario | None = None, view: View | None = None) -> str:
    """The picture.

    Args:
        trace: of a run.
        scenario: what was run; without it budget and blocks are drawn beside the most that the trace has.
        view: what of the run is seen; without it all of it.
    """
    run = _read(trace, scenario, view)
    window = view.window if view else _whole(run)
    wide = max(window.width if window.is_single else LONG_WIDTH, LEAST_WIDTH)
    body = HEAD + ROW * len(window.lanes) + 3 * FOOT
    marks, tall = _marks(window, body + LINE, NAMES + wide)
    lines = _caption(trace, view, window, int((NAMES + wide - 20) / LETTER))
    width, height = NAMES + wide + 10, body + LINE + tall + LINE * len(lines) + 12
    parts = [
        element("style", None, STYLE),
        element("rect", {"width": width, "height": height, "fill": "#ffffff"}),
        *_names(run, window),
        *_ticks(run, window),
        _timeline(run, window, view),
        *marks,
        *_written(lines, height, view.address if view else ""),
    ]
    box = {"xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height, "viewBox": f"0 0 {width} {height}"}
    box |= {"font-family": "sans-serif", "font-size": 11, "fill": "#1d2126", "role": "img"}
    drawn = element("svg", box, element("title", None, escape(_title(trace))), *parts)
    return _forbidden.sub("\ufffd", drawn) + "\n"


def _read(trace: Trace, scenario: Scenario | None, view: View | None) -> _Run:
    if scenario:
        lanes = view.lanes if view else read_lanes(scenario, trace)
        budget, usable = scenario.config.token_budget, scenario.config.num_gpu_blocks - 1
        return _Run(trace.steps, range(len(trace.steps)), lanes, budget, usable, (f"budget {budget}", f"of {usable}"))
    recovered, run = recover(trace)
    lanes, numbers = read_lanes(recovered, run), [record.step for record in trace.steps]
    most = max(lanes.used, default=0)
    return _Run(run.steps, numbers, lanes, most, pool_of(trace), (f"tokens, most {most}", f"of {pool_of(trace)} seen"))


def _whole(run: _Run) -> Window:
    """All steps, and the first requests in their order of arrival."""
    lanes, num_steps = run.lanes.lanes, len(run.numbers)
    return Window(0, num_steps, max(1, num_steps), tuple(lanes[:MOST_ROWS]), 0, len(lanes))


def _timeline(run: _Run, window: Window, view: View | None) -> str:
    """The drawing of the page."""
    body = HEAD + ROW * len(window.lanes)
    height = body + 3 * FOOT
    seen = range(window.first, window.last + 1) if window.is_single else ()
    # Why somebody got nothing is not drawn, and a trace that was read does not tell.
    steps = [Step(run.records[n], {}) for n in seen]
    parts = [
        *([band(window, band_place(window, view.step), height), *marked(window, view.request)] if view else ()),
        *head(run.lanes, run.budget, window, [run.numbers[n] for n in seen]),
        *(lane_row(steps, lane, index, window) for index, lane in enumerate(window.lanes)),
        *foot(run.lanes, run.usable_blocks, window, body),
    ]
    box: dict[str, object] = {"x": NAMES, "width": window.width if window.is_single else LONG_WIDTH, "height": height}
    box |= {"viewBox": f"0 0 {window.width} {height}", "preserveAspectRatio": "none"}
    return element("svg", box, *parts)


def _title(trace: Trace) -> str:
    return f"{trace.name or 'run'}: {len(trace.steps)} steps, {trace.outcome}"


def _names(run: _Run, window: Window) -> Iterator[str]:
    """What the rows and the lines above and below them are."""
    right = {"x": NAMES - 8, "text-anchor": "end"}
    yield element("text", right | {"y": 38}, run.names[0])
    for index, lane in enumerate(window.lanes):
        text = lane.spec.id if len(lane.spec.id) <= LETTERS else lane.spec.id[: LETTERS - 1] + "…"
        place = right | {"y": HEAD + index * ROW + 17, "font-weight": "bold"}
        yield element("text", place | {"class": f"name r{lane.place % len(COLOURS)}"}, escape(text))
    below = (
        f"blocks {run.names[1]}",
        f"running, most {run.lanes.most_running}",
        f"waiting, most {run.lanes.most_waiting}",
    )
    for index, text in enumerate(below):
        yield element("text", right | {"y": HEAD + ROW * len(window.lanes) + index * FOOT + 28}, text)


def _ticks(run: _Run, window: Window) -> Iterator[str]:
    """Numbers of steps where single ones have no room; elsewhere they are in the drawing."""
    if window.is_single:
        return
    sizes = (size * 10**power for power in range(20) for size in (1, 2, 5))
    every = next(size for size in sizes if size * LONG_WIDTH >= TICK * window.columns)
    for index in range(0, window.steps, every):
        x, number = index * LONG_WIDTH // window.columns, str(run.numbers[window.first + index])
        if x + LETTER * len(number) <= LONG_WIDTH:
            yield element("text", {"x": NAMES + x, "y": 14, "class": "tick"}, number)


def _marks(window: Window, top: int, width: int) -> tuple[list[str], int]:
    """What the marks mean, from `top` on, and the height that they take."""
    parts, x, y = [], 10, top
    for name, drawing in MARKS if window.is_single else LONG_MARKS:
        wide = SIDE + 6 + SMALL * len(WORDS[name])
        if x + wide > width:
            x, y = 10, y + SIDE + 6
        parts += [mark(drawing, x, y), element("text", {"x": x + SIDE + 6, "y": y + 14}, WORDS[name])]
        x += wide + 14
    return parts, y - top + SIDE + 6


def _caption(trace: Trace, view: View | None, window: Window, letters: int) -> list[str]:
    """The lines below; those from the third on are the address, folded at so many letters."""
    left_out = 0 if view else window.num_rows - len(window.lanes)
    more = f"; {left_out} more requests are not drawn" if left_out else ""
    seen = f"; steps {window.first} to {window.last}, step {view.step} marked" if view else ""
    made = f"Simulated by Batchloom {__version__} after vLLM {VLLM_VERSION}."
    return [_title(trace) + seen + more, made, *_folded(view.address if view else "", letters)]


def _folded(address: str, letters: int) -> list[str]:
    lines = [address[at : at + letters] for at in range(0, len(address), letters)]
    return lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], "…"]


def _written(lines: Sequence[str], height: int, address: str) -> Iterator[str]:
    for index, line in enumerate(lines):
        place = {"x": 10, "y": height - 10 - LINE * (len(lines) - 1 - index)}
        text = element("text", place | ({"font-weight": "bold"} if index == 0 else {}), escape(line))
        yield element("a", {"href": address}, text) if index > 1 else text
