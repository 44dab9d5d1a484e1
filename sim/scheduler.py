"""The scheduler: `schedule()` is the running loop, then the waiting loop, to be read beside vLLM's.

Source: `vllm/v1/core/sched/scheduler.py::Scheduler` and `async_scheduler.py::AsyncScheduler`. Left out there is what
`docs/model.md` lists: remote KV, grammars, pipeline and data parallelism, Mamba alignment, pooling, pausing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from . import reasons
from .encoder_cache import EncoderPlan, try_schedule_encoder_inputs
from .kv_cache import NoFreeBlocks
from .output import SchedulerOutput
from .reasons import Reason
from .request import Request, RequestStatus
from .scheduler_state import SchedulerState


class VllmAssertion(Exception):
    """vLLM itself would stop here with a failed assertion; `field` is the parameter that leads to it."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


class Share(NamedTuple):
    """What a request may get: tokens, of those it wanted; why fewer; the images to encode."""

    num_new_tokens: int
    wanted: int
    reason: Reason | None
    encoder: EncoderPlan | None


class Scheduler(SchedulerState):
    """Decides, step by step, how many tokens each request computes."""

    def schedule(self) -> SchedulerOutput:
        """Plan one step: who computes how many tokens. Mutates queues, blocks and the counters of each request."""
        step = SchedulerOutput(
            token_budget=self.max_num_scheduled_tokens,
            input_budget=self.config.max_num_batched_tokens,
            encoder_compute_budget=self.config.encoder_compute_budget,
            defer_prefills=self._defer_prefills(),
            long_prefill_token_threshold=self._long_prefill_token_threshold(),
        )
        self._schedule_running(step)
        if step.preempted:
            step.waiting_stop = reasons.after_preemption(sorted(step.preempted))
        else:
            self._schedule_waiting(step)
        _assert_budget_kept(step)
        self._update_after_schedule(step)
        return step

    def _schedule_running(self, step: SchedulerOutput) -> None:
        """First, the running requests, in order: each gets what it lacks, as far as budget and blocks go."""
        req_index = 0
        while req_index < len(self.running):
            step.running_stop = self._budget_used_up(step)
            if step.running_stop is not None:
                break
            request = self.running[req_index]
            share = self._running_share(request, step)
            if share.num_new_tokens <= 0:
                # The next in line may go ahead: this is not strictly first come, first served.
                step.skipped[request.request_id] = _needed(share.reason)
                req_index += 1
                continue

            new_blocks = self.kv_cache_manager.allocate_slots(request, share.num_new_tokens)
            while isinstance(new_blocks, NoFreeBlocks):
                victim, req_index = self._preempt_for(request, new_blocks, req_index, step)
                if victim is request:
                    break
                new_blocks = self.kv_cache_manager.allocate_slots(request, share.num_new_tokens)
            if isinstance(new_blocks, NoFreeBlocks):
                # It gave itself up: the last (FCFS), nobody is behind it; or the worst (priority), others may fit.
                continue

            step.prefill_scheduled |= request.is_prefill_chunk
            self._give(request, share, new_blocks, self._num_drafts_in(request, share.num_new_tokens), step)
            request.num_spec_tokens = 0
            req_index += 1

    def _schedule_waiting(self, step: SchedulerOutput) -> None:
        """Next, the waiting requests, in order, until one of them cannot be admitted."""
        step.running_scheduled = bool(step.num_scheduled_tokens)
        scheduled_loras = {request.lora for request in self.running if request.lora}
        skipped: list[Request] = []
        while self.waiting:
            step.waiting_stop = self._budget_used_up(step) or self._no_slot()
            if step.waiting_stop is not None:
                break
            request = self.waiting.peek_request()
            skip = self._not_ready(request, scheduled_loras)
            if skip is not None:
                skipped.append(self._skip(request, skip, step))
                continue

            computed_blocks, num_computed_tokens = self.kv_cache_manager.get_computed_blocks(request)
            num_padding = self._num_padding(request, num_computed_tokens, step)
            step.waiting_stop = self._may_not_be_cut(request, num_computed_tokens, num_padding, step)
            if step.waiting_stop is not None:
                break
            share = self._waiting_share(request, num_computed_tokens, num_padding, step)
            if share.num_new_tokens <= 0:
                skipped.append(self._skip(request, _needed(share.reason), step))
                continue

            new_blocks = self._allocate_for_admission(
                request, share.num_new_tokens, num_computed_tokens, computed_blocks
            )
            if isinstance(new_blocks, NoFreeBlocks):
                step.waiting_stop = reasons.kv_blocks(*new_blocks)
                break

            _assert_padding_kept(share, num_padding, step)
            self._admit(self.waiting.pop_request(), num_computed_tokens, step)
            if request.lora:
                scheduled_loras.add(request.lora)
            self._give(request, share, (*computed_blocks, *new_blocks), num_padding, step)

        self.waiting.prepend_requests(skipped)
        if not step.defer_prefills:
            self.prefill_capacity_bound = len(self.waiting) > len(self.deferred_waiting)

    # ------------------------------------------------------------------ rules of both loops

    def _defer_prefills(self) -> bool:
        """Whether this step holds all prefill back, so that decodes run alone (`prefill_schedule_interval`)."""
        return (
            self.config.prefill_schedule_interval > 1
            # Once a step with prefill could not take in all that waits, holding back would only let it grow.
            and not self.prefill_capacity_bound
            and self.num_executed_steps + 1 - self.last_prefill_step < self.config.prefill_schedule_interval
            and any(not request.is_prefill_chunk for request in self.running)
        )

    def _prefill_held(self) -> Reason:
        passed = self.num_executed_steps + 1 - self.last_prefill_step
        return reasons.prefill_interval(self.config.prefill_schedule_interval - passed)

    def _long_prefill_token_threshold(self) -> int:
        """Most tokens for one request in this step, 0 for no limit: alone, a request has nobody to starve."""
        num_requests = len(self.running) + len(self.waiting)
        threshold = self.config.long_prefill_token_threshold if num_requests > 1 else 0
        if threshold and self.config.long_prefill_token_threshold_adaptive:
            threshold = max(threshold, self.config.max_num_batched_tokens // num_requests)
        return threshold

    def _budget_used_up(self, step: SchedulerOutput) -> Reason | None:
        """What ends either loop: no tokens left, or no input positions beside the draft slots."""
        if step.token_budget <= 0:
            return reasons.token_budget(self.max_num_scheduled_tokens, self.max_num_scheduled_tokens)
        if step.input_budget > self.draft_slots:
            return None
        if self.draft_slots:
            return reasons.draft_slots(self.draft_slots, step.input_budget)
        return reasons.token_budget(self.config.max_num_batched_tokens, self.config.max_num_batched_tokens)

    def _budget_left(self, step: SchedulerOutput) -> int:
        """Tokens that one more request can get; at least 1 within the loops."""
        return min(step.token_budget, step.input_budget - self.draft_slots)

    def _cap(self, wanted: int, step: SchedulerOutput) -> tuple[int, Reason | None]:
        """`wanted` tokens cut by threshold and budget, and what cut them."""
        num_tokens, reason = wanted, None
        if 0 < step.long_prefill_token_threshold < num_tokens:
            num_tokens = step.long_prefill_token_threshold
            reason = reasons.long_prefill_token_threshold(num_tokens)
        left = self._budget_left(step)
        if left < num_tokens:
            num_tokens = left
            reason = reasons.token_budget(self.max_num_scheduled_tokens, self.max_num_scheduled_tokens)
        return num_tokens, reason

    def _give(
        self, request: Request, share: Share, new_blocks: Sequence[int], num_drafts: int, step: SchedulerOutput
    ) -> None:
        step.give(request, share.num_new_tokens, new_blocks, num_drafts, self.draft_slots)
        if share.num_new_tokens < share.wanted:
            code = _needed(share.reason)["code"]
            step.capped[request.request_id] = {"code": code, "wanted": share.wanted, "got": share.num_new_tokens}
        if share.encoder is not None and share.encoder.inputs:
            step.give_encoder(request, share.encoder.inputs, share.encoder.budget)
            for input_id in share.encoder.inputs:
                self.encoder_cache_manager.allocate(request, input_id)
            for input_id in share.encoder.duplicates:
                self.encoder_cache_manager.check_and_update_cache(request, input_id)

    # ------------------------------------------------------------------ rules of the running loop

    def _running_share(self, request: Request, step: SchedulerOutput) -> Share:
        """What a running request may get; nothing, with the reason, when it is passed over."""
        if request.ends_with_output_in_flight():
            return Share(0, 0, reasons.async_finishing(), None)
        if step.defer_prefills and request.is_prefill_chunk:
            return Share(0, 0, self._prefill_held(), None)
        computed = request.num_computed_tokens
        wanted = request.num_tokens_with_spec + request.num_output_placeholders - computed
        num_new_tokens, reason = self._cap(wanted, step)
        # The token that this step samples needs a place too. Less than none is left after a prompt beyond the limit.
        room = self.config.max_model_len - computed - 1
        if room < num_new_tokens:
            num_new_tokens, reason = room, reasons.model_len(self.config.max_model_len)
        if wanted <= 0:
            reason = reasons.beyond_prompt(computed, request.num_tokens)
        return self._with_encoder(request, computed, Share(num_new_tokens, wanted, reason, None), step)

    @staticmethod
    def _num_drafts_in(request: Request, num_new_tokens: int) -> int:
        """How many of the new tokens are drafts to verify; those that were cut off are forgotten."""
        num_known = request.num_tokens + request.num_output_placeholders - request.num_computed_tokens
        return min(num_new_tokens - num_known, request.num_spec_tokens)

    def _preempt_for(
        self, request: Request, refused: NoFreeBlocks, req_index: int, step: SchedulerOutput
    ) -> tuple[Request, int]:
        """Preempt one running request and put it back to wait.

        FCFS takes the last; priority the worst, whose tokens of this step are given back. Returns the victim and the
        index of the request that is being scheduled, which moves when the victim stood before it.
        """
        if self.priority_policy:
            victim = max(self.running, key=lambda request: request.sort_key)
            victim_index = self.running.index(victim)
            del self.running[victim_index]
            if victim_index < req_index:
                req_index -= 1
            step.take_back(victim, self.draft_slots)
        else:
            victim = self.running.pop()
        self._preempt_request(victim)
        step.preempted.append(victim.request_id)
        step.skipped[victim.request_id] = reasons.preempted(request.request_id, refused.needs, refused.free)
        return victim, req_index

    def _preempt_request(self, request: Request) -> None:
        """Blocks and encoder outputs back, progress to 0; it waits in front (FCFS) or where its priority puts it."""
        self.kv_cache_manager.free(request)
        self.encoder_cache_manager.free(request)
        request.preempt()
        self.waiting.prepend_request(request)

    # ------------------------------------------------------------------ rules of the waiting loop

    def _not_ready(self, request: Request, scheduled_loras: set[int]) -> Reason | None:
        """Why the scan passes over `request` and goes on, or `None`."""
        if request.num_stale_output_tokens:
            # Resumed now, it might sample again a token that is still to come.
            return reasons.async_stale_output()
        max_loras = self.config.max_loras
        if max_loras and request.lora and len(scheduled_loras) == max_loras and request.lora not in scheduled_loras:
            return reasons.max_loras(max_loras, request.lora)
        return None

    def _no_slot(self) -> Reason | None:
        if len(self.running) < self.max_num_active_reqs:
            return None
        return reasons.max_num_seqs(self.max_num_active_reqs, len(self.running))

    def _skip(self, request: Request, reason: Reason, step: SchedulerOutput) -> Request:
        step.skipped[request.request_id] = reason
        self.deferred_waiting.add(request.request_id)
        return self.waiting.pop_request()

    def _num_padding(self, request: Request, num_computed_tokens: int, step: SchedulerOutput) -> int:
        """Draft slots that fill a new decode up to the size of the running ones, so that the batch stays uniform."""
        num_drafts = self.config.num_speculative_tokens
        pads = (
            num_drafts > 0
            and request.num_tokens - num_computed_tokens == 1
            and not step.prefill_scheduled
            and (step.running_scheduled or num_computed_tokens > 0)
            and num_computed_tokens + 1 + num_drafts + 1 <= self.config.max_model_len
        )
        return num_drafts if pads else 0

    def _may_not_be_cut(
        self, request: Request, num_computed_tokens: int, num_padding: int, step: SchedulerOutput
    ) -> Reason | None:
        """Why the scan ends at `request` although there is budget: it would have to run in part, and may not."""
        needs = request.num_tokens - num_computed_tokens
        if step.defer_prefills and needs > 1:
            return self._prefill_held()
        needs += num_padding
        left = self._budget_left(step)
        if num_padding and needs > left:
            return reasons.spec_padding(needs, left)
        needs = min(needs, step.long_prefill_token_threshold or needs)
        if not self.config.enable_chunked_prefill and needs > left:
            return reasons.chunked_prefill_off(needs, left)
        return None

    def _waiting_share(
        self, request: Request, num_computed_tokens: int, num_padding: int, step: SchedulerOutput
    ) -> Share:
        wanted = request.num_tokens - num_computed_tokens + num_padding
        num_new_tokens, reason = self._cap(wanted, step)
        return self._with_encoder(request, num_computed_tokens, Share(num_new_tokens, wanted, reason, None), step)

    def _allocate_for_admission(
        self, request: Request, num_new_tokens: int, num_computed_tokens: int, computed_blocks: Sequence[int]
    ) -> Sequence[int] | NoFreeBlocks:
        new_blocks = self.kv_cache_manager.allocate_slots(
            request,
            num_new_tokens,
            num_computed_tokens,
            computed_blocks,
            full_sequence_must_fit=self.config.scheduler_reserve_full_isl,
            has_scheduled_reqs=bool(self.running),
        )
        if isinstance(new_blocks, NoFreeBlocks):
            # The encoder outputs that it has taken a reference to are not needed now.
            self.encoder_cache_manager.free(request)
        return new_blocks

    def _admit(self, request: Request, num_computed_tokens: int, step: SchedulerOutput) -> None:
        self.deferred_waiting.discard(request.request_id)
        (step.new if request.status is RequestStatus.WAITING else step.resumed).append(request.request_id)
        request.status = RequestStatus.RUNNING
        request.num_computed_tokens = num_computed_tokens
        step.prefill_admitted |= num_computed_tokens < request.num_tokens - 1
        if num_computed_tokens:
            step.cached[request.request_id] = num_computed_tokens
        self.running.append(request)

    # ------------------------------------------------------------------ encoder inputs

    def _with_encoder(self, request: Request, num_computed_tokens: int, share: Share, step: SchedulerOutput) -> Share:
        """`share`, cut before the first image that cannot be encoded now."""
        if not request.images:
            return share
        plan = try_schedule_encoder_inputs(
            self.encoder_cache_manager,
            request,
            num_computed_tokens,
            share.num_new_tokens,
            step.encoder_compute_budget,
            self.config.disable_chunked_mm_input,
        )
        if plan.mismatch:
            self._encoder_mismatch.append(request.request_id)
        reason = plan.reason if plan.num_new_tokens < share.num_new_tokens else share.reason
        return Share(plan.num_new_tokens, share.wanted, reason, plan)

    # ------------------------------------------------------------------ after the plan, and after the outputs

    def _update_after_schedule(self, step: SchedulerOutput) -> None:
        """Advance the counters at once, so that the next step can be planned before this one's outputs are there."""
        if step.num_scheduled_tokens:
            self.num_executed_steps += 1
        if step.prefill_scheduled or step.prefill_admitted:
            self.last_prefill_step = self.num_executed_steps
        for request_id, num_scheduled in step.num_scheduled_tokens.items():
            request = self.requests[request_id]
            request.advance(num_scheduled)
            if request.is_prefill_chunk:
                continue
            step.samples.append(request_id)
            if self.config.async_scheduling:
                request.expect_output(step.spec.get(request_id, 0), self.config.num_speculative_tokens)


def _needed(reason: Reason | None) -> Reason:
    assert reason is not None
    return reason


def _assert_budget_kept(step: SchedulerOutput) -> None:
    if step.token_budget < 0 or step.input_budget < 0:
        raise VllmAssertion(
            "images",
            f"images out of order, or outside of their prompt, take step tokens beyond the budget "
            f"({step.num_scheduled_tokens}); vLLM stops with a failed assertion.",
        )


def _assert_padding_kept(share: Share, num_padding: int, step: SchedulerOutput) -> None:
    if num_padding and share.num_new_tokens != share.wanted:
        raise VllmAssertion(
            "long_prefill_token_threshold",
            f"long_prefill_token_threshold ({step.long_prefill_token_threshold}) cuts a decode that was filled up to "
            f"{share.wanted} tokens (1 + num_speculative_tokens); vLLM stops with a failed assertion.",
        )
