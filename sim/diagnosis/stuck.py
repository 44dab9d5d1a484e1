"""Rules about requests that never get all of their tokens."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ..config import Config, Refusal
from ..parameter import Value
from ..reasons import Reason
from ..sandbox.lanes import STARVED_STEPS, Lane
from ..scenario import RequestSpec
from .changes import accepted, changed, larger_budget, larger_encoder, offer, remove
from .facts import Facts
from .finding import Change, Finding, Operands, merged


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


class _Limit(NamedTuple):
    """A limit that one request alone can exceed: what the request needs of it, and how much there is.

    `whatever`: it is too much even for a request that the run has finished.
    """

    code: str
    needs: Callable[[RequestSpec, Facts], int]
    has: Callable[[Facts], int]
    change: Callable[[Config, int], Change]
    whatever: bool = False


def _larger_model_len(config: Config, num_tokens: int) -> Change:
    change: dict[str, Value] = {"max_model_len": num_tokens}
    if not config.enable_chunked_prefill:
        change["max_num_batched_tokens"] = max(num_tokens, config.max_num_batched_tokens)
    return offer(config, **change)


def _overlong(spec: RequestSpec, facts: Facts) -> int:
    return spec.prompt_tokens + spec.output_tokens if spec.prompt_tokens > facts.config.max_model_len else 0


def _longest_image(spec: RequestSpec, _: Facts) -> int:
    return max((image.length for image in spec.images), default=0)


def _uncut_image(spec: RequestSpec, facts: Facts) -> int:
    return _longest_image(spec, facts) if facts.config.disable_chunked_mm_input else 0


def _uncut_prompt(spec: RequestSpec, facts: Facts) -> int:
    return 0 if facts.config.enable_chunked_prefill else spec.prompt_tokens


LIMITS = (
    _Limit(
        "model_len",
        _overlong,
        lambda facts: facts.config.max_model_len,
        _larger_model_len,
        whatever=True,
    ),
    _Limit(
        "blocks",
        lambda spec, facts: facts.whole_blocks(spec),
        lambda facts: facts.usable_blocks,
        lambda config, needs: offer(config, num_gpu_blocks=needs + 1),
    ),
    _Limit("encoder_budget", _longest_image, lambda facts: facts.config.encoder_compute_budget, larger_encoder),
    _Limit(
        "encoder_cache",
        _longest_image,
        lambda facts: facts.config.encoder_cache_size or facts.config.encoder_compute_budget,
        larger_encoder,
    ),
    _Limit("chunked_mm_input_off", _uncut_image, lambda facts: facts.config.token_budget, larger_budget),
    _Limit("chunked_prefill_off", _uncut_prompt, lambda facts: facts.config.token_budget, larger_budget),
)
"""In the order in which a request is held against them; it counts under the first that it exceeds."""


def never_fits(facts: Facts) -> Iterator[Finding]:
    """A request needs more than there is even when it is alone, and so was not finished.

    * `model_len`: its prompt is longer than max_model_len. A server refuses it, so whatever became of it in the run.
    * `blocks`: prompt and output need more blocks than the pool has. Alone it need not keep the watermark.
    * `encoder_budget`, `encoder_cache`: an image is larger than what a step encodes, or the cache holds.
    * `chunked_mm_input_off`: an image may not be cut and is larger than the budget of a step.
    * `chunked_prefill_off`: its prompt may not be cut and is longer than the budget of a step.

    One finding a limit, with the numbers of the request that needs most. The change is `room_for_all`.
    """
    found: dict[str, list[Lane]] = {}
    left = frozenset(facts.trace.unfinished)
    has = {limit.code: limit.has(facts) for limit in LIMITS}
    for lane in facts.lanes.lanes:
        for limit in LIMITS:
            there = lane.spec.id in left or (limit.whatever and bool(lane.stretches))
            if there and limit.needs(lane.spec, facts) > has[limit.code]:
                found.setdefault(limit.code, []).append(lane)
                break
    for limit in LIMITS:
        lanes = found.get(limit.code, [])
        if lanes:
            largest = max(lanes, key=lambda lane: limit.needs(lane.spec, facts))
            needs = limit.needs(largest.spec, facts)
            operands: Operands = {"limit": limit.code, "id": largest.spec.id, "needs": needs, "has": has[limit.code]}
            spans = merged((each.stretches[0].first, each.stretches[-1].last) for each in lanes if each.stretches)
            ids = tuple(lane.spec.id for lane in lanes)
            yield Finding("never_fits", "error", spans, ids, operands, room_for_all(facts))


def room_for_all(facts: Facts) -> Change:
    """What raises every limit that a request exceeds, one after the other: a longer context needs more blocks.

    Nothing, if one of them cannot be raised. Requests that are aborted need no room.
    """
    specs = [spec for spec in facts.scenario.requests if spec.abort_step is None]
    change: dict[str, Value] = {}
    for limit in LIMITS:
        config = changed(facts.config, change)
        there = replace(facts, scenario=replace(facts.scenario, config=config))
        needs = max((limit.needs(spec, there) for spec in specs), default=0)
        if needs > limit.has(there):
            more = limit.change(config, needs)
            if not more:
                return {}
            change |= more
    return change


def output_cut(facts: Facts) -> Iterator[Finding]:
    """A request ends at max_model_len, before all of its output has come; a server refuses one that asks for so much.

    The spans are the steps of the last tokens. The change is `room_for_all`, with max_model_len raised to the longest.

    Source: `vllm/v1/core/sched/utils.py::check_stop`.
    """
    limit, left = facts.config.max_model_len, frozenset(facts.trace.unfinished)
    cut = {
        lane: lost
        for lane in facts.lanes.lanes
        if lane.spec.id not in left and lane.spec.abort_step is None and (lost := lost_tokens(lane.spec, limit)) > 0
    }
    if not cut:
        return
    longest = max(cut, key=lambda lane: lane.spec.prompt_tokens + lane.spec.output_tokens)
    needs = longest.spec.prompt_tokens + longest.spec.output_tokens
    longer = replace(facts, scenario=replace(facts.scenario, config=replace(facts.config, max_model_len=needs)))
    change = {**_larger_model_len(facts.config, needs), **room_for_all(longer)}
    operands: Operands = {
        "id": longest.spec.id,
        "needs": needs,
        "has": limit,
        "lost": sum(cut.values()),
        "count": len(cut),
    }
    spans = merged((lane.stretches[-1].last,) * 2 for lane in cut if lane.stretches)
    yield Finding("output_cut", "warning", spans, tuple(lane.spec.id for lane in cut), operands, change)


def lost_tokens(spec: RequestSpec, max_model_len: int) -> int:
    """Output tokens that do not come because the sequence has its greatest length; one comes after any prompt."""
    return spec.output_tokens - max(min(spec.output_tokens, max_model_len - spec.prompt_tokens), 1)


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
