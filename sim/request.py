"""The state of one request inside the scheduler."""

from enum import Enum

from .scenario import Image, RequestSpec


class RequestStatus(Enum):
    """Where a request stands.

    Source: `vllm/v1/request.py::RequestStatus`, without the states of remote KV and grammars.
    """

    WAITING = "waiting"
    RUNNING = "running"
    PREEMPTED = "preempted"
    FINISHED = "finished"


class Request:
    """One request: what it is (fixed) and how far it is (counters). Only its own methods move the counters.

    There is no phase: `num_computed_tokens` runs after `num_tokens`, and how far behind it is decides what a step
    gives. Source: `vllm/v1/request.py::Request`. Token ids are not kept, their number is: the identity of tokens
    matters only to the prefix cache, which has it from `spec`.
    """

    __slots__ = (
        "block_hashes",
        "images",
        "is_prefill_chunk",
        "lora",
        "max_tokens",
        "num_computed_tokens",
        "num_in_flight_tokens",
        "num_output_placeholders",
        "num_output_tokens",
        "num_prompt_tokens",
        "num_spec_tokens",
        "num_stale_output_tokens",
        "num_tokens",
        "priority",
        "request_id",
        "sort_key",
        "spec",
        "status",
    )

    def __init__(self, spec: RequestSpec) -> None:
        self.spec = spec
        self.request_id: str = spec.id
        self.priority: int = spec.priority
        self.sort_key: tuple[int, tuple[int, int]] = (spec.priority, spec.arrival)
        self.lora: int = spec.lora or 0
        self.images: tuple[Image, ...] = spec.images
        self.num_prompt_tokens: int = spec.prompt_tokens
        self.max_tokens: int = spec.output_tokens

        self.status = RequestStatus.WAITING
        self.num_tokens: int = spec.prompt_tokens
        self.num_output_tokens = 0
        self.num_computed_tokens = 0
        # True after a step that left part of the known tokens uncomputed. It is state, not a function of the
        # counters: it keeps its value while the request waits.
        self.is_prefill_chunk = False

        # Draft tokens to verify in the next step.
        self.num_spec_tokens = 0
        # Async scheduling: output tokens expected from batches in flight; tokens of those batches; and the part of
        # them that was in flight when the request was preempted.
        self.num_output_placeholders = 0
        self.num_in_flight_tokens = 0
        self.num_stale_output_tokens = 0

        # Chained hashes of the full blocks of the known tokens, for the prefix cache.
        self.block_hashes: list[int] = []

    @property
    def num_tokens_with_spec(self) -> int:
        """Prompt, output so far and drafts."""
        return self.num_tokens + self.num_spec_tokens

    def advance(self, num_scheduled: int) -> None:
        """A step computes the next `num_scheduled` tokens; counted at once, before its output is there."""
        self.num_computed_tokens += num_scheduled
        self.num_in_flight_tokens += num_scheduled
        self.is_prefill_chunk = self.num_computed_tokens < self.num_tokens + self.num_output_placeholders

    def expect_output(self, num_drafts: int, num_next_drafts: int) -> None:
        """Async: stand in for the token and drafts that the step will bring, and for the drafts of the next one.

        Source: `vllm/v1/core/sched/async_scheduler.py::AsyncScheduler._update_after_schedule`.
        """
        self.num_output_placeholders += 1 + num_drafts
        self.num_spec_tokens = num_next_drafts

    def ends_with_output_in_flight(self) -> bool:
        """Async: the output in flight reaches max_tokens even if every draft is rejected."""
        placeholders = self.num_output_placeholders
        end = self.num_prompt_tokens + self.max_tokens
        return placeholders > 0 and self.num_computed_tokens + 2 - placeholders >= end

    def preempt(self) -> None:
        """Start anew: nothing is computed any more, the tokens so far are kept."""
        self.status = RequestStatus.PREEMPTED
        self.num_computed_tokens = 0
        self.num_spec_tokens = 0
        # Output in flight is still delivered, but must not touch the counters that start anew.
        self.num_stale_output_tokens = self.num_in_flight_tokens
        self.num_output_placeholders = 0

    def land(self, num_scheduled: int) -> bool:
        """A step with `num_scheduled` tokens came back; whether it was sent before the last preemption."""
        self.num_in_flight_tokens -= num_scheduled
        if not self.num_stale_output_tokens:
            return False
        self.num_stale_output_tokens -= num_scheduled
        return True

    def reject_drafts(self, num_rejected: int) -> None:
        """Drafts turned out wrong: the step computed them in vain."""
        self.num_computed_tokens -= num_rejected
        if self.num_output_placeholders:
            self.num_output_placeholders -= num_rejected

    def append_output(self, num_sampled: int, max_model_len: int, is_stale: bool) -> tuple[int, bool]:
        """Append sampled tokens until one of them ends the request. Returns how many were kept, and whether it ends.

        Source: `vllm/v1/core/sched/utils.py::check_stop`, asked after each token.
        """
        limit = max(1, min(max_model_len - self.num_tokens, self.max_tokens - self.num_output_tokens))
        kept = min(num_sampled, limit)
        self.num_tokens += kept
        self.num_output_tokens += kept
        if not is_stale:
            self.num_computed_tokens -= num_sampled - kept
            if self.num_output_placeholders:
                self.num_output_placeholders -= num_sampled
        return kept, kept == limit

    def state(self) -> tuple[object, ...]:
        """All that decides what comes next, for comparing moments of a run."""
        return (
            self.request_id,
            self.num_tokens,
            self.num_computed_tokens,
            self.num_spec_tokens,
            self.num_output_placeholders,
            self.num_in_flight_tokens,
            self.num_stale_output_tokens,
            self.is_prefill_chunk,
            self.status,
        )

    def __lt__(self, other: "Request") -> bool:
        return self.sort_key < other.sort_key

    def __repr__(self) -> str:
        return f"<Request {self.request_id} {self.status.value} {self.num_computed_tokens}/{self.num_tokens}>"
