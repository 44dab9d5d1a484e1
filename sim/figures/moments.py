"""What one request looks like in one step of a trace: how many tokens it has, how many are computed, what it got."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ..scenario import RequestSpec
from ..trace import Trace

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

    @property
    def missing(self) -> int:
        """Known tokens that are not computed yet: what it asks for."""
        return self.known - self.before

    @property
    def after(self) -> int:
        """`num_computed_tokens` once the step is planned."""
        return self.before + self.got

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
        for request_id in step.preempted:
            computed[request_id] = 0
        why = step.why()
        line = []
        for place, request in enumerate(requests):
            got = step.scheduled.get(request.id, 0)
            if got:
                computed[request.id] = step.computed[request.id] - got
            status = _status(request, step.step, step.waiting, finished)
            total, known = request.prompt_tokens + request.output_tokens, request.prompt_tokens + generated[request.id]
            reason = str(why[request.id]["code"]) if request.id in why else ""
            line.append(
                Moment(
                    request.id, place, status, total, request.prompt_tokens, known, computed[request.id], got, reason
                )
            )
            computed[request.id] += got
        for request_id, tokens in step.generated.items():
            generated[request_id] += tokens
        finished.update(step.finished)
        table.append(line)
    return table


def _status(request: RequestSpec, step: int, waiting: Sequence[str], finished: set[str]) -> Status:
    if request.id in finished:
        return "finished"
    if request.arrival_step > step:
        return "absent"
    return "waiting" if request.id in waiting else "running"
