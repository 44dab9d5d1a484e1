"""For each reason code, what must hold in the trace if the reason is true.

`CLAIMS[code](moment, request_id, reason)` gives what is wrong, in words, or nothing.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from tests.golden.replay import Life, Moment

Json = dict[str, Any]
Claim = Callable[[Moment, str, Json], Iterator[str]]

ENDS_A_SCAN = {
    *("token_budget", "draft_slots", "max_num_seqs", "chunked_prefill_off", "kv_blocks", "prefill_interval"),
    "spec_padding",
}
"""What may keep a request at the head of the queue, and all behind it."""


def _blocks(num_tokens: int, moment: Moment) -> int:
    slots = min(num_tokens, moment.config["max_model_len"])
    return int(-(-slots // moment.config["block_size"]))


def _padding(moment: Moment) -> int:
    return int(moment.config.get("num_speculative_tokens", 0))


def _first_wait(moment: Moment, life: Life) -> tuple[int, int, int]:
    """Of a waiting request: tokens that it lacks, its cached blocks, and those of them that nobody owns."""
    hits = evictable = 0
    if moment.config.get("enable_prefix_caching"):
        hits, evictable = moment.cache.hits(life.spec, life.known)
    return life.known - hits * moment.config["block_size"], hits, evictable


def _samples_in_flight(moment: Moment, request_id: str) -> bool:
    return any(request_id in flight["generated"] for flight in moment.in_flight)


def token_budget(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    total = sum(moment.step["scheduled"].values())
    budget = min(moment.token_budget, moment.config["max_num_batched_tokens"])
    if not reason["used"] == reason["budget"] == total == budget:
        yield f"used = budget = {total} scheduled = {budget} set does not hold"


def draft_slots(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    left = moment.budget_left() + moment.draft_slots
    if not reason["left"] == left <= reason["needs"] == moment.draft_slots:
        yield f"left = {left} <= needs = {moment.draft_slots} does not hold"


def max_num_seqs(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    running = len(moment.step["running"])
    if not reason["limit"] == moment.slots <= reason["running"] == running:
        yield f"limit = {moment.slots} <= running = {running} does not hold"


def chunked_prefill_off(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    lacks = _first_wait(moment, moment.lives[request_id])[0]
    paddings = {0, _padding(moment)} if lacks == 1 else {0}
    needs = {min(lacks + padding, moment.threshold or lacks + padding) for padding in paddings}
    if reason["needs"] not in needs or reason["left"] != moment.budget_left():
        yield f"needs in {needs}, left = {moment.budget_left()} does not hold"
    if reason["needs"] <= reason["left"] or moment.config["enable_chunked_prefill"]:
        yield "it would fit, or may be cut"


def kv_blocks(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    config, life = moment.config, moment.lives[request_id]
    lacks, hits, evictable = _first_wait(moment, life)
    most = min(lacks + (_padding(moment) if lacks == 1 else 0), moment.threshold or lacks + 1000, moment.budget_left())
    # How far images cut a share is not told by the trace.
    shares = [most] if not life.spec.get("images") and lacks > 1 else range(min(most, 1), most + 1)
    start = life.known - lacks + (config.get("num_lookahead_tokens") or 0)
    needs = {max(_blocks(start + share, moment) - hits, 0) + evictable for share in shares}
    if config["scheduler_reserve_full_isl"]:
        needs = {max(n, max(_blocks(life.known, moment) - hits, 0) + evictable) for n in needs}
    watermark = int(config.get("watermark", 0) * config["num_gpu_blocks"]) if moment.step["running"] else 0
    if reason["needs"] not in needs or reason["watermark"] != watermark:
        yield f"needs in {needs}, watermark = {watermark} does not hold"
    if reason["free"] != moment.step["free_blocks"]:
        yield f"free = {moment.step['free_blocks']} does not hold"
    if reason["needs"] <= reason["free"] - reason["watermark"]:
        yield "it would fit"


def preempted(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    by, gained = reason["by"], moment.step["blocks"].get(reason["by"], [])
    if request_id not in moment.step["preempted"] or request_id not in moment.running:
        yield "it was not preempted"
    if by not in moment.running:
        yield f"{by} did not run"
    elif by not in moment.step["scheduled"] and by not in moment.step["preempted"]:
        yield f"{by} got nothing and was not preempted either"
    if by in moment.step["scheduled"] and reason["needs"] != len(gained):
        yield f"{by} gained {len(gained)} blocks"
    if reason["needs"] <= reason["free"]:
        yield "there was room"
    free = _free_when_refused(moment, request_id, by)
    if free is not None and reason["free"] != free:
        yield f"free = {free} does not hold"
    rest = [victim for victim in moment.running if victim not in moment.step["preempted"]]
    if moment.config["policy"] == "priority":
        worse = [r for r in rest if moment.lives[r].key > moment.lives[request_id].key]
    else:
        worse = moment.running[moment.running.index(request_id) :]
        worse = [r for r in worse if r in rest]
    if worse:
        yield f"{worse} would have been the victim"


def _free_when_refused(moment: Moment, victim: str, by: str) -> int | None:
    """Free blocks when `victim` had to go, counted back from the end of the step; `None` where blocks are shared.

    First come, first served: victims go from the last one on, and nobody who is served loses what it was given.
    """
    if moment.config["policy"] == "priority" or moment.config.get("enable_prefix_caching"):
        return None
    order, step = moment.running, moment.step
    given = sum(len(blocks) for r, blocks in step["blocks"].items() if order.index(r) >= order.index(by))
    back = sum(blocks for r, blocks in moment.freed.items() if order.index(r) <= order.index(victim))
    return int(step["free_blocks"]) + given - back


def after_preemption(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    if not reason["victims"] or reason["victims"] != moment.step["preempted"]:
        yield f"victims = {moment.step['preempted']} does not hold"
    if request_id not in moment.waiting:
        yield "it did not wait"


def head_of_line(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    behind, queue, why = reason["behind"], moment.step["waiting"], moment.step["why"]
    if behind not in queue or queue.index(behind) >= queue.index(request_id):
        yield f"{behind} does not stand before it"
    elif reason["because"] != why[behind]["code"]:
        yield f"{behind} waits because of {why[behind]['code']}"
    if reason["because"] not in ENDS_A_SCAN:
        yield f"{reason['because']} ends no scan"


def prefill_interval(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    interval, life = moment.config["prefill_schedule_interval"], moment.lives[request_id]
    if moment.steps_since_prefill is not None and reason["steps_left"] != interval - moment.steps_since_prefill:
        yield f"steps_left = {interval} - {moment.steps_since_prefill} does not hold"
    if reason["steps_left"] < 1:
        yield "the interval is over"
    if all(moment.lives[r].is_chunk for r in moment.running):
        yield "nobody decodes"
    held = life.is_chunk if request_id in moment.running else _first_wait(moment, life)[0] > 1
    if not held:
        yield "it has no prefill to hold back"


def max_loras(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    specs = [moment.lives[r].spec for r in moment.step["running"]]
    there = {spec["lora"] for spec in specs if spec.get("lora")}
    lora = moment.lives[request_id].spec["lora"]
    if reason["limit"] != moment.config["max_loras"] or len(there) != reason["limit"]:
        yield f"{len(there)} adapters of {moment.config['max_loras']} are in use"
    if reason["lora"] != lora or lora in there:
        yield f"its adapter {lora} is in use, or is not the one told"


def spec_padding(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    lacks = _first_wait(moment, moment.lives[request_id])[0]
    if lacks != 1 or reason["needs"] != 1 + _padding(moment):
        yield f"it lacks {lacks} and {_padding(moment)} are padded"
    if not reason["needs"] > reason["left"] == moment.budget_left():
        yield f"left = {moment.budget_left()} does not hold, or it would fit"


def model_len(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    limit, computed = moment.config["max_model_len"], moment.lives[request_id].computed
    if reason["limit"] != limit or computed < limit - 1:
        yield f"{computed} of {limit} are computed"


def beyond_prompt(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    life = moment.lives[request_id]
    if not (reason["computed"] == life.computed >= life.known == reason["known"]):
        yield f"computed = {life.computed} >= known = {life.known} does not hold"


def async_finishing(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    life = moment.lives[request_id]
    if not _samples_in_flight(moment, request_id):
        yield "nothing of it is in flight"
    if life.num_generated + 1 < life.spec["output_tokens"]:
        yield f"{life.num_generated} of {life.spec['output_tokens']} are there"


def _in_order(life: Life) -> bool:
    """Whether the images are within the prompt and one after the other; vLLM does not look for all others."""
    ends = [(image["offset"], image["offset"] + image["length"]) for image in life.spec.get("images") or ()]
    return all(end <= start for (_, end), (start, _) in pairwise([*ends, (life.spec["prompt_tokens"],) * 2]))


def _image_lengths(moment: Moment, request_id: str) -> set[int]:
    """Lengths of the images that are not behind the request's computed tokens."""
    life = moment.lives[request_id]
    computed = life.computed if _in_order(life) else 0
    return {image["length"] for image in life.spec.get("images") or () if image["offset"] + image["length"] > computed}


