"""Where two runs part: the first step that differs, in which field, and why on either side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .reasons import Reason
from .trace import StepRecord, Trace

FIELDS = (
    "preempted",
    "new",
    "resumed",
    "cached",
    "scheduled",
    "spec",
    "encoder",
    "blocks",
    "running",
    "waiting",
    "computed",
    "free_blocks",
    "generated",
    "finished",
    "start_us",
    "step_us",
)
"""What is compared, a cause before what follows from it."""

DECISIONS = tuple(field for field in FIELDS if field not in ("blocks", "free_blocks", "start_us", "step_us"))
"""Those that say who got what; the others count blocks and time, which a larger pool changes from the first step on."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference of two traces, `left` and `right`.

    Args:
        step: index of the step.
        field: its field in the trace, or `steps` when one run has ended, `error` when one is refused, `outcome`.
        left, right: the values of the field.
        why_left, why_right: for each request that the two treat differently in this step, why it got less or nothing.
    """

    step: int
    field: str
    left: Any
    right: Any
    why_left: dict[str, Reason]
    why_right: dict[str, Reason]

    def to_json(self) -> dict[str, Any]:
        """All of it, by name."""
        return {
            "step": self.step,
            "field": self.field,
            "left": self.left,
            "right": self.right,
            "why_left": {request_id: dict(reason) for request_id, reason in self.why_left.items()},
            "why_right": {request_id: dict(reason) for request_id, reason in self.why_right.items()},
        }


def first_difference(left: Trace, right: Trace, fields: Sequence[str] = FIELDS) -> Difference | None:
    """Where `left` and `right` part in one of `fields`, or `None` when they are the same step by step."""
    if left.error != right.error:
        return Difference(0, "error", _error(left), _error(right), {}, {})
    for one, other in zip(left.steps, right.steps, strict=False):
        for field in fields:
            if _value(one, field) != _value(other, field):
                return _difference(one, other, field)
    if len(left.steps) != len(right.steps):
        step = min(len(left.steps), len(right.steps))
        return Difference(step, "steps", len(left.steps), len(right.steps), {}, {})
    if left.outcome != right.outcome:
        return Difference(len(left.steps), "outcome", left.outcome, right.outcome, {}, {})
    return None


def _error(trace: Trace) -> str | None:
    return trace.error.message if trace.error else None


def _value(record: StepRecord, field: str) -> Any:
    """A field as JSON has it, with the order of scheduling kept for comparison."""
    value = getattr(record, field)
    if isinstance(value, dict):
        return [(key, list(item) if isinstance(item, tuple) else item) for key, item in value.items()]
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _difference(left: StepRecord, right: StepRecord, field: str) -> Difference:
    ids = dict.fromkeys([*left.running, *left.waiting, *right.running, *right.waiting])
    parted = [i for i in ids if left.scheduled.get(i, 0) != right.scheduled.get(i, 0)]
    value_left, value_right = (record.to_json()[field] for record in (left, right))
    return Difference(left.step, field, value_left, value_right, _why(left, parted), _why(right, parted))


def _why(record: StepRecord, request_ids: list[str]) -> dict[str, Reason]:
    why = {**record.why(), **record.capped}
    return {request_id: why[request_id] for request_id in request_ids if request_id in why}
