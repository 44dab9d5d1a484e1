"""One step of a run: what each request had before it, and what a preemption in it cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..reasons import Reason
from ..trace import StepRecord
from .run import Run

FAR = 2_000
"""So many steps are looked back for what a request had computed; further back it counts as nothing."""


class Loss(NamedTuple):
    """What a preemption took, and what came back.

    Args:
        request_id: who was preempted.
        num_computed_tokens: that it had, all lost.
        resumed: the step in which it was admitted again; `None` if it never was.
        num_cached_tokens: of the lost ones, found in the prefix cache then.
    """

    request_id: str
    num_computed_tokens: int
    resumed: int | None
    num_cached_tokens: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A step with what stands around it; `why` has the reason of each request that got nothing in it."""

    run: Run
    record: StepRecord
    why: Mapping[str, Reason]

    @property
    def used(self) -> int:
        """Tokens given."""
        return sum(self.record.scheduled.values())

    def before(self, request_id: str) -> int:
        """`num_computed_tokens` of a request when the step begins."""
        if request_id in self.record.computed and request_id not in (*self.record.new, *self.record.resumed):
            return self.record.computed[request_id] - self.record.scheduled[request_id]
        for record in self._back():
            if request_id in record.preempted:
                return 0
            if request_id in record.computed:
                return record.computed[request_id] - record.num_rejected(request_id)
        return 0

    def _back(self) -> Iterator[StepRecord]:
        for step in range(self.record.step - 1, max(self.record.step - FAR, 0) - 1, -1):
            yield self.run.trace.steps[step]

    def losses(self) -> list[Loss]:
        """One for each request that the step preempted, in the order of the record."""
        return [self._loss(request_id) for request_id in self.record.preempted]

    def _loss(self, request_id: str) -> Loss:
        lost, lanes = self.before(request_id), self.run.lanes
        for step in lanes.events["admission"]:
            if step > self.record.step and request_id in self.run.trace.steps[step].resumed:
                cached = self.run.trace.steps[step].cached.get(request_id, 0)
                return Loss(request_id, lost, step, min(cached, lost))
        return Loss(request_id, lost, None, 0)


def moment_of(run: Run, step: int) -> Moment:
    """The moment of `step`, which must be one of the run's."""
    record = run.trace.steps[step]
    return Moment(run, record, record.why())
