"""Why a request got nothing, or less than it asked for: the codes and their operands.

A reason is made where the scheduler decides, from the numbers that it decided with. What stopped a scan is recorded
once; `fill` gives every request behind it its own reason when somebody reads. `docs/model.md` lists for each code the
place in vLLM.
"""

from collections.abc import Iterable, Mapping

Reason = Mapping[str, int | str | list[str]]
"""`code`, then the operands; a new mapping each time, never changed."""


def token_budget(budget: int, used: int) -> Reason:
    """All tokens of the step are handed out."""
    return {"code": "token_budget", "budget": budget, "used": used}


def draft_slots(needs: int, left: int) -> Reason:
    """The input positions left are no more than a scheduled request keeps for its drafter."""
    return {"code": "draft_slots", "needs": needs, "left": left}


def max_num_seqs(limit: int, running: int) -> Reason:
    """As many requests run as may."""
    return {"code": "max_num_seqs", "limit": limit, "running": running}


def chunked_prefill_off(needs: int, left: int) -> Reason:
    """The prompt is longer than what is left of the budget and may not be cut."""
    return {"code": "chunked_prefill_off", "needs": needs, "left": left}


def kv_blocks(needs: int, free: int, watermark: int) -> Reason:
    """It needs more blocks than are free above the watermark."""
    return {"code": "kv_blocks", "needs": needs, "free": free, "watermark": watermark}


def preempted(by: str, needs: int, free: int) -> Reason:
    """It lost its blocks in this step, to `by`, which may be itself."""
    return {"code": "preempted", "by": by, "needs": needs, "free": free}


def after_preemption(victims: list[str]) -> Reason:
    """Nobody is admitted in a step that preempted."""
    return {"code": "after_preemption", "victims": victims}


def head_of_line(behind: str, because: str) -> Reason:
    """The scan of the waiting queue ended at an earlier request."""
    return {"code": "head_of_line", "behind": behind, "because": because}


def prefill_interval(steps_left: int) -> Reason:
    """Prefill is held back until the interval is over."""
    return {"code": "prefill_interval", "steps_left": steps_left}


def encoder_budget(needs: int, left: int) -> Reason:
    """The next image is larger than what the encoder may still compute in this step."""
    return {"code": "encoder_budget", "needs": needs, "left": left}


def encoder_cache(needs: int, free: int) -> Reason:
    """The next image does not fit into the encoder cache."""
    return {"code": "encoder_cache", "needs": needs, "free": free}


def chunked_mm_input_off(needs: int, left: int) -> Reason:
    """The next image may not be cut, and the tokens that are left do not cover it."""
    return {"code": "chunked_mm_input_off", "needs": needs, "left": left}


def encoder_mismatch(needs: int, known: int) -> Reason:
    """Its image has the hash of an image of another length; the request will be ended with an error."""
    return {"code": "encoder_mismatch", "needs": needs, "known": known}


def max_loras(limit: int, lora: int) -> Reason:
    """As many adapters are in use as may, and this is another one."""
    return {"code": "max_loras", "limit": limit, "lora": lora}


def spec_padding(needs: int, left: int) -> Reason:
    """It would run with its draft slots filled up or not at all, and they do not fit."""
    return {"code": "spec_padding", "needs": needs, "left": left}


def model_len(limit: int) -> Reason:
    """The sequence has reached max_model_len."""
    return {"code": "model_len", "limit": limit}


def beyond_prompt(computed: int, known: int) -> Reason:
    """An image that reaches outside its prompt took the request past its known tokens; it lacks nothing now."""
    return {"code": "beyond_prompt", "computed": computed, "known": known}


def long_prefill_token_threshold(limit: int) -> Reason:
    """One request gets at most so many tokens while others are there."""
    return {"code": "long_prefill_token_threshold", "limit": limit}


def async_finishing() -> Reason:
    """The batch in flight brings its last token for certain."""
    return {"code": "async_finishing"}


def async_stale_output() -> Reason:
    """It was preempted while a batch with it was in flight, and that output has not come back yet."""
    return {"code": "async_stale_output"}


def fill(
    running: Iterable[str],
    waiting: Iterable[str],
    scheduled: Mapping[str, int],
    skipped: Mapping[str, Reason],
    running_stop: Reason | None,
    waiting_stop: Reason | None,
) -> dict[str, Reason]:
    """A reason for every request of a step without tokens, running ones first, then waiting ones, in queue order.

    Args:
        running, waiting: the queues after the step was scheduled.
        scheduled: tokens given.
        skipped: requests that the scheduler passed over one by one, or preempted.
        running_stop, waiting_stop: what ended either scan before its queue did.
    """
    why: dict[str, Reason] = {}
    for request_id in running:
        if request_id not in scheduled:
            reason = skipped.get(request_id, running_stop)
            assert reason is not None, request_id
            why[request_id] = reason
    head = None
    for request_id in waiting:
        if request_id in skipped:
            why[request_id] = skipped[request_id]
            continue
        assert waiting_stop is not None, request_id
        if waiting_stop["code"] == "after_preemption":
            why[request_id] = waiting_stop
        elif head is None:
            head = request_id
            why[request_id] = waiting_stop
        else:
            why[request_id] = head_of_line(head, str(waiting_stop["code"]))
    return why
