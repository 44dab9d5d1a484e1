"""Rules about what the head of the waiting queue waits for, while something is left over."""

from collections.abc import Collection, Iterator, Sequence

from ..sandbox.lanes import Lane
from ..scenario import RequestSpec
from .changes import remove
from .facts import Blocked, Facts, missing, more_places
from .finding import Change, Finding, Operands, Span, merged, num_steps

HELD_STEPS = 3
"""A head of the queue that holds others back for fewer steps in a row is not worth a word."""

Held = tuple[Blocked, str]
"""Steps in which the head is blocked, and a request behind it that would have fitted in all of them."""


def head_of_line(facts: Facts) -> Iterator[Finding]:
    """The head of the waiting queue cannot be admitted while one behind it would fit, for `HELD_STEPS` steps in a row.

    The head lacks blocks, or the budget left for a prompt that may not be cut; these reasons end the scan. One behind
    it would fit if the blocks for its prompt are free above the watermark, without any hit in the prefix cache, and,
    where prompts may not be cut, it is no longer than the budget left. Only requests that have not run yet count, and
    none with images or, where adapters are limited, with an adapter.

    The change removes the reason of the head in the step in which it lacked most; blocks are added for the whole of it.
    """
    held = list(_held(facts))
    spans = merged((blocked.first, blocked.last) for blocked, _ in held)
    spans = tuple(span for span in spans if num_steps([span]) >= HELD_STEPS)
    held = [item for item in held if any(first <= item[0].first <= last for first, last in spans)]
    if not held:
        return
    worst = max((blocked for blocked, _ in held), key=lambda blocked: missing(blocked.reason))
    ids = tuple(dict.fromkeys(request_id for _, request_id in held))
    record, needs = facts.trace.steps[worst.first], int(str(worst.reason["needs"]))
    operands: Operands = {
        "cause": worst.code,
        "head": next(request_id for request_id in record.waiting if request_id not in record.skipped),
        "needs": needs,
        "left": max(needs - missing(worst.reason), 0),
        "count": len(ids),
        "steps": num_steps(spans),
    }
    spec = next(lane.spec for lane in facts.lanes.lanes if lane.spec.id == operands["head"])
    change = remove(worst.reason, facts.config, facts.num_adapters, max(facts.whole_blocks(spec) - needs, 0))
    yield Finding("head_of_line", "warning", spans, ids, operands, change)


def _held(facts: Facts) -> Iterator[Held]:
    config, lanes = facts.config, facts.lanes
    waiting = list(_smaller(facts))
    for blocked in facts.blocked("kv_blocks", "chunked_prefill_off"):
        steps = slice(blocked.first, blocked.last + 1)
        room = min(lanes.free[steps]) - config.watermark_blocks
        left = blocked.reason.get("left", config.token_budget - max(lanes.used[steps]))
        assert isinstance(left, int)
        for spec, wait, num_blocks in waiting:
            first, last = max(wait[0], blocked.first), min(wait[1], blocked.last)
            fits = num_blocks <= room and (config.enable_chunked_prefill or spec.prompt_tokens <= left)
            if fits and first <= last:
                yield blocked._replace(first=first, last=last), spec.id


def _smaller(facts: Facts) -> Iterator[tuple[RequestSpec, Span, int]]:
    """Requests of which it can be told whether they fit: when they wait before they have run, and their blocks."""
    for lane in facts.lanes.lanes:
        spec, wait = lane.spec, lane.stretches[0] if lane.stretches else None
        if wait is None or wait.activity != "waiting" or spec.images or (facts.config.max_loras and spec.lora):
            continue
        yield spec, (wait.first, wait.last), facts.num_blocks(spec.prompt_tokens)


def budget_unused(facts: Facts, told: Collection[str]) -> Iterator[Finding]:
    """Something else than the budget decides how much is done.

    In a quarter of the steps that are not empty, and in `HELD_STEPS` of them, requests wait for a place
    (`max_num_seqs`) or for blocks (`kv_blocks`) while at most half of the budget is used. Whichever of the two it is
    more often; not if requests starve for the same reason, `told`.

    The change adds as many places as requests wait and as their blocks are free; without such blocks it is no finding.
    Or it adds blocks, as many as were missing at most.
    """
    used, budget = facts.lanes.used, facts.config.token_budget
    found: dict[str, list[Span]] = {"max_num_seqs": [], "kv_blocks": []}
    for blocked in facts.blocked(*found):
        steps = range(blocked.first, blocked.last + 1)
        found[blocked.code] += ((step, step) for step in steps if 0 < 2 * used[step] <= budget)
    cause, idle = max(found.items(), key=lambda item: len(item[1]))
    spans = merged(idle)
    if cause in told or num_steps(spans) < HELD_STEPS or 4 * num_steps(spans) < facts.busy_steps:
        return
    change = _change(facts, cause, spans)
    if not change:
        return
    operands: Operands = {
        "cause": cause,
        "budget": budget,
        "most": max(max(used[first : last + 1]) for first, last in spans),
        "steps": num_steps(spans),
        "of": facts.busy_steps,
    }
    ids = tuple(lane.spec.id for lane in facts.lanes.lanes if _waits_in(lane, spans))
    yield Finding("budget_unused", "hint", spans, ids, operands, change)


def _change(facts: Facts, cause: str, spans: Sequence[Span]) -> Change:
    if cause == "kv_blocks":
        worst = max((blocked.reason for blocked in facts.blocked(cause)), key=missing)
        return remove(worst, facts.config, facts.num_adapters)
    waiting = [lane for lane in facts.lanes.lanes if _waits_in(lane, spans)]
    return more_places(facts, spans, max((facts.whole_blocks(lane.spec) for lane in waiting), default=0))


def _waits_in(lane: Lane, spans: Collection[Span]) -> bool:
    return any(
        stretch.activity == "waiting" and any(stretch.first <= last and first <= stretch.last for first, last in spans)
        for stretch in lane.stretches
    )
