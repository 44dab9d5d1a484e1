"""What a run leaves: one record a step, and the whole as JSON in the form of the contract."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import VLLM_VERSION, reasons
from .config import Refusal
from .reasons import Reason

ENGINE = f"vllm {VLLM_VERSION}"


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One call of `schedule()` and what its outputs changed. Never changed after the run.

    The fields are those of the contract; mappings are by request id in scheduling order, block counts are blocks,
    everything else is tokens. `skipped`, `running_stop`, `waiting_stop` and `capped` are the reasons as the scheduler
    left them; `why()` reads them. `start_us` and `step_us` are set in scenarios in time, in microseconds.
    """

    step: int
    scheduled: Mapping[str, int]
    new: Sequence[str]
    resumed: Sequence[str]
    preempted: Sequence[str]
    cached: Mapping[str, int]
    encoder: Mapping[str, Sequence[int]]
    blocks: Mapping[str, Sequence[int]]
    running: Sequence[str]
    waiting: Sequence[str]
    computed: Mapping[str, int]
    spec: Mapping[str, int]
    free_blocks: int
    generated: Mapping[str, int]
    finished: Sequence[str]
    skipped: Mapping[str, Reason]
    running_stop: Reason | None
    waiting_stop: Reason | None
    capped: Mapping[str, Reason]
    start_us: int | None = None
    step_us: int | None = None

    def why(self) -> dict[str, Reason]:
        """For every request that is there and got no tokens, why; running ones first, in queue order."""
        return reasons.fill(
            self.running, self.waiting, self.scheduled, self.skipped, self.running_stop, self.waiting_stop
        )

    def num_rejected(self, request_id: str) -> int:
        """Drafts of a request that the step computed in vain: wrong ones, and right ones past the end."""
        return max(self.spec.get(request_id, 0) - max(self.generated.get(request_id, 0) - 1, 0), 0)

    def to_json(self, explain: bool = False) -> dict[str, Any]:
        """The step in the form of the contract, with `why` and `capped` if asked for."""
        record: dict[str, Any] = {
            "step": self.step,
            "scheduled": dict(self.scheduled),
            "new": list(self.new),
            "resumed": list(self.resumed),
            "preempted": list(self.preempted),
            "cached": dict(self.cached),
            "encoder": {request_id: list(inputs) for request_id, inputs in self.encoder.items()},
            "blocks": {request_id: list(blocks) for request_id, blocks in self.blocks.items()},
            "running": list(self.running),
            "waiting": list(self.waiting),
            "computed": dict(self.computed),
            "spec": dict(self.spec),
            "free_blocks": self.free_blocks,
            "generated": dict(self.generated),
            "finished": list(self.finished),
        }
        if self.start_us is not None:
            record |= {"start_us": self.start_us, "step_us": self.step_us}
        if any(request_id.isdecimal() for request_id in self.scheduled):
            # Objects of JavaScript sort such keys.
            record["order"] = list(self.scheduled)
        if explain:
            record["why"] = {request_id: dict(reason) for request_id, reason in self.why().items()}
            if self.capped:
                record["capped"] = {request_id: dict(reason) for request_id, reason in self.capped.items()}
        return record


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole run, or why vLLM refuses it.

    Args:
        name: of the scenario.
        outcome: `finished`, `stalled` (requests remain and nothing can be scheduled) or `max_steps` (cut).
        unfinished: ids of the requests that remain, sorted.
        steps: without the empty ones at the end.
        warnings: what vLLM warns about.
        error: set when there are no steps because vLLM refuses the configuration.
        stuck: of a run that stalled, why each of `unfinished` gets nothing any more.
    """

    name: str | None
    outcome: str
    unfinished: tuple[str, ...]
    steps: Sequence[StepRecord]
    warnings: tuple[str, ...] = ()
    error: Refusal | None = None
    stuck: Mapping[str, Reason] = field(default_factory=dict)

    def to_json(self, explain: bool = False) -> dict[str, Any]:
        """The trace in the form of the contract."""
        head: dict[str, Any] = {"name": self.name, "engine": ENGINE}
        if self.error is not None:
            return head | self.error._asdict()
        head |= {"outcome": self.outcome, "unfinished": list(self.unfinished)}
        if self.warnings:
            head["warnings"] = list(self.warnings)
        return head | {"steps": [step.to_json(explain) for step in self.steps]}
