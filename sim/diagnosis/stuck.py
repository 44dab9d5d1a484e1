"""Rules about requests that never get all of their tokens."""

from collections.abc import Iterator, Mapping

from ..config import Config, Refusal
from ..reasons import Reason
from ..sandbox.lanes import STARVED_STEPS, Lane
from .changes import NOTHING, accepted, difference, offer, remove
from .facts import Facts, num_outputs
from .finding import Change, Finding, Operands, merged
from .limits import LIMITS, leaves_no_room, raised, too_long


def refused(config: Config, refusal: Refusal) -> Finding:
    """The configuration is one that vLLM refuses, or with which it stops at a failed assertion.

    What to change is `changes.accepted`; where a decode that was filled up with drafts is cut by
    long_prefill_token_threshold, that is raised to the filled length.
    """
    change = accepted(config)
    if refusal.error == "AssertionError" and refusal.field == "long_prefill_token_threshold":
        change = offer(config, long_prefill_token_threshold=1 + config.num_speculative_tokens)
    return Finding("refused", "error", (), (), refusal._asdict(), change)


# ---------------------------------------------------------------- requests that cannot fit


def never_fits(facts: Facts) -> Iterator[Finding]:
    """A request needs more than there is even when it is alone, and so was not finished.

    * `model_len`: its prompt alone reaches max_model_len. A server refuses it, so whatever became of it in the run.
    * `blocks`: prompt and output need more blocks than the pool has. Alone it need not keep the watermark.
    * `encoder_budget`, `encoder_cache`: an image is larger than what a step encodes, or the cache holds.
    * `chunked_mm_input_off`: an image may not be cut and is larger than the budget of a step.
    * `chunked_prefill_off`: its prompt may not be cut and is longer than the budget of a step.

    One finding a limit, with the numbers of the request that needs most. The change is the same for all of them: it
    raises every limit that is exceeded (`limits.raised`), as a request may exceed several.
    """
    found: dict[str, list[Lane]] = {}
    left = frozenset(facts.trace.unfinished)
    has = {limit.code: limit.has(facts) for limit in LIMITS}
    for lane in facts.lanes.lanes:
        for limit in LIMITS:
            if (limit.whatever or lane.spec.id in left) and limit.needs(lane.spec, facts) > has[limit.code]:
                found.setdefault(limit.code, []).append(lane)
                break
    after = raised(facts, longer="model_len" in found)
    for limit in LIMITS:
        lanes = found.get(limit.code, [])
        if lanes:
            largest = max(lanes, key=lambda lane: limit.needs(lane.spec, facts))
            needs = limit.needs(largest.spec, facts)
            operands: Operands = {"limit": limit.code, "id": largest.spec.id, "needs": needs, "has": has[limit.code]}
            spans = merged((each.stretches[0].first, each.stretches[-1].last) for each in lanes if each.stretches)
            ids = tuple(lane.spec.id for lane in lanes)
            helps = limit.needs(largest.spec, after) <= limit.has(after)
            change = difference(facts.config, after.config) if helps else NOTHING
            yield Finding("never_fits", "error", spans, ids, operands, change)


def output_cut(facts: Facts) -> Iterator[Finding]:
    """A request was finished at max_model_len with fewer output tokens than it asks for.

    Not where the prompt alone reaches it, which is `never_fits`. The spans are the steps of the last tokens. The
    change raises max_model_len to the longest sequence of all, and every limit that is exceeded then.
    """
    most = facts.config.max_model_len
    ended = {spec.id for spec in too_long(facts) if not leaves_no_room(spec, facts.config)}
    lanes = [(lane, lane.finished) for lane in facts.lanes.lanes if lane.spec.id in ended and lane.finished is not None]
    if not lanes:
        return
    ids = tuple(lane.spec.id for lane, _ in lanes)
    got = num_outputs(facts.trace, ids)
    missing = {lane.spec.id: lane.spec.output_tokens - got[lane.spec.id] for lane, _ in lanes}
    worst = max((lane.spec for lane, _ in lanes), key=lambda spec: missing[spec.id])
    operands: Operands = {
        "id": worst.id,
        "got": got[worst.id],
        "wanted": worst.output_tokens,
        "has": most,
        "missing": sum(missing.values()),
        "count": len(ids),
    }
    change = difference(facts.config, raised(facts, longer=True).config)
    spans = merged((step, step) for _, step in lanes)
    yield Finding("output_cut", "warning", spans, ids, operands, change if "max_model_len" in change else NOTHING)


# ---------------------------------------------------------------- runs without an end


def livelock(facts: Facts, oversized: Change) -> Iterator[Finding]:
    """The run was cut, and for the last `STARVED_STEPS` steps or more nobody got an output token.

    It lasts from the last output token or admission of a new request on. The change is that for the requests that can
    never fit, `oversized`.
    """
    if facts.trace.outcome != "max_steps":
        return
    records, last = facts.trace.steps, facts.num_steps - 1
    since = next((step for step in range(last, -1, -1) if records[step].generated or records[step].new), -1) + 1
    if last - since + 1 < STARVED_STEPS:
        return
    preemptions = sum(1 for lane in facts.lanes.lanes for step in lane.preempted if step >= since)
    operands: Operands = {"steps": last - since + 1, "since": since, "preemptions": preemptions}
    ids = tuple(lane.spec.id for lane in facts.unfinished())
    yield Finding("livelock", "error", ((since, last),), ids, operands, oversized)


def stalled(facts: Facts, oversized: Change) -> Iterator[Finding]:
    """Requests remain, and nothing can ever be scheduled.

    `cause` is why the first of them gets nothing: what the others wait for too, or because they stand behind it. The
    change is that for the requests that can never fit, `oversized`; where there is none, what removes the cause.
    """
    if facts.trace.outcome != "stalled":
        return
    stuck = facts.trace.stuck
    reason = _first_cause(stuck)
    lanes = facts.unfinished()
    operands: Operands = {"cause": str(reason["code"]), "count": len(lanes)}
    # Its last stretch is the wait that does not end.
    spans = merged(lane.stretches[-1][:2] for lane in lanes if lane.stretches)
    ids = tuple(lane.spec.id for lane in lanes)
    change = oversized or remove(reason, facts.config, facts.num_adapters)
    yield Finding("stalled", "error", spans, ids, operands, change)


def _first_cause(stuck: Mapping[str, Reason]) -> Reason:
    return next((reason for reason in stuck.values() if reason["code"] != "head_of_line"), {"code": "unknown"})
