"""The plan of one step while it is made, and what its outputs changed.

Source: `vllm/v1/core/sched/output.py::SchedulerOutput` and the local variables of `Scheduler.schedule`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from .reasons import Reason
from .request import Request


@dataclass(slots=True)
class SchedulerOutput:
    """One step: budgets that run down while requests are given tokens, and what each of them got.

    Args:
        token_budget: tokens that may still be handed out.
        input_budget: input positions that are left; each scheduled request keeps draft slots of them.
        encoder_compute_budget: image tokens that the encoder may still compute.
        long_prefill_token_threshold: most tokens for one request, 0 for no limit.
        defer_prefills: prefill is held back in this step.
    """

    token_budget: int
    input_budget: int
    encoder_compute_budget: int
    long_prefill_token_threshold: int
    defer_prefills: bool

    # Everything by request id, in the order of scheduling.
    num_scheduled_tokens: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, Sequence[int]] = field(default_factory=dict)
    cached: dict[str, int] = field(default_factory=dict)
    encoder: dict[str, tuple[int, ...]] = field(default_factory=dict)
    spec: dict[str, int] = field(default_factory=dict)
    samples: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)

    prefill_scheduled: bool = False
    prefill_admitted: bool = False
    running_scheduled: bool = False

    # Why: requests passed over one by one or preempted, what ended each loop, who got less than wanted.
    skipped: dict[str, Reason] = field(default_factory=dict)
    running_stop: Reason | None = None
    waiting_stop: Reason | None = None
    capped: dict[str, Reason] = field(default_factory=dict)

    def give(
        self, request: Request, num_new_tokens: int, new_blocks: Sequence[int], num_drafts: int, draft_slots: int
    ) -> None:
        """Hand tokens out: `num_new_tokens` of the budgets, of which `num_drafts` are to be verified."""
        request_id = request.request_id
        self.num_scheduled_tokens[request_id] = num_new_tokens
        self.token_budget -= num_new_tokens
        self.input_budget -= num_new_tokens + draft_slots
        if new_blocks:
            self.blocks[request_id] = new_blocks
        if num_drafts > 0:
            self.spec[request_id] = num_drafts

    def give_encoder(self, request: Request, inputs: Sequence[int], budget: int) -> None:
        """Have images encoded; `budget` is what they leave of the compute budget."""
        self.encoder[request.request_id] = tuple(inputs)
        self.encoder_compute_budget = budget

    def take_back(self, request: Request, draft_slots: int) -> None:
        """Undo `give` for a victim that had been scheduled in this step: tokens, drafts and encoder budget."""
        request_id = request.request_id
        num_tokens = self.num_scheduled_tokens.pop(request_id, None)
        if num_tokens is None:
            return
        self.token_budget += num_tokens
        self.input_budget += num_tokens + draft_slots
        self.blocks.pop(request_id, None)
        self.spec.pop(request_id, None)
        self.capped.pop(request_id, None)
        self.encoder_compute_budget += sum(request.images[i].length for i in self.encoder.pop(request_id, ()))


@dataclass(slots=True)
class AppliedOutput:
    """What the outputs of a step changed: tokens kept for each request, and who finished, in scheduling order."""

    generated: dict[str, int] = field(default_factory=dict)
    finished: list[str] = field(default_factory=list)
