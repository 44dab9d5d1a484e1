"""The run: arrivals, `schedule()`, outputs, again and again until nothing is left or nothing can come of it.

`simulate` is the pure function from a scenario to a trace. No model runs: a request that reaches the end of its known
tokens samples one token, and as many accepted drafts as the scenario says.
"""

import gc
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from . import fast
from .config import Refusal
from .cost import COST_MODELS
from .livelock import IDLE_STEPS, LivelockWatch
from .output import SchedulerOutput
from .request import Request
from .scenario import RequestSpec, Scenario
from .scheduler import Scheduler, VllmAssertion
from .trace import StepRecord, Trace


def simulate(
    scenario: Scenario, *, max_steps: int | None = None, driver: str = "auto", scheduler: type[Scheduler] = Scheduler
) -> Trace:
    """Run `scenario` to its end.

    Args:
        scenario: configuration and requests.
        max_steps: cut the run before this step; without it only a livelock is cut.
        driver: `plain` visits every request in every step, with all rules; `fast` lets decodes sleep, and `awake` is
            the same driver without sleep, both only where `fast.applies`; `auto` is `fast` where it applies.
        scheduler: another one than ours; the plain driver then runs it, the others have ours built in.

    Returns:
        The trace; it has an `error` instead of steps where vLLM refuses the configuration or stops.
    """
    warnings = tuple(scenario.warnings())
    refusal = scenario.config.refusal()
    if refusal is not None:
        return Trace(scenario.name, "", (), (), warnings, refusal)
    with _collector_resting():
        if driver != "plain" and scheduler is Scheduler and fast.applies(scenario):
            return fast.FastEngine(scenario, driver != "awake").trace(scenario.name, warnings, max_steps)
        return _run_plainly(scenario, warnings, max_steps, scheduler)


