"""What the scheduler holds, and how arrivals, departures and outputs change it.

Source: `vllm/v1/core/sched/scheduler.py::Scheduler`, everything but `schedule`.
"""

from collections.abc import Mapping

from .config import Config
from .encoder_cache import EncoderCacheManager
from .kv_cache import KVCacheManager
from .output import AppliedOutput, SchedulerOutput
from .queues import create_request_queue
from .request import Request, RequestStatus


class SchedulerState:
    """The only owner of the queues, the blocks and the cadence of prefill. `Scheduler` adds the decisions."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.max_num_active_reqs = config.max_num_active_seqs or config.max_num_seqs
        self.max_num_scheduled_tokens = config.max_num_scheduled_tokens or config.max_num_batched_tokens
        self.draft_slots = (config.draft_slots_per_request or 0) if config.num_speculative_tokens else 0
        self.priority_policy = config.policy == "priority"

        self.requests: dict[str, Request] = {}
        self.waiting = create_request_queue(config.policy)
        self.running: list[Request] = []
        # Waiting requests that a scan skipped; they do not count as a backlog of prefill.
        self.deferred_waiting: set[str] = set()
        self._encoder_mismatch: list[str] = []

        self.kv_cache_manager = KVCacheManager(config)
        budget = config.encoder_compute_budget
        self.encoder_cache_manager = EncoderCacheManager((config.encoder_cache_size or budget) if budget else 0)

        # Prefill cadence: a full interval back, so that the first step is never held.
        self.last_prefill_step = -config.prefill_schedule_interval
        self.num_executed_steps = 0
        self.prefill_capacity_bound = False

    def add_request(self, request: Request) -> None:
        """A request arrives and waits."""
        self.kv_cache_manager.update_block_hashes(request)
        self.requests[request.request_id] = request
        self.waiting.add_request(request)

    def finish_request(self, request_id: str) -> bool:
        """End a request from outside, as an abort does; whether it was there to be ended."""
        request = self.requests.get(request_id)
        if request is None:
            return False
        if request.status is RequestStatus.RUNNING:
            self.running.remove(request)
        else:
            self.waiting.remove_request(request)
        self._free_request(request)
        return True

    def _free_request(self, request: Request) -> None:
        request.status = RequestStatus.FINISHED
        self.deferred_waiting.discard(request.request_id)
        self.encoder_cache_manager.free(request)
        self.kv_cache_manager.free(request)
        del self.requests[request.request_id]

    def update_from_output(self, step: SchedulerOutput, sampled: Mapping[str, int]) -> AppliedOutput:
        """Apply the outputs of one step: drafts rejected, tokens appended, requests finished.

        Args:
            step: what was scheduled.
            sampled: for each request that sampled, its new tokens: accepted drafts and one more.

        Source: `vllm/v1/core/sched/scheduler.py::Scheduler.update_from_output`.
        """
        applied = AppliedOutput()
        for request_id, num_scheduled in step.num_scheduled_tokens.items():
            request = self.requests.get(request_id)
            if request is None:
                continue
            is_stale = request.land(num_scheduled)
            num_sampled = sampled.get(request_id, 0)
            num_drafts = step.spec.get(request_id, 0)
            if num_sampled and num_drafts and not is_stale:
                request.reject_drafts(num_drafts + 1 - num_sampled)
            if request.images:
                self.encoder_cache_manager.free_computed(request)
            if num_sampled:
                self._append_output(request, num_sampled, is_stale, applied)
        for request_id in dict.fromkeys(self._encoder_mismatch):
            if self.finish_request(request_id):
                applied.finished.append(request_id)
        self._encoder_mismatch.clear()
        return applied

    def _append_output(self, request: Request, num_sampled: int, is_stale: bool, applied: AppliedOutput) -> None:
        drafts_possible = request.num_output_placeholders > 0 or self.config.num_speculative_tokens > 0
        kept, stopped = request.append_output(num_sampled, self.config.max_model_len, is_stale)
        applied.generated[request.request_id] = kept
        self.kv_cache_manager.update_block_hashes(request)
        if drafts_possible and not is_stale:
            # Only now it is certain which tokens the blocks hold.
            certain = request.num_computed_tokens - request.num_in_flight_tokens
            self.kv_cache_manager.cache_blocks(request, certain)
        if stopped:
            applied.finished.append(request.request_id)
            self.finish_request(request.request_id)

    def update_draft_token_ids(self, step: SchedulerOutput) -> None:
        """Without async: every request that sampled gets drafts for its next step."""
        for request_id in step.samples:
            request = self.requests.get(request_id)
            if request is not None:
                request.num_spec_tokens = self.config.num_speculative_tokens

    def state(self) -> object:
        """All that decides what comes next, for comparing moments of a run."""
        cadence = min(self.num_executed_steps - self.last_prefill_step, self.config.prefill_schedule_interval)
        return (
            [request.state() for request in self.running],
            [request.state() for request in self.waiting],
            sorted(self.deferred_waiting),
            cadence,
            self.prefill_capacity_bound,
            self.kv_cache_manager.block_pool.state(),
            self.encoder_cache_manager.state(),
        )
