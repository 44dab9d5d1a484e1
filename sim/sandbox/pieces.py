"""The pieces of one request in a timeline: what it got in each step, or why it got nothing."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..figures.html import escape
from ..reasons import Reason
from ..trace import StepRecord
from .lanes import Activity, Lane
from .window import Window

TALL = 20
"""Height of a piece, in pixels."""


class Step(NamedTuple):
    """A step that is seen, with the reasons of those who got nothing."""

    record: StepRecord
    why: Mapping[str, Reason]


def steps_of(records: Sequence[StepRecord], window: Window) -> list[Step]:
    """The steps of a window: each is opened once for all its requests."""
    opened = (records[step] for step in range(window.first, window.last + 1))
    return [Step(record, record.why()) for record in opened]


def pieces(steps: Sequence[Step], lane: Lane, window: Window, top: int) -> Iterator[str]:
    """An element for each step of the window in which the request is there, at `top` + 3."""
    request_id = escape(lane.spec.id)
    for first, last, activity in lane.within(window.first, window.last):
        for column in range(first - window.first, last - window.first + 1):
            box = column * window.cell + 1, top + 3, window.cell - 2
            yield _piece(lane.spec.id, request_id, steps[column], activity, box)


def _piece(request_id: str, escaped: str, step: Step, activity: Activity, box: tuple[int, int, int]) -> str:
    # Hundreds of these are made for a picture: the text is put together by hand.
    record, (x, y, side) = step.record, box
    place = f'data-step="{record.step}" data-request="{escaped}"'
    num_tokens = record.scheduled.get(request_id, 0)
    if not num_tokens:
        why = f' data-why="{step.why[request_id]["code"]}"' if request_id in step.why else ""
        wait = f'<path class="cells wait" d="M{x + 2} {y + 7}h{side - 4}v6h-{side - 4}z"></path>'
        if request_id not in record.preempted:
            return f'<g class="piece" {place}{why}>{wait}</g>'
        slash = f'<path class="slash" d="M{x} {y + TALL}L{x + side} {y}"></path>'
        return f'<g class="piece cut" {place}{why}>{wait}{slash}</g>'
    kind = "decode" if activity == "decode" else "prefill"
    again = ' data-activity="recompute"' if activity == "recompute" else ""
    solid = f'<path class="cells {activity}" d="M{x} {y}h{side}v{TALL}h-{side}z"></path>'
    inside = "".join(_inside(record, request_id, activity, box, num_tokens))
    return f'<g class="piece" {place} data-tokens="{num_tokens}" data-kind="{kind}"{again}>{solid}{inside}</g>'


def _inside(
    record: StepRecord, request_id: str, activity: Activity, box: tuple[int, int, int], num_tokens: int
) -> Iterator[str]:
    """Marks in a piece: tokens, hatches of a recompute, a cross for rejected drafts, a ribbon for a cache hit."""
    x, y, side = box
    if activity == "recompute":
        hatch = "".join(f"M{x + at} {y + TALL}L{x + at + 6} {y}" for at in range(0, max(side - 5, 1), 6))
        yield f'<path class="hatch" d="{hatch}"></path>'
    is_one = activity == "decode" and num_tokens == 1
    if side >= 7 * len(str(num_tokens)) + 3 and not is_one:
        place = f'x="{x + side // 2}" y="{y + 14}" text-anchor="middle"'
        yield f'<text {place} class="amount in-{activity}">{num_tokens}</text>'
    elif activity == "decode":
        yield f'<circle class="inner" cx="{x + side // 2}" cy="{y + TALL // 2}" r="{min(3, side // 4)}"></circle>'
    if record.num_rejected(request_id):
        yield f'<path class="cross" d="M{x + side - 8} {y + 1}l7 7m-7 0l7 -7"></path>'
    if request_id in record.cached:
        yield f'<path class="ribbon" d="M{x + 1} {y - 2}h7v10l-3.5 -3l-3.5 3z"></path>'