@contextmanager
def _collector_resting() -> Iterator[None]:
    """No search for cycles meanwhile: a run makes none, and much that stays."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _run_plainly(
    scenario: Scenario, warnings: tuple[str, ...], max_steps: int | None, scheduler: type[Scheduler]
) -> Trace:
    engine = Engine(scenario, scheduler)
    try:
        engine.run(max_steps)
    except VllmAssertion as stop:
        return Trace(scenario.name, "", (), (), warnings, Refusal("AssertionError", stop.field, str(stop)))
    steps = engine.steps
    stuck = steps[-1].why() if engine.outcome == "stalled" else {}
    while steps and not steps[-1].scheduled and not steps[-1].preempted:
        steps.pop()
    unfinished = tuple(sorted(engine.scheduler.requests))
    return Trace(scenario.name, engine.outcome, unfinished, tuple(steps), warnings, stuck=stuck)


class _InFlight(NamedTuple):
    """A step whose outputs are not applied yet, with the state right after its `schedule()`."""

    step_index: int
    output: SchedulerOutput
    running: list[str]
    waiting: list[str]
    computed: dict[str, int]
    free_blocks: int
    start_us: int | None
    step_us: int | None


class Engine:
    """Drives one `Scheduler` through one scenario. Owns the clock, the arrivals and the batches in flight.

    Args:
        scenario: a configuration that is not refused, and requests.
        scheduler: what decides.
    """

    def __init__(self, scenario: Scenario, scheduler: type[Scheduler] = Scheduler) -> None:
        self.config = scenario.config
        self.scheduler = scheduler(scenario.config)
        self.steps: list[StepRecord] = []
        self.outcome = "finished"
        self.step_index = 0
        self.clock_us: int | None = 0 if scenario.in_time else None
        self._cost_model = COST_MODELS[scenario.config.cost_model]
        self._pending = deque(scenario.arrivals())
        self._aborts = scenario.aborts()
        self._accepts: dict[str, deque[int]] = {spec.id: deque(spec.accepts) for spec in scenario.requests}
        self._in_flight: deque[_InFlight] = deque()
        self._num_idle = 0
        self._last_progress = 0
        self._watch = LivelockWatch()

    def run(self, max_steps: int | None = None) -> None:
        """Step until nothing is left, nothing can come, or `max_steps` is reached; sets `outcome`."""
        end = None
        while True:
            self._arrive()
            if not (self.scheduler.requests or self._pending or self._in_flight):
                break
            if self.step_index == max_steps:
                self.outcome = "max_steps"
                break
            self.step()
            if self._num_idle >= IDLE_STEPS and not self._pending and not self._aborts:
                break
            end = self._livelock_end()
            if end is not None:
                self.outcome = "max_steps"
                break
        while self._in_flight:
            self._apply_oldest()
        if end is not None:
            del self.steps[end:]
        if self.scheduler.requests and self.outcome == "finished":
            self.outcome = "stalled"

    # ------------------------------------------------------------------ arrivals and aborts

    def _arrive(self) -> None:
        now = self.step_index if self.clock_us is None else self.clock_us
        if self.clock_us is not None and self._pending and not (self.scheduler.requests or self._in_flight):
            now = self.clock_us = max(now, self._pending[0].arrival[0])
        while self._pending and self._pending[0].arrival[0] <= now:
            self._add(self._pending.popleft())
        for request_id in self._aborts.pop(self.step_index, ()):
            self.scheduler.finish_request(request_id)
            self._last_progress = self.step_index

    def _add(self, spec: RequestSpec) -> None:
        self.scheduler.add_request(Request(spec))
        self._last_progress = self.step_index

    # ------------------------------------------------------------------ one step

    def step(self) -> None:
        """Schedule one step, and apply the outputs that are due: its own, or under async those of the step before."""
        output = self.scheduler.schedule()
        self._in_flight.append(self._snapshot(output))
        is_empty = not output.num_scheduled_tokens
        depth = 2 if self.config.async_scheduling else 1
        if len(self._in_flight) >= depth or is_empty:
            self._apply_oldest()
        while is_empty and self._in_flight:
            self._apply_oldest()
        self._num_idle = self._num_idle + 1 if is_empty else 0
        self.step_index += 1
        if self.clock_us is not None and is_empty and self._pending:
            self.clock_us = max(self.clock_us, self._pending[0].arrival[0])

    def _snapshot(self, output: SchedulerOutput) -> _InFlight:
        scheduler = self.scheduler
        computed = {rid: scheduler.requests[rid].num_computed_tokens for rid in output.num_scheduled_tokens}
        start_us = step_us = None
        if self.clock_us is not None:
            start_us = self.clock_us
            batch = [(computed[rid] - n, n) for rid, n in output.num_scheduled_tokens.items()]
            step_us = self._cost_model.step_us(batch) if batch else 0
            self.clock_us += step_us
        return _InFlight(
            self.step_index,
            output,
            [request.request_id for request in scheduler.running],
            [request.request_id for request in scheduler.waiting],
            computed,
            scheduler.kv_cache_manager.block_pool.num_free_blocks,
            start_us,
            step_us,
        )

    def _apply_oldest(self) -> None:
        """Sample for the oldest step in flight, apply its outputs and write its record."""
        flight = self._in_flight.popleft()
        output = flight.output
        applied = self.scheduler.update_from_output(output, self._sample(output))
        if self.config.num_speculative_tokens and not self.config.async_scheduling:
            self.scheduler.update_draft_token_ids(output)
        if applied.generated or applied.finished:
            self._last_progress = self.step_index
        self.steps.append(
            StepRecord(
                step=flight.step_index,
                scheduled=output.num_scheduled_tokens,
                new=output.new,
                resumed=output.resumed,
                preempted=sorted(output.preempted),
                cached=output.cached,
                encoder=output.encoder,
                blocks=output.blocks,
                running=flight.running,
                waiting=flight.waiting,
                computed=flight.computed,
                spec=output.spec,
                free_blocks=flight.free_blocks,
                generated=applied.generated,
                finished=applied.finished,
                skipped=output.skipped,
                running_stop=output.running_stop,
                waiting_stop=output.waiting_stop,
                capped=output.capped,
                start_us=flight.start_us,
                step_us=flight.step_us,
            )
        )

    def _sample(self, output: SchedulerOutput) -> dict[str, int]:
        """For each request that reached the end of its known tokens: one token and the drafts that are accepted."""
        sampled = {}
        for request_id in output.samples:
            if request_id not in self.scheduler.requests:
                continue
            num_drafts = output.spec.get(request_id, 0)
            accepts = self._accepts[request_id]
            num_accepted = min(accepts.popleft(), num_drafts) if num_drafts and accepts else 0
            sampled[request_id] = 1 + num_accepted
        return sampled

    # ------------------------------------------------------------------ a state that returns never ends

    def _livelock_end(self) -> int | None:
        if self._num_idle or self._pending or self._aborts:
            return None
        return self._watch.end(self.step_index, self._last_progress, self._state)

    def _state(self) -> object:
        in_flight = [(flight.output.num_scheduled_tokens, flight.output.spec) for flight in self._in_flight]
        accepts = [len(self._accepts[request_id]) for request_id in self.scheduler.requests]
        return (self.scheduler.state(), in_flight, accepts)