def _encoder_budget_before(moment: Moment, request_id: str) -> range:
    """What the encoder could still compute when it was the request's turn."""
    order = [*moment.running, *moment.waiting]
    before = order[: order.index(request_id)]
    used = {
        r: sum(moment.lives[r].spec["images"][i]["length"] for i in inputs)
        for r, inputs in moment.step["encoder"].items()
    }
    left = moment.config["encoder_compute_budget"] - sum(n for r, n in used.items() if r in before)
    life = moment.lives[request_id]
    own = 0 if _in_order(life) else sum(image["length"] for image in life.spec.get("images") or ())
    most = moment.config["encoder_compute_budget"] if moment.step["preempted"] else left
    return range(left - own, most + 1)


def encoder_budget(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    if reason["needs"] not in _image_lengths(moment, request_id):
        yield "it has no such image"
    if reason["needs"] <= reason["left"]:
        yield "there is budget"
    if reason["left"] not in (budget := _encoder_budget_before(moment, request_id)):
        yield f"left in {budget} does not hold"


def encoder_cache(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    config = moment.config
    if reason["needs"] not in _image_lengths(moment, request_id):
        yield "it has no such image"
    if reason["needs"] <= reason["free"]:
        yield "there is room"
    size = config.get("encoder_cache_size") or config["encoder_compute_budget"]
    if reason["free"] > size - _surely_held(moment):
        yield f"at least {_surely_held(moment)} of {size} are held"


def _surely_held(moment: Moment) -> int:
    """Image tokens of the images in whose middle a running request stands before and after the step."""
    held: dict[object, int] = {}
    staying = [r for r in moment.running if r not in moment.step["preempted"] and _in_order(moment.lives[r])]
    for request_id in staying:
        life = moment.lives[request_id]
        after = moment.step["computed"].get(request_id, life.computed)
        for i, image in enumerate(life.spec.get("images") or ()):
            if image["offset"] < life.computed <= after < image["offset"] + image["length"]:
                held[image.get("hash", (request_id, i))] = image["length"]
    return sum(held.values())


def chunked_mm_input_off(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    if not moment.config.get("disable_chunked_mm_input"):
        yield "images may be cut"
    if reason["needs"] not in _image_lengths(moment, request_id):
        yield "it has no such image"
    if not 0 < reason["left"] < reason["needs"]:
        yield "the image fits"


def encoder_mismatch(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    if reason["needs"] not in _image_lengths(moment, request_id) or reason["needs"] == reason["known"]:
        yield "no image of it has another length than known"
    # It ends with the next outputs that are applied, whichever step they are of.
    if not any(request_id in step["finished"] for step in (*moment.in_flight, moment.step)):
        yield "it did not end"


CLAIMS: dict[str, Claim] = {
    claim.__name__: claim
    for claim in (
        *(token_budget, draft_slots, max_num_seqs, chunked_prefill_off, kv_blocks, preempted, after_preemption),
        *(head_of_line, prefill_interval, max_loras, spec_padding, model_len, beyond_prompt, async_finishing),
        *(encoder_budget, encoder_cache, chunked_mm_input_off, encoder_mismatch),
    )
}


def capped(moment: Moment, request_id: str, reason: Json) -> Iterator[str]:
    """What must hold of a request that got less than it wanted."""
    config, life = moment.config, moment.lives[request_id]
    got, after = moment.step["scheduled"].get(request_id), moment.step["computed"].get(request_id, 0)
    if reason["got"] != got or reason["wanted"] <= got:
        yield f"got = {got} < wanted does not hold"
        return
    before = after - got
    in_flight = _samples_in_flight(moment, request_id)
    if not config.get("num_speculative_tokens") and reason["wanted"] != life.known + in_flight - before:
        yield f"wanted = {life.known} + {in_flight} - {before} does not hold"
    starts = {image["offset"] for image in life.spec.get("images") or ()}
    bound = {
        "token_budget": moment.step["preempted"] or got == moment.budget_left(request_id),
        "long_prefill_token_threshold": got == moment.threshold,
        "model_len": after == config["max_model_len"] - 1,
        "encoder_budget": after in starts,
        "encoder_cache": after in starts,
        "chunked_mm_input_off": after in starts,
    }
    if not bound[reason["code"]]:
        yield f"{reason['code']} did not bind: {got} of {before}..{after}"
