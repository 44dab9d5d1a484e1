"""The rule about requests that get no token for many steps."""

from collections import Counter
from collections.abc import Collection, Iterator

from ..reasons import Reason
from ..sandbox.lanes import STARVED_STEPS, Lane, Stretch
from .changes import offer, remove, smaller_chunks
from .facts import Facts, missing, more_places, places_and_blocks
from .finding import Change, Finding, Operands, merged


def starvation(facts: Facts, given_up: Collection[str]) -> Iterator[Finding]:
    """A request waits, or runs, for `STARVED_STEPS` steps in a row without a token, while others get tokens in so many.

    It counts under the reason that it has in most of these steps; behind the head of the queue that is the reason of
    the head. One finding a reason. `given_up` are requests that never get on, which have findings of their own.

    The change removes the reason (`changes.remove`), by what was missing in the longest wait: blocks for the head of
    the queue, and for the whole of the request that waited. If in that wait one other request took half of the
    tokens or more, chunks are made smaller; places are added as blocks were free for them, and where none were, for all
    who wait, together with blocks for them. Who waits because others are preempted lacks blocks.
    """
    found: dict[str, list[tuple[Lane, Stretch, Reason]]] = {}
    for lane in facts.lanes.lanes:
        if lane.spec.id in given_up:
            continue
        for stretch in lane.stretches:
            if _starved(facts, stretch):
                reason = _reason_of(facts, lane, stretch)
                found.setdefault(str(reason["code"]), []).append((lane, stretch, reason))
    for cause, waits in found.items():
        lane, stretch, reason = max(waits, key=lambda wait: _length(wait[1]))
        ids = tuple(dict.fromkeys(each.spec.id for each, _, _ in waits))
        operands: Operands = {
            "cause": cause,
            "id": lane.spec.id,
            "longest": _length(stretch),
            "count": len(ids),
            "first": stretch.first,
            "last": stretch.last,
        }
        change = _relief(facts, lane, stretch, reason)
        yield Finding("starvation", "warning", merged(wait[1][:2] for wait in waits), ids, operands, change)


def _length(stretch: Stretch) -> int:
    return stretch.last - stretch.first + 1


def _starved(facts: Facts, stretch: Stretch) -> bool:
    if stretch.activity not in {"waiting", "nothing"} or _length(stretch) < STARVED_STEPS:
        return False
    return sum(map(bool, facts.lanes.used[stretch.first : stretch.last + 1])) >= STARVED_STEPS


def _reason_of(facts: Facts, lane: Lane, stretch: Stretch) -> Reason:
    """The most frequent reason in these steps, the earlier of two; with the operands that ask for most."""
    own = {step: reason for step, reason in facts.lanes.skipped.get(lane.spec.id, ()) if step <= stretch.last}
    counts: Counter[str] = Counter()
    worst: dict[str, Reason] = {}
    for first, last, reason in _stops(facts, stretch):
        others = last - first + 1
        for step in range(first, last + 1) if own else ():
            if step in own:
                others -= 1
                _count(own[step], 1, counts, worst)
        if reason is not None and others:
            _count(reason, others, counts, worst)
    if not counts:
        return {"code": "unknown"}
    return worst[max(counts, key=counts.__getitem__)]


def _stops(facts: Facts, stretch: Stretch) -> Iterator[tuple[int, int, Reason | None]]:
    """What ended the scan of its queue in these steps, run by run."""
    stops = facts.lanes.stops
    for i, stop in enumerate(stops):
        first = max(stop.first, stretch.first)
        last = min(stops[i + 1].first - 1 if i + 1 < len(stops) else stretch.last, stretch.last)
        if first <= last:
            yield first, last, stop.waiting if stretch.activity == "waiting" else stop.running


def _count(reason: Reason, num: int, counts: Counter[str], worst: dict[str, Reason]) -> None:
    code = str(reason["code"])
    counts[code] += num
    if code not in worst or missing(reason) > missing(worst[code]):
        worst[code] = reason


def _relief(facts: Facts, lane: Lane, stretch: Stretch, reason: Reason) -> Change:
    num_blocks = facts.whole_blocks(lane.spec)
    if reason["code"] == "max_num_seqs":
        return more_places(facts, [stretch[:2]], num_blocks) or places_and_blocks(facts, stretch[:2], num_blocks)
    if reason["code"] == "after_preemption":
        return offer(facts.config, num_gpu_blocks=facts.config.num_gpu_blocks + num_blocks)
    if reason["code"] == "token_budget":
        given: Counter[str] = Counter()
        for record in facts.trace.steps[stretch.first : stretch.last + 1]:
            given.update(record.scheduled)
        if 2 * max(given.values()) >= given.total():
            return smaller_chunks(facts.config)
    return remove(reason, facts.config, facts.num_adapters, num_blocks)
