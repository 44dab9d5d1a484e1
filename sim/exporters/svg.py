"""A run as one self-contained SVG: a row a request, a column a step, the budget above, a caption below.

Light colours as attributes, no style sheet, no script, no font but a generic one, so that it looks the same anywhere.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .. import VLLM_VERSION, __version__
from ..figures.html import element, escape
from ..sandbox.reading import read_lanes
from ..scenario import Scenario
from ..trace import StepRecord, Trace

COLOURS = ("#0072b2", "#c45000", "#00795a", "#7a4fa3")
ROW, HEAD, NAMES, WIDEST, NARROWEST = 22, 44, 120, 32, 1
WIDTH = 1200
"""Pixels for all columns, unless there are more steps than that."""
MOST_ROWS = 200
LETTERS = 14
LINE, LETTER = 15, 8
"""Height of a line of the caption, and width of one of its letters, in pixels; wider than nearly all are."""
MOST_LINES = 6
"""Lines of an address that are written; the link behind it is whole."""
HATCHED = 8
"""Pixels of a step from which on strokes can be told apart."""
INK, PALE, ALARM = "#1d2126", "#b9bfc7", "#b3261e"


class Part(NamedTuple):
    """What of a run is drawn: steps `first` to `last`, the requests of `ids`; the address under which it is seen."""

    first: int
    last: int
    ids: Sequence[str]
    address: str


def svg(trace: Trace, scenario: Scenario | None = None, part: Part | None = None) -> str:
    """The picture.

    Args:
        trace: of a run.
        scenario: what was run; without it decodes and prefills look alike and no budget is drawn.
        part: the part of the run that is wanted; without it all of it.
    """
    steps = trace.steps if part is None else [trace.steps[n] for n in range(part.first, part.last + 1)]
    ids = part.ids if part else _ids(trace, scenario)
    shown, cell = ids[:MOST_ROWS], max(NARROWEST, min(WIDEST, WIDTH // max(len(steps), 1)))
    width = NAMES + max(cell * len(steps), 480) + 10
    address = _wrapped(part.address, int((width - 20) / LETTER)) if part else []
    height = HEAD + ROW * len(shown) + 55 + LINE * len(address)
    rows = {request_id: index for index, request_id in enumerate(shown)}
    prompts = {spec.id: spec.prompt_tokens for spec in scenario.requests} if scenario else {}
    parts = [
        element("rect", {"width": width, "height": height, "fill": "#ffffff"}),
        *_budget(steps, scenario, cell),
        *(_name(request_id, index) for request_id, index in rows.items()),
        *(piece for at, record in enumerate(steps) for piece in _pieces(record, at, rows, prompts, cell)),
        *_hatches(trace, scenario, steps, rows, cell),
        *_caption(trace, len(ids) - len(shown), part, address, height),
    ]
    box = {"xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height, "viewBox": f"0 0 {width} {height}"}
    box |= {"font-family": "sans-serif", "font-size": 11, "fill": INK, "role": "img"}
    return element("svg", box, element("title", None, escape(_title(trace))), *parts) + "\n"


def _ids(trace: Trace, scenario: Scenario | None) -> list[str]:
    if scenario is not None:
        return [spec.id for spec in scenario.requests]
    return sorted({request_id for record in trace.steps for request_id in _there(record)})


def _there(record: StepRecord) -> set[str]:
    return {*record.running, *record.waiting, *record.preempted}


def _title(trace: Trace) -> str:
    return f"{trace.name or 'run'}: {len(trace.steps)} steps, {trace.outcome}"


def _name(request_id: str, index: int) -> str:
    text = request_id if len(request_id) <= LETTERS else request_id[: LETTERS - 1] + "…"
    place = {"x": NAMES - 8, "y": HEAD + index * ROW + 15, "text-anchor": "end", "fill": COLOURS[index % len(COLOURS)]}
    return element("text", place | {"font-weight": "bold"}, escape(text))


def _budget(steps: Sequence[StepRecord], scenario: Scenario | None, cell: int) -> Iterator[str]:
    """A bar a step under the line of the full budget, and the numbers of the steps where there is room."""
    every = next(n for n in (1, 5, 10, 50, 100, 500, 1_000, 10_000, len(steps) + 1) if n * cell >= 24)
    for at in range(0, len(steps), every):
        place = {"x": NAMES + at * cell + cell // 2, "y": 11, "text-anchor": "middle", "fill": "#545d68"}
        yield element("text", place, str(steps[at].step))
    if scenario is None:
        return
    budget = scenario.config.token_budget
    bars = []
    for at, record in enumerate(steps):
        tall = -(-sum(record.scheduled.values()) * 22 // budget)
        if tall:
            bars.append(f"M{NAMES + at * cell} {38 - tall}h{cell}v{tall}h-{cell}z")
    yield element("path", {"d": "".join(bars), "fill": PALE})
    yield element("path", {"d": f"M{NAMES} 16h{cell * len(steps)}", "stroke": INK, "stroke-dasharray": "3 2"})
    yield element("text", {"x": NAMES - 8, "y": 30, "text-anchor": "end"}, escape(f"budget {budget}"))


def _pieces(record: StepRecord, at: int, rows: dict[str, int], prompts: dict[str, int], cell: int) -> Iterator[str]:
    """A filled cell for tokens, with a dot for a decode and a number where there is room; an outline for a wait."""
    x, gap = NAMES + at * cell, 1 if cell > 3 else 0
    for request_id in (*record.running, *record.waiting):
        if request_id not in rows:
            continue
        index = rows[request_id]
        colour, y = COLOURS[index % len(COLOURS)], HEAD + index * ROW + 3
        num_tokens = record.scheduled.get(request_id, 0)
        if not num_tokens:
            lost = request_id in record.preempted
            line = {"x": x + gap, "y": y + 5, "width": cell - gap, "height": 6, "fill": ALARM if lost else "none"}
            yield element("rect", line | {"stroke": ALARM if lost else colour, "stroke-width": 1 if cell > 3 else 0})
            continue
        yield element("rect", {"x": x + gap, "y": y, "width": cell - gap, "height": 16, "fill": colour})
        start = record.computed[request_id] - num_tokens
        is_decode = request_id in prompts and start >= prompts[request_id] and request_id not in record.resumed
        if request_id in record.cached and cell >= 8:
            yield element("path", {"d": f"M{x + gap} {y - 1}h5v7l-2.5 -2.5l-2.5 2.5z", "fill": INK})
        if is_decode and cell >= 8:
            yield element("circle", {"cx": x + cell // 2, "cy": y + 8, "r": 2, "fill": "#ffffff"})
        elif cell >= 20:
            place = {"x": x + cell // 2, "y": y + 12, "text-anchor": "middle", "fill": "#ffffff"}
            yield element("text", place, str(num_tokens))


def _hatches(
    trace: Trace, scenario: Scenario | None, steps: Sequence[StepRecord], rows: dict[str, int], cell: int
) -> Iterator[str]:
    """Strokes over what is computed again; without a scenario nobody knows what is."""
    if scenario is None or not steps or cell < HATCHED:
        return
    first, last = steps[0].step, steps[-1].step
    for lane in read_lanes(scenario, trace).lanes:
        y = HEAD + rows.get(lane.spec.id, 0) * ROW + 3
        for begin, end, activity in lane.within(first, last) if lane.spec.id in rows else ():
            for step in range(begin, end + 1) if activity == "recompute" else ():
                x = NAMES + (step - first) * cell
                strokes = "".join(f"M{x + at} {y + 16}l4 -16" for at in range(1, cell - 4, 5))
                yield element("path", {"d": strokes, "stroke": "#ffffff", "stroke-opacity": 0.5, "fill": "none"})


def _wrapped(address: str, letters: int) -> list[str]:
    lines = [address[at : at + letters] for at in range(0, len(address), letters)]
    return lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], "…"]


def _caption(trace: Trace, left_out: int, part: Part | None, address: Sequence[str], height: int) -> Iterator[str]:
    more = f"; {left_out} more requests are not drawn" if left_out else ""
    marks = "Filled: tokens, dot: decode, strokes: computed again, flag: cache hit, line: waits, red: preempted."
    made = f"Simulated by Batchloom {__version__} after vLLM {VLLM_VERSION}."
    seen = f"; steps {part.first} to {part.last}" if part else ""
    lines = [_title(trace) + seen + more, marks, made, *address]
    for index, line in enumerate(lines):
        place = {"x": 10, "y": height - 7 - LINE * (len(lines) - 1 - index)}
        text = element("text", place | ({"font-weight": "bold"} if index == 0 else {}), escape(line))
        yield element("a", {"href": part.address}, text) if part and index > 2 else text
