"""What one request looks like in one step of a trace: how many tokens it has, how many are computed, what it got."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ..reasons import Reason
from ..scenario import RequestSpec
from ..trace import StepRecord, Trace

Status = Literal["absent", "waiting", "running", "finished"]
Kind = Literal["prefill", "decode"]


class Moment(NamedTuple):
    """One request in one step.

    Args:
        request_id: which.
        place: its number in the scenario's list; it decides the colour.
        status: `absent` before it arrives, `finished` in the steps after its last.
        total: prompt and output together, in tokens.
        prompt: tokens of the prompt.
        known: tokens that it has when the step begins: the prompt and what was generated (`num_tokens`).
        before: of those, computed when the step begins (`num_computed_tokens`).
        got: tokens that the step gives it.
        why: the code of the reason when it got none; empty otherwise.
        drafts: of the tokens given, drafts to verify.
        rejected: of those, how many the step computed in vain: wrong ones, and right ones past the end.
        cached: tokens that were found in the prefix cache on admission, part of `before`.
        reason: why it got none, or fewer than it asked for.
    """

    request_id: str
    place: int
    status: Status
    total: int
    prompt: int
    known: int
    before: int
    got: int
    why: str
    drafts: int = 0
    rejected: int = 0
    cached: int = 0
    reason: Reason | None = None

    @property
    def missing(self) -> int:
        """Known tokens that are not computed yet: what it asks for, drafts apart."""
        return self.known - self.before

    @property
    def after(self) -> int:
        """`num_computed_tokens` once the step is planned."""
        return self.before + self.got

    @property
    def settled(self) -> int:
        """`num_computed_tokens` once the step's output is applied: it is set back by the rejected drafts."""
        return self.after - self.rejected

    @property
    def told_after(self) -> str:
        """`after`, and where drafts are rejected what becomes of it, such as `12 → 10`."""
        return f"{self.after} → {self.settled}" if self.rejected else str(self.after)

    @property
    def kind(self) -> Kind:
        """A word for how far behind it is; the scheduler has none."""
        return "decode" if self.before >= self.prompt else "prefill"


def moments(trace: Trace, requests: Sequence[RequestSpec]) -> list[list[Moment]]:
    """For each step of `trace`, each request in the scenario's order."""
    generated = dict.fromkeys((request.id for request in requests), 0)
    computed = dict.fromkeys(generated, 0)
    finished: set[str] = set()
    table = []
    for step in trace.steps:
        computed |= dict.fromkeys(step.preempted, 0)
        computed |= {request_id: step.computed[request_id] - got for request_id, got in step.scheduled.items()}
        line = []
        for place, request in enumerate(requests):
            status = _status(request, step, finished)
            line.append(_moment(step, place, request, status, generated[request.id], computed[request.id]))
        for moment in line:
            computed[moment.request_id] += moment.got - moment.rejected
            generated[moment.request_id] += step.generated.get(moment.request_id, 0)
        finished.update(step.finished)
        table.append(line)
    return table


def _moment(
    step: StepRecord, place: int, request: RequestSpec, status: Status, generated: int, computed: int
) -> Moment:
    reason, drafts = step.why().get(request.id), step.spec.get(request.id, 0)
    return Moment(
        request.id,
        place,
        status,
        total=request.prompt_tokens + request.output_tokens,
        prompt=request.prompt_tokens,
        known=request.prompt_tokens + generated,
        before=computed,
        got=step.scheduled.get(request.id, 0),
        why=str(reason["code"]) if reason else "",
        drafts=drafts,
        rejected=step.num_rejected(request.id),
        cached=step.cached.get(request.id, 0),
        reason=reason or step.capped.get(request.id),
    )


def _status(request: RequestSpec, step: StepRecord, finished: set[str]) -> Status:
    if request.id in step.waiting:
        return "waiting"
    if request.id in step.running:
        return "running"
    return "finished" if request.id in finished or request.arrival_step <= step.step else "absent"
