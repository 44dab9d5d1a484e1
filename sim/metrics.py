"""What a run amounts to: tokens, budget used, idle steps, preemptions, waiting, time to first token."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from .scenario import Scenario
from .trace import StepRecord, Trace


class Percentiles(NamedTuple):
    """Three values of a sample. See `percentiles`."""

    p50: int
    p90: int
    p99: int


def percentiles(sample: Iterable[int]) -> Percentiles | None:
    """The 50th, 90th and 99th percentile by nearest rank, `None` of nothing.

    Of n values in order, the p-th percentile is the one at place ceil(p * n / 100), counted from 1: always a value
    that occurs.
    """
    ordered = sorted(sample)
    if not ordered:
        return None
    return Percentiles(*(ordered[-(-p * len(ordered) // 100) - 1] for p in (50, 90, 99)))


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in numbers. Integers only: a share is in permille, a mean in thousandths, both rounded down.

    Args:
        name: of the scenario.
        outcome: as in the trace.
        requests: that the scenario has; without a scenario those that were ever seen.
        finished: requests that came to their end.
        steps: calls of `schedule()`, empty ones included.
        idle_steps: those in which nobody got a token.
        scheduled_tokens: tokens handed out: the four kinds that follow, together.
        prefill_tokens: computed for the first time, up to the request's first output token.
        decode_tokens: computed for the first time, after it; drafts that were accepted included.
        recomputed_tokens: computed before, and lost by a preemption.
        rejected_draft_tokens: drafts that verification turned down.
        cached_tokens: not computed, because they were found in the prefix cache.
        generated_tokens: output tokens.
        budget: tokens that one step may hand out; `None` without a scenario.
        budget_used_permille: scheduled tokens by the budget of the steps that were not idle.
        preemptions: how often a request lost its blocks.
        waiting_max, waiting_mean_thousandths: length of the waiting queue after `schedule()`, over all steps.
        running_max, running_mean_thousandths: likewise for the running requests.
        ttft_steps: steps from arrival to the first token, the one that made it included; at least 1. Only of requests
            that got so far.
        e2e_steps: likewise to the last token, of requests that finished.
        duration_us: from 0 to the end of the last step; like the rest in us `None` unless the scenario is in time.
        ttft_us, e2e_us: from arrival to the end of the step with the first and the last token.
        warnings: as in the trace.
    """

    name: str | None
    outcome: str
    requests: int
    finished: int
    steps: int
    idle_steps: int
    scheduled_tokens: int
    prefill_tokens: int
    decode_tokens: int
    recomputed_tokens: int
    rejected_draft_tokens: int
    cached_tokens: int
    generated_tokens: int
    budget: int | None
    budget_used_permille: int | None
    preemptions: int
    waiting_max: int
    waiting_mean_thousandths: int
    running_max: int
    running_mean_thousandths: int
    ttft_steps: Percentiles | None
    e2e_steps: Percentiles | None
    duration_us: int | None
    ttft_us: Percentiles | None
    e2e_us: Percentiles | None
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields by name; percentiles are objects of `p50`, `p90`, `p99`."""
        values = asdict(self) | {"warnings": list(self.warnings)}
        return {key: value._asdict() if isinstance(value, Percentiles) else value for key, value in values.items()}


def summarize(trace: Trace, scenario: Scenario | None = None) -> Summary:
    """Sum up a run.

    Args:
        trace: of a run, not of a refused configuration.
        scenario: what was run. Without it the budget and all times in us are unknown.
    """
    run = _Run()
    for record in trace.steps:
        run.add(record)
    num_steps = len(trace.steps)
    budget = None
    if scenario is not None:
        budget = scenario.config.max_num_scheduled_tokens or scenario.config.max_num_batched_tokens
    busy_tokens = (budget or 0) * (num_steps - run.idle_steps)
    arrivals_us = _arrivals_us(scenario)
    return Summary(
        name=trace.name,
        outcome=trace.outcome,
        requests=len(run.first_seen) if scenario is None else len(scenario.requests),
        finished=len(run.last_token),
        steps=num_steps,
        idle_steps=run.idle_steps,
        scheduled_tokens=run.scheduled_tokens,
        prefill_tokens=run.prefill_tokens,
        decode_tokens=run.scheduled_tokens - run.prefill_tokens - run.recomputed_tokens - run.rejected_tokens,
        recomputed_tokens=run.recomputed_tokens,
        rejected_draft_tokens=run.rejected_tokens,
        cached_tokens=run.cached_tokens,
        generated_tokens=run.generated_tokens,
        budget=budget,
        budget_used_permille=run.scheduled_tokens * 1000 // busy_tokens if busy_tokens else None,
        preemptions=run.preemptions,
        waiting_max=run.waiting_max,
        waiting_mean_thousandths=run.waiting_sum * 1000 // max(num_steps, 1),
        running_max=run.running_max,
        running_mean_thousandths=run.running_sum * 1000 // max(num_steps, 1),
        ttft_steps=percentiles(run.steps_until(run.first_token)),
        e2e_steps=percentiles(run.steps_until(run.last_token)),
        duration_us=run.end_us if arrivals_us else None,
        ttft_us=percentiles(_us_until(run.first_token, arrivals_us)),
        e2e_us=percentiles(_us_until(run.last_token, arrivals_us)),
        warnings=trace.warnings,
    )


class _Moment(NamedTuple):
    """A step, and in scenarios in time when it ended."""

    step: int
    end_us: int


def _arrivals_us(scenario: Scenario | None) -> dict[str, int]:
    if scenario is None:
        return {}
    return {spec.id: spec.arrival_us for spec in scenario.requests if spec.arrival_us is not None}


def _us_until(moments: dict[str, _Moment], arrivals_us: dict[str, int]) -> list[int]:
    if not arrivals_us:
        return []
    return [moment.end_us - arrivals_us[request_id] for request_id, moment in moments.items()]


class _Run:
    """Sums over the steps of a run so far."""

    def __init__(self) -> None:
        self.idle_steps = 0
        self.scheduled_tokens = self.prefill_tokens = self.recomputed_tokens = self.rejected_tokens = 0
        self.cached_tokens = self.generated_tokens = self.preemptions = 0
        self.waiting_max = self.waiting_sum = self.running_max = self.running_sum = 0
        self.end_us = 0
        self.first_seen: dict[str, int] = {}
        self.first_token: dict[str, _Moment] = {}
        self.last_token: dict[str, _Moment] = {}
        # Tokens computed so far, without rejected drafts; and how many of them a preemption took away.
        self._computed: dict[str, int] = {}
        self._lost: dict[str, int] = {}

    def add(self, record: StepRecord) -> None:
        """Take in the next step."""
        self.idle_steps += not record.scheduled
        self.scheduled_tokens += sum(record.scheduled.values())
        self.cached_tokens += sum(record.cached.values())
        self.generated_tokens += sum(record.generated.values())
        self._queues(record)
        self._preempted(record)
        self._computed_tokens(record)
        if record.start_us is not None and record.step_us is not None and record.scheduled:
            self.end_us = record.start_us + record.step_us
        now = _Moment(record.step, self.end_us)
        for request_id in record.generated:
            self.first_token.setdefault(request_id, now)
        for request_id in record.finished:
            self.last_token[request_id] = now

    def steps_until(self, moments: dict[str, _Moment]) -> list[int]:
        """For each request that was seen to arrive the number of steps from there to its moment, both included."""
        return [
            moment.step - self.first_seen[request_id] + 1
            for request_id, moment in moments.items()
            if request_id in self.first_seen
        ]

    def _queues(self, record: StepRecord) -> None:
        num_waiting, num_running = len(record.waiting), len(record.running)
        self.waiting_max = max(self.waiting_max, num_waiting)
        self.waiting_sum += num_waiting
        self.running_max = max(self.running_max, num_running)
        self.running_sum += num_running
        for queue in (record.new, record.waiting):
            for request_id in queue:
                if request_id not in self.first_seen:
                    self.first_seen[request_id] = record.step

    def _preempted(self, record: StepRecord) -> None:
        self.preemptions += len(record.preempted)
        for request_id in record.preempted:
            self._lost[request_id] = max(self._lost.get(request_id, 0), self._computed.get(request_id, 0))

    def _computed_tokens(self, record: StepRecord) -> None:
        for request_id, num_tokens in record.scheduled.items():
            if request_id in self._lost:
                start = record.computed[request_id] - num_tokens
                again = min(max(self._lost[request_id] - start, 0), num_tokens)
                self.recomputed_tokens += again
                num_tokens -= again  # noqa: PLW2901 - what is left of it
            if request_id not in self.first_token:
                self.prefill_tokens += num_tokens
        self._computed.update(record.computed)
        for request_id, num_drafts in record.spec.items():
            num_rejected = num_drafts - max(record.generated.get(request_id, 0) - 1, 0)
            self.rejected_tokens += num_rejected
            self._computed[request_id] = self._computed.get(request_id, 0) - num_rejected
