"""Questions of the figures of a run. Each asks for a variant that the figure can show; the simulator knows the answer.

A misconception is computed by the mistaken rule: by another configuration of the simulator where there is one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...parameters import Value
from .. import schedules
from ..run import Run, run
from ..schedule import Schedule
from .question import Option, Question


def questions() -> Iterator[Question]:
    """All of them, in the order of the page."""
    yield _six_steps()
    yield _chunked_prefill()
    yield _kv_blocks()
    yield _victim()
    yield _recompute()
    yield _prefix_cache()
    yield _speculation()
    yield _priority()
    yield _async()
    yield _encoder()
    yield _long_prefill()


def _variant(schedule: Schedule, config: Mapping[str, Any] | None = None, **values: Value) -> Run:
    """The run of a figure for other values of its controls, and with keys of `config` that it has no control for."""
    other = replace(schedule, config={**schedule.config, **(config or {})})
    return other.run({parameter.name: parameter.default for parameter in schedule.controls} | values)


def _first(this: Run, request_id: str) -> int:
    """The first step that gives a request tokens."""
    return next(step.step for step in this.trace.steps if request_id in step.scheduled)


def _steps(this: Run, request_id: str, first: int, last: int) -> list[Option]:
    """Steps to choose from, and how many tokens each gives the request."""
    got = [(step, this.trace.steps[step].scheduled.get(request_id, 0)) for step in range(first, last + 1)]
    return [Option(f"t{step}", f"t{step}", tokens) for step, tokens in got]


def _six_steps() -> Question:
    """Which step brings the last request's first new token?"""
    this = _variant(schedules.SIX_STEPS)
    spec = this.scenario.requests[-1]
    records = [record for record in this.trace.steps if spec.id in record.scheduled]
    right = next(record.step for record in records if record.generated.get(spec.id))
    decode = next(record.step for record in records if record.computed[spec.id] > spec.prompt_tokens)
    first, last = records[0].step, records[-1].step
    mistakes = {"decode": f"t{decode}", "admitted": f"t{first}", "end": f"t{last}"}
    values = {"id": spec.id, "P": spec.prompt_tokens, "first": first, "right": right}
    options = _steps(this, spec.id, first, last)
    return Question("six-steps", "six-steps", f"t{right}", mistakes, {"step": right}, values, options)


def _chunked_prefill() -> Question:
    """Nothing may be cut: when does the short prompt behind the long one start?"""
    this = _variant(schedules.CHUNKED_PREFILL, enable_chunked_prefill=False)
    long, short = this.scenario.requests[2:]
    right, behind = _first(this, short.id), _first(this, long.id)
    fits = next(
        step for step in range(short.arrival_step, right) if this.budget - this.used(step) >= short.prompt_tokens
    )
    mistakes = {"first_fit": f"t{fits}", "with": f"t{behind}", "next": f"t{fits + 1}", "late": f"t{right + 1}"}
    values = {"id": short.id, "P": short.prompt_tokens, "behind": long.id, "Q": long.prompt_tokens}
    values |= {"arrival": short.arrival_step}
    values |= {"fits": fits, "then": behind, "left": this.budget - this.used(behind), "right": right}
    options = _steps(this, short.id, short.arrival_step, right + 1)
    shows = {"enable_chunked_prefill": False, "step": short.arrival_step}
    return Question("chunked-prefill", "chunked-prefill", f"t{right}", mistakes, shows, values, options)


