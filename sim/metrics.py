"""What a run amounts to: tokens, budget used, idle steps, preemptions, waiting, times to and between tokens."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from .residency import LazySteps
from .scenario import Scenario
from .tally import Moment, Progress, Tally
from .tally_log import tally_log
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

    Args:
        sample: the values, or a `Counter` of how often each occurs.
    """
    counts = sample if isinstance(sample, Counter) else Counter(sample)
    values = sorted(counts)
    places = list(accumulate(counts[value] for value in values))
    if not places:
        return None
    return Percentiles(*(values[bisect_left(places, -(-p * places[-1] // 100))] for p in (50, 90, 99)))


class Objectives(NamedTuple):
    """What a request must keep to be a good one, in us, the bounds included; `None` for whatever it takes.

    The names are those of `vllm bench serve --goodput`: time to the first token, time per output token after the first
    (nothing where there is only one), time to the last token.
    """

    ttft_us: int | None = None
    tpot_us: int | None = None
    e2el_us: int | None = None

    def met(self, ttft_us: int, e2el_us: int, num_outputs: int) -> bool:
        """Whether a finished request kept them all."""
        return (
            (self.ttft_us is None or ttft_us <= self.ttft_us)
            and (self.tpot_us is None or e2el_us - ttft_us <= self.tpot_us * max(num_outputs - 1, 0))
            and (self.e2el_us is None or e2el_us <= self.e2el_us)
        )


class Goodput(NamedTuple):
    """How many finished requests met the objectives, and how many a second of the run, in thousandths."""

    ttft_us: int | None
    tpot_us: int | None
    e2el_us: int | None
    requests: int
    per_second_thousandths: int


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
        itl_steps: steps from each step with output of a request to its next one. Tokens that come in one step come
            together and end one such distance, as one chunk does in `vllm bench serve`.
        e2e_steps: steps to the last token, of requests that finished.
        duration_us: from 0 to the end of the last step; like the rest in us `None` unless the scenario is in time.
        ttft_us, e2e_us: from arrival to the end of the step with the first and the last token.
        itl_us: as `itl_steps`, between the ends of the steps.
        goodput: where objectives are given and the scenario is in time.
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
    itl_steps: Percentiles | None
    e2e_steps: Percentiles | None
    duration_us: int | None
    ttft_us: Percentiles | None
    itl_us: Percentiles | None
    e2e_us: Percentiles | None
    goodput: Goodput | None
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields by name; percentiles and goodput are objects."""
        values = asdict(self) | {"warnings": list(self.warnings)}
        groups = Percentiles | Goodput
        return {key: value._asdict() if isinstance(value, groups) else value for key, value in values.items()}


def summarize(trace: Trace, scenario: Scenario | None = None, objectives: Objectives | None = None) -> Summary:
    """Sum up a run.

    Args:
        trace: of a run, not of a refused configuration.
        scenario: what was run. Without it the budget and all times in us are unknown.
        objectives: for the goodput.
    """
    run = _tally(trace.steps)
    requests = run.requests.values()
    num_steps = len(trace.steps)
    budget = _budget(scenario)
    busy_tokens = (budget or 0) * (num_steps - run.idle_steps)
    in_time = scenario is not None and scenario.in_time
    times = _times(run, scenario)
    return Summary(
        trace.name,
        trace.outcome,
        requests=_count(request.first_seen for request in requests) if scenario is None else len(scenario.requests),
        finished=_count(request.finished for request in requests),
        steps=num_steps,
        **{name: getattr(run, name) for name in SUMS},
        budget=budget,
        budget_used_permille=run.scheduled_tokens * 1000 // busy_tokens if busy_tokens else None,
        waiting_mean_thousandths=run.waiting_sum * 1000 // max(num_steps, 1),
        running_mean_thousandths=run.running_sum * 1000 // max(num_steps, 1),
        ttft_steps=_known(_steps_until(request.first_token, request) for request in requests),
        itl_steps=percentiles(run.itl_steps),
        e2e_steps=_known(_steps_until(request.finished, request) for request in requests),
        duration_us=run.end_us if in_time else None,
        ttft_us=_known(time.ttft for time in times),
        itl_us=percentiles(run.itl_us) if in_time else None,
        e2e_us=_known(time.e2el for time in times),
        goodput=_goodput(times, run.end_us, objectives) if in_time and objectives else None,
        warnings=trace.warnings,
    )


SUMS = (
    *("idle_steps", "scheduled_tokens", "prefill_tokens", "decode_tokens", "recomputed_tokens"),
    *("rejected_draft_tokens", "cached_tokens", "generated_tokens", "preemptions", "waiting_max", "running_max"),
)
"""Fields of a summary that are those of the tally."""


def _count(values: Iterable[object]) -> int:
    return sum(value is not None for value in values)


def _budget(scenario: Scenario | None) -> int | None:
    """Tokens that one step may hand out."""
    return scenario.config.token_budget if scenario else None


def _tally(steps: Sequence[StepRecord]) -> Tally:
    if isinstance(steps, LazySteps):
        return tally_log(steps.log, len(steps))
    tally = Tally()
    for record in steps:
        tally.add(record)
    return tally


def _steps_until(moment: Moment | None, request: Progress) -> int | None:
    """Steps from the arrival, if it was seen, to the moment, if it came, both included."""
    if moment is None or request.first_seen is None:
        return None
    return moment.step - request.first_seen + 1


def _known(values: Iterable[int | None]) -> Percentiles | None:
    return percentiles(value for value in values if value is not None)


class _Times(NamedTuple):
    """What is in us about one request: from its arrival to its first and to its last token."""

    ttft: int | None
    e2el: int | None
    num_outputs: int


def _times(run: Tally, scenario: Scenario | None) -> list[_Times]:
    """Of each request that was there; empty unless the scenario is in time."""
    if scenario is None or not scenario.in_time:
        return []
    arrivals = {spec.id: spec.arrival_us or 0 for spec in scenario.requests}
    return [
        _Times(
            request.first_token and request.first_token.end_us - arrivals[request_id],
            request.finished and request.finished.end_us - arrivals[request_id],
            request.num_outputs,
        )
        for request_id, request in run.requests.items()
    ]


def _goodput(times: Iterable[_Times], duration_us: int, objectives: Objectives) -> Goodput:
    good = sum(
        time.ttft is not None and time.e2el is not None and objectives.met(time.ttft, time.e2el, time.num_outputs)
        for time in times
    )
    return Goodput(*objectives, good, good * 10**9 // max(duration_us, 1))
