"""Encoder outputs of images: the cache, and which images a step encodes.

Source: `vllm/v1/core/encoder_cache_manager.py::EncoderCacheManager` and
`vllm/v1/core/sched/scheduler.py::Scheduler._try_schedule_encoder_inputs`. Sizes are in tokens of the prompt: every
token of an image stands for one embedding.
"""

from bisect import bisect_left
from collections import OrderedDict
from typing import NamedTuple

from . import reasons
from .reasons import Reason
from .request import Request


class EncoderCacheManager:
    """Outputs by hash, who refers to them, and those without a reference, oldest first, to be evicted for room."""

    def __init__(self, cache_size: int) -> None:
        self.cache_size = cache_size
        self.num_free_slots = cache_size
        self.num_freeable_slots = cache_size
        self.lengths: dict[str, int] = {}
        # Per hash, how many images of which request refer to it.
        self._references: dict[str, dict[str, int]] = {}
        self._input_ids: dict[str, set[int]] = {}
        self._freeable: OrderedDict[str, int] = OrderedDict()

    def check_and_update_cache(self, request: Request, input_id: int) -> bool:
        """Whether the output of this image is there; if so, `request` now refers to it."""
        mm_hash = request.images[input_id].hash
        if mm_hash not in self._references:
            return False
        if not self._references[mm_hash]:
            self.num_freeable_slots -= self._freeable.pop(mm_hash)
        self._refer(request, input_id)
        return True

    def can_allocate(self, length: int, num_tokens_to_schedule: int) -> bool:
        """Whether `length` tokens fit after `num_tokens_to_schedule`; evicts what has no reference to make room."""
        length += num_tokens_to_schedule
        if length <= self.num_free_slots:
            return True
        if length > self.num_freeable_slots:
            return False
        while length > self.num_free_slots:
            mm_hash, freed = self._freeable.popitem(last=False)
            del self._references[mm_hash]
            del self.lengths[mm_hash]
            self.num_free_slots += freed
        return True

    def allocate(self, request: Request, input_id: int) -> None:
        """Room for an output that this step computes; `can_allocate` said that there is."""
        image = request.images[input_id]
        self._references.setdefault(image.hash, {})
        self.lengths.setdefault(image.hash, image.length)
        self._refer(request, input_id)
        self.num_free_slots -= image.length
        self.num_freeable_slots -= image.length

    def _refer(self, request: Request, input_id: int) -> None:
        input_ids = self._input_ids.setdefault(request.request_id, set())
        if input_id not in input_ids:
            input_ids.add(input_id)
            counts = self._references[request.images[input_id].hash]
            counts[request.request_id] = counts.get(request.request_id, 0) + 1

    def free_encoder_input(self, request: Request, input_id: int) -> None:
        """`request` needs this image no longer; the output stays until its room is needed."""
        input_ids = self._input_ids.get(request.request_id, set())
        if input_id not in input_ids:
            return
        input_ids.remove(input_id)
        mm_hash = request.images[input_id].hash
        counts = self._references[mm_hash]
        counts[request.request_id] -= 1
        if counts[request.request_id]:
            return
        del counts[request.request_id]
        if not counts:
            self._freeable[mm_hash] = self.lengths[mm_hash]
            self.num_freeable_slots += self.lengths[mm_hash]

    def free_computed(self, request: Request) -> None:
        """Let go of the images that are behind the computed tokens for good.

        Source: `vllm/v1/core/sched/scheduler.py::Scheduler._free_encoder_inputs`.
        """
        computed = request.num_computed_tokens - request.num_output_placeholders
        for input_id in sorted(self._input_ids.get(request.request_id, ())):
            image = request.images[input_id]
            if image.offset + image.length <= computed:
                self.free_encoder_input(request, input_id)

    def free(self, request: Request) -> None:
        """`request` is gone or preempted: let go of all its images."""
        for input_id in sorted(self._input_ids.get(request.request_id, ())):
            self.free_encoder_input(request, input_id)
        self._input_ids.pop(request.request_id, None)

    def state(self) -> tuple[object, ...]:
        """All that decides what comes next, for comparing moments of a run."""
        return (tuple(self._freeable), tuple((key, tuple(value.items())) for key, value in self._references.items()))


class EncoderPlan(NamedTuple):
    """Which images of a request a step encodes, and what is left for its tokens.

    `reason` says why there are fewer tokens than asked for, `None` when there are not.
    """

    num_new_tokens: int
    budget: int
    inputs: list[int]
    duplicates: list[int]
    reason: Reason | None = None
    mismatch: bool = False


def try_schedule_encoder_inputs(
    cache: EncoderCacheManager,
    request: Request,
    num_computed_tokens: int,
    num_new_tokens: int,
    budget: int,
    disable_chunked_mm_input: bool,
) -> EncoderPlan:
    """The images that the next `num_new_tokens` of `request` reach, as far as budget and cache allow.

    Args:
        cache: may evict and takes references; the plan itself is not allocated yet.
        request: a request with images, sorted by offset.
        num_computed_tokens: tokens computed before this step, cached ones included.
        num_new_tokens: tokens that the step would give.
        budget: image tokens that the encoder may still compute in this step.
        disable_chunked_mm_input: never give a part of an image.
    """
    if num_new_tokens == 0:
        return EncoderPlan(0, budget, [], [])
    inputs, duplicates, scheduled = list[int](), list[int](), dict[str, int]()
    reason: Reason | None = None
    end = num_computed_tokens + num_new_tokens
    for i in _images_between(request, num_computed_tokens, end):
        image = request.images[i]
        start = image.offset
        if disable_chunked_mm_input and num_computed_tokens <= start and end < start + image.length:
            num_new_tokens = max(0, start - num_computed_tokens)
            reason = reasons.chunked_mm_input_off(image.length, end - start)
            break
        known = scheduled.get(image.hash, cache.lengths.get(image.hash, image.length))
        if known != image.length:
            return EncoderPlan(0, budget, [], [], reasons.encoder_mismatch(image.length, known), mismatch=True)
        if image.hash in scheduled:
            duplicates.append(i)
        if image.hash in scheduled or cache.check_and_update_cache(request, i):
            continue
        if image.length > budget or not cache.can_allocate(image.length, sum(scheduled.values())):
            # The encoder takes an image whole: stop before it, or not at all when the step begins inside it.
            num_new_tokens = min(num_new_tokens, start - num_computed_tokens) if num_computed_tokens < start else 0
            reason = reasons.encoder_cache(image.length, cache.num_freeable_slots - sum(scheduled.values()))
            if image.length > budget:
                reason = reasons.encoder_budget(image.length, budget)
            break
        if max(0, num_computed_tokens - start) == min(image.length, end - start):
            continue  # images out of order: this one does not reach into the step after all
        budget -= image.length
        scheduled[image.hash] = image.length
        inputs.append(i)
    return EncoderPlan(num_new_tokens, budget, inputs, duplicates, reason)


def _images_between(request: Request, start: int, end: int) -> range:
    """Indices of the images that overlap tokens `start` up to `end`.

    By bisection as in `vllm/multimodal/utils.py::get_mm_features_in_window`, so that images out of order or across
    each other give what they give there.
    """
    low = bisect_left(request.images, start + 1, key=lambda image: image.offset + image.length)
    high = bisect_left(request.images, end, key=lambda image: image.offset)
    return range(low, high)