def _kv_blocks() -> Question:
    """How many blocks until the last request enters on arrival and nobody is preempted?"""
    schedule = schedules.KV_BLOCKS
    (control,) = schedule.controls
    axis = range(control.minimum or 0, (control.maximum or 0) + 1)
    runs = {count: _variant(schedule, num_gpu_blocks=count) for count in axis}
    spec = runs[axis[0]].scenario.requests[-1]
    admitted = [count for count in axis if spec.id in runs[count].trace.steps[spec.arrival_step].new]
    right = next(count for count in admitted if not any(step.preempted for step in runs[count].trace.steps))
    size = runs[right].scenario.config.block_size
    reserved = sum(-(-(one.prompt_tokens + one.output_tokens) // size) for one in runs[right].scenario.requests)
    mistakes = {"admitted": admitted[0], "null_block": right - 1, "reserved": reserved + 1}
    values = {"id": spec.id, "arrival": spec.arrival_step, "right": right, "usable": right - 1}
    values |= {"admitted": admitted[0], "needs": -(-spec.prompt_tokens // size)}
    shows = {"num_gpu_blocks": right, "step": schedule.key_step + 1}
    return Question("kv-blocks", "kv-blocks", right, mistakes, shows, values, (), axis[0], axis[-1])


def _preempting(blocks: int) -> tuple[Run, int]:
    """The run of `preemption` with so many blocks, and the step that preempts."""
    this = _variant(schedules.PREEMPTION, num_gpu_blocks=blocks)
    return this, next(step.step for step in this.trace.steps if step.preempted)


def _victim() -> Question:
    """Enough blocks for all, until one is missing: who has to go now?"""
    blocks = 10
    this, step = _preempting(blocks)
    record, before = this.trace.steps[step], this.trace.steps[step - 1]
    (right,) = record.preempted
    places = {request.id: place for place, request in enumerate(this.scenario.requests)}
    held = {name: sum(places[name] in block.owners for block in this.blocks[step - 1]) for name in before.running}
    small = min(held, key=lambda name: held[name])
    usual = int(str(schedules.PREEMPTION.controls[0].default))
    last_time, then = _preempting(usual)
    (again,) = last_time.trace.steps[then].preempted
    needy = str(record.why()[right]["by"])
    mistakes = {"needs": needy, "same": again, "smallest": small, "nobody": "nobody"}
    prompts = {request.id: request.prompt_tokens for request in this.scenario.requests}
    values = {"id": right, "small": small, "P": prompts[right], "Q": prompts[small], "came": before.step, "step": step}
    values |= {"needy": needy, "again": again, "usual": usual, "blocks": blocks}
    shows = {"num_gpu_blocks": blocks, "step": step}
    options = [Option(name, name, blocks) for name, blocks in held.items()]
    return Question("victim", "preemption", right, mistakes, shows, values, [*options, Option("nobody")])


def _recompute() -> Question:
    """A victim returns: how much does it compute before its next token?"""
    this, step = _preempting(8)
    (victim,) = this.trace.steps[step].preempted
    spec = next(request for request in this.scenario.requests if request.id == victim)
    back = next(record for record in this.trace.steps if victim in record.resumed)
    again = [record for record in this.trace.steps[back.step :] if victim in record.scheduled]
    spoken = next(place for place, record in enumerate(again) if record.generated.get(victim))
    right = sum(record.scheduled[victim] for record in again[: spoken + 1])
    lost = this.trace.steps[step - 1].computed[victim]
    mistakes = {"lost": spec.prompt_tokens, "swapped": right - lost, "nothing": 0}
    written = right - spec.prompt_tokens
    values = {"id": victim, "P": spec.prompt_tokens, "written": written, "back": back.step, "right": right}
    values |= {"blocks": this.scenario.config.num_gpu_blocks, "step": step}
    shows = {"num_gpu_blocks": this.scenario.config.num_gpu_blocks, "step": back.step}
    highest = spec.prompt_tokens + spec.output_tokens + 3
    return Question("recompute", "preemption", right, mistakes, shows, values, (), 0, highest)


def _prefix_cache() -> Question:
    """A prompt whose common beginning ends inside a block: how much is found?"""
    schedule, shared, own = schedules.PREFIX_CACHE, 11, 3
    prefix = [["system", 8], ["question", shared - 8]]
    size = shared + own
    newcomer = {"id": "D", "arrival_step": 3, "prompt_tokens": size, "output_tokens": 1, "prefix": prefix}
    config = {**schedule.config, **{control.name: control.default for control in schedule.controls}}
    this = run({"name": "asked", "config": config, "requests": [*schedule.requests, newcomer]}, 0)
    right = next(step.cached.get("D", 0) for step in this.trace.steps if "D" in step.new)
    block = this.scenario.config.block_size
    mistakes = {"by_token": shared, "rounded_up": -(-shared // block) * block, "whole_only": 0, "own": size}
    values = {"shared": shared, "size": size, "block": block, "full": right // block, "own": size - right}
    return Question("prefix-cache", "prefix-cache", right, mistakes, {}, values, (), 0, size)


def _speculation() -> Question:
    """More drafts than the budget can pay: how many steps?"""
    schedule, drafts = schedules.SPECULATION, 5
    this, usual = _variant(schedule, num_speculative_tokens=drafts), _variant(schedule)
    paid = _variant(schedule, {"max_num_batched_tokens": 64}, num_speculative_tokens=drafts)
    none = _variant(schedule, num_speculative_tokens=0)
    mistakes = {"free": paid.length, "faster": usual.length - 1, "none": none.length}
    values = {
        "drafts": drafts,
        "before": schedule.controls[0].default,
        "usual": usual.length,
        "each": drafts + 1,
        "budget": this.budget,
    }
    values |= {"both": 2 * (drafts + 1), "large": paid.budget, "right": this.length}
    shows = {"num_speculative_tokens": drafts, "step": 2}
    return Question("speculation", "speculation", this.length, mistakes, shows, values, (), 1, none.length)


def _priority() -> Question:
    """The most urgent request becomes more urgent still: does it start sooner?"""
    schedule, urgent = schedules.PRIORITY, -5
    *others, last = schedule.requests
    this = _variant(replace(schedule, requests=(*others, {**last, "priority": urgent})))
    spec, ahead = this.scenario.requests[-1], this.scenario.requests[-2]
    right, fcfs = _first(this, spec.id), _first(_variant(schedule, policy="fcfs"), spec.id)
    (leaver,) = this.trace.steps[right - 1].finished
    mistakes = {"evicts": f"t{spec.arrival_step}", "later": f"t{right + 1}", "fifo": f"t{fcfs}"}
    values = {"id": spec.id, "arrival": spec.arrival_step, "priority": urgent, "before": last["priority"]}
    values |= {"leaver": leaver, "ahead": ahead.id, "right": right}
    options = _steps(this, spec.id, spec.arrival_step, fcfs)
    return Question("priority", "priority", f"t{right}", mistakes, {}, values, options)


def _async() -> Question:
    """One place only: when does the next request have it?"""
    one_place = {"max_num_seqs": 1}
    this, plain = (_variant(schedules.ASYNC, one_place, async_scheduling=way) for way in (True, False))
    first, spec = this.scenario.requests
    right, without = _first(this, spec.id), _first(plain, spec.id)
    last = max(step.step for step in this.trace.steps if first.id in step.scheduled)
    mistakes = {"sync": f"t{without}", "same": f"t{last}", "places": f"t{_first(_variant(schedules.ASYNC), spec.id)}"}
    values = {"id": spec.id, "arrival": spec.arrival_step, "first": first.id, "last": last, "right": right}
    values |= {"tokens": first.output_tokens, "between": without}
    options = _steps(this, spec.id, spec.arrival_step, right)
    return Question("async", "async", f"t{right}", mistakes, {}, values, options)


def _encoder() -> Question:
    """An image that waits until another is read: how large must the cache be for both?"""
    schedule = schedules.ENCODER
    usual = _variant(schedule)
    size = usual.scenario.config.encoder_cache_size
    (image, other), place = (spec.images[0] for spec in usual.scenario.requests[:2]), usual.scenario.requests[1].id
    text = usual.trace.steps[1].scheduled[place]
    right = next(larger for larger in range(size, 2 * size + 1) if _got(larger) > text)
    part, unread = _got(right) - text, image.offset + image.length - usual.budget
    mistakes = {"cut": image.length + part, "unread": unread + other.length, "own": other.length}
    mistakes["more"] = image.length + 1
    values = {"id": place, "first": image.length, "second": other.length, "size": size, "right": right}
    values |= {"part": part, "unread": unread}
    shows = {"encoder_cache_size": right, "step": 1}
    return Question("encoder", "encoder", right, mistakes, shows, values, (), 1, 2 * usual.budget)


def _got(size: int) -> int:
    """What the second request gets in t1 with an encoder cache of that size."""
    this = _variant(schedules.ENCODER, encoder_cache_size=size)
    return this.trace.steps[1].scheduled[this.scenario.requests[1].id]


def _long_prefill() -> Question:
    """No cap: when does the second request get its first tokens?"""
    schedule = schedules.LONG_PREFILL
    this, capped = _variant(schedule, long_prefill_token_threshold=0), _variant(schedule)
    long, short = this.scenario.requests[:2]
    right = _first(this, short.id)
    read = next(step.step for step in this.trace.steps if step.computed.get(long.id, 0) >= long.prompt_tokens)
    mistakes = {
        "capped": f"t{_first(capped, short.id)}",
        "alone": f"t{read + 1}",
        "turns": f"t{short.arrival_step + 1}",
    }
    values = {"id": short.id, "long": long.id, "P": long.prompt_tokens, "Q": short.prompt_tokens, "right": right}
    values |= {"read": read, "rest": this.trace.steps[read].scheduled[long.id], "budget": this.budget}
    shows = {"long_prefill_token_threshold": 0, "step": right}
    options = _steps(this, short.id, short.arrival_step, read + 1)
    return Question("long-prefill", "long-prefill", f"t{right}", mistakes, shows, values, options)
