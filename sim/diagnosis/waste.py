"""Rules about work that is done twice, in the way of others, or in blocks that stay empty."""

from collections import Counter
from collections.abc import Iterator, Mapping

from ..cost import COST_MODELS
from .changes import limit_of_running, offer, smaller_blocks
from .facts import Facts
from .finding import Finding, Operands, Span, merged

RECOMPUTED_PERMILLE = 100
"""Recomputed tokens, of all that were computed, from which on preemptions are a problem."""

SLOWED_TIMES = 4
"""A decode that takes so many times as long as it would without the prefill in its step is slowed down."""

SLOWED_PERMILLE = 20
"""Of all decodes; twice the hundredth that a 99th percentile leaves out."""

EMPTY_PERMILLE = 250
"""Slots of owned blocks that stay empty from which on their size is a problem; a quarter of it is what is aimed at."""


def thrash(facts: Facts) -> Iterator[Finding]:
    """Preempted again and again: twice or more, and a tenth or more of all computed tokens is computed anew.

    The spans are the steps that preempt, so that a jump shows it happen. Where `scheduler_reserve_full_isl` is off, and
    one was preempted before all of its tokens were computed, the change turns it on; else only as many requests may run
    as did after half of the preemptions (the upper median).
    """
    steps = facts.lanes.events["preemption"]
    lanes = [lane for lane in facts.lanes.lanes if lane.preempted]
    if sum(len(lane.preempted) for lane in lanes) < 2:
        return
    summary = facts.summary
    lost = summary.recomputed_tokens
    if lost * 1000 < RECOMPUTED_PERMILLE * summary.scheduled_tokens:
        return
    most = max(lanes, key=lambda lane: len(lane.preempted))
    operands: Operands = {
        "preemptions": summary.preemptions,
        "recomputed": lost,
        "computed": summary.scheduled_tokens,
        "id": most.spec.id,
        "times": len(most.preempted),
    }
    early = not facts.config.scheduler_reserve_full_isl and _came_too_early(facts)
    change = offer(facts.config, scheduler_reserve_full_isl=True) if early else {}
    if not change:
        left = sorted(facts.lanes.running[step] for step in steps)[len(steps) // 2]
        change = offer(facts.config, **{limit_of_running(facts.config): max(left, 1)})
    spans = merged((step, step) for step in steps)
    ids = tuple(lane.spec.id for lane in lanes)
    yield Finding("thrash", "warning", spans, ids, operands, change)


def _came_too_early(facts: Facts) -> bool:
    """Whether a request was preempted while a part of its tokens was not computed yet."""
    outputs: Counter[str] = Counter()
    prompts = {spec.id: spec.prompt_tokens for spec in facts.scenario.requests}
    computed: Mapping[str, int] = {}
    for record in facts.trace.steps:
        # The last output token is computed by the next decode.
        if any(computed.get(each, 0) < prompts[each] + max(outputs[each] - 1, 0) for each in record.preempted):
            return True
        outputs.update(record.generated)
        computed = record.computed
    return False


def prefill_stalls(facts: Facts) -> Iterator[Finding]:
    """In scenarios in time: a budget full of prefill makes the decodes beside it wait for their tokens.

    A step counts if its budget is spent and it takes `SLOWED_TIMES` as long as its decodes would take alone. The
    decodes in such steps must be `SLOWED_PERMILLE` of all. The change is a quarter of the budget, but no less than
    max_num_seqs.
    """
    if not facts.scenario.in_time or not facts.lanes.events["budget_full"]:
        return
    model, budget = COST_MODELS[facts.config.cost_model], facts.config.token_budget
    prompts = {spec.id: spec.prompt_tokens for spec in facts.scenario.requests}
    slowed: list[Span] = []
    ids: dict[str, None] = {}
    num_slowed = longest = alone_then = 0
    for step, used in enumerate(facts.lanes.used):
        if used < budget:
            continue
        record = facts.trace.steps[step]
        starts = {request_id: record.computed[request_id] - n for request_id, n in record.scheduled.items()}
        decodes = {request_id: start for request_id, start in starts.items() if start >= prompts[request_id]}
        alone = model.step_us([(start, record.scheduled[request_id]) for request_id, start in decodes.items()])
        step_us = record.step_us or 0
        if decodes and step_us >= SLOWED_TIMES * alone:
            slowed.append((step, step))
            num_slowed += len(decodes)
            ids |= dict.fromkeys(decodes)
            if step_us > longest:
                longest, alone_then = step_us, alone
    stretches = (stretch for lane in facts.lanes.lanes for stretch in lane.stretches if stretch.activity == "decode")
    num_decodes = sum(last - first + 1 for first, last, _ in stretches)
    if not slowed or num_slowed * 1000 < SLOWED_PERMILLE * num_decodes:
        return
    operands: Operands = {
        "slowed": num_slowed,
        "decodes": num_decodes,
        "longest_us": longest,
        "alone_us": alone_then,
    }
    smaller = max(budget // 4, facts.config.max_num_seqs)
    change = offer(facts.config, max_num_batched_tokens=smaller) if smaller < budget else {}
    there = tuple(lane.spec.id for lane in facts.lanes.lanes if lane.spec.id in ids)
    yield Finding("prefill_stalls", "hint", merged(slowed), there, operands, change)


def block_waste(facts: Facts) -> Iterator[Finding]:
    """Blocks run out while a quarter or more of the slots in owned blocks is empty, in the last block of each request.

    Looked at where they run out: in each step that preempts, and where the head of the queue begins to wait for blocks.
    The change halves the blocks, in as many more of them, until less than a sixteenth would be empty.
    """
    config = facts.config
    waits = merged(blocked[:2] for blocked in facts.blocked("kv_blocks"))
    empty = slots = 0
    spans = merged([*waits, *((step, step) for step in facts.lanes.events["preemption"])])
    ids: dict[str, None] = {}
    for step in dict.fromkeys([*(first for first, _ in waits), *facts.lanes.events["preemption"]]):
        record = facts.trace.steps[step]
        empty += sum(-computed % config.block_size for computed in record.computed.values())
        slots += (facts.usable_blocks - record.free_blocks) * config.block_size
        ids |= dict.fromkeys(record.scheduled)
    if not empty or empty * 1000 < EMPTY_PERMILLE * slots:
        return
    divisor = 1
    while divisor < config.block_size and 4 * empty * 1000 >= EMPTY_PERMILLE * slots * divisor:
        divisor *= 2
    operands: Operands = {"block_size": config.block_size, "empty": empty, "slots": slots}
    change = smaller_blocks(config, divisor)
    there = tuple(lane.spec.id for lane in facts.lanes.lanes if lane.spec.id in ids)
    yield Finding("block_waste", "hint", spans, there, operands, change)
