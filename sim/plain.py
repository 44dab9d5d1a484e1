"""The run that knows every rule: it visits each request in each step.

No model runs: a request that reaches the end of its known tokens samples one token, and as many accepted drafts as the
scenario says.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .cost import COST_MODELS
from .livelock import IDLE_STEPS, LivelockWatch
from .output import SchedulerOutput
from .reasons import Reason
from .request import Request
from .scenario import RequestSpec, Scenario
from .scheduler import Scheduler
from .trace import StepRecord

LISTED_AT_ONCE = 16
"""So many waiting requests are listed in the time in which a running one is looked at."""


class _InFlight(NamedTuple):
    """A step whose outputs are not applied yet, with the state right after its `schedule()`."""

    step_index: int
    output: SchedulerOutput
    running: list[str]
    waiting: Sequence[str]
    computed: dict[str, int]
    free_blocks: int
    start_us: int | None
    step_us: int | None


class PlainEngine:
    """Drives one `Scheduler` through one scenario. Owns the clock, the arrivals and the batches in flight.

    Args:
        scenario: a configuration that is not refused, and requests.
        max_steps: cut the run before this step.
        scheduler: what decides.

    Attributes:
        stuck: of a run that stalled, why each request that is left gets nothing any more.
    """

    def __init__(
        self, scenario: Scenario, max_steps: int | None = None, scheduler: type[Scheduler] = Scheduler
    ) -> None:
        self.config = scenario.config
        self.scheduler = scheduler(scenario.config)
        self.steps: list[StepRecord] = []
        self.outcome = "finished"
        self.stuck: Mapping[str, Reason] = {}
        self._max_steps = max_steps
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

    @property
    def num_left(self) -> int:
        """Requests that have not come to their end yet."""
        return len(self._pending) + len(self.scheduler.requests)

    @property
    def unfinished(self) -> list[str]:
        """Those of them that have arrived."""
        return list(self.scheduler.requests)

    def advance(self, num_requests: int) -> bool:
        """Step until about `num_requests` requests have been looked at, or until the end, which sets `outcome`.

        Returns:
            Whether it is the end: nothing is left, nothing can come, or `max_steps` is reached.

        Raises:
            VllmAssertion: vLLM stops here.
        """
        scheduler, looked_at = self.scheduler, 0
        while looked_at < num_requests:
            self._arrive()
            if not (scheduler.requests or self._pending or self._in_flight):
                return self._end("finished")
            if self.step_index == self._max_steps:
                return self._end("max_steps")
            self.step()
            if self._num_idle >= IDLE_STEPS and not self._pending and not self._aborts:
                return self._end("stalled" if scheduler.requests else "finished")
            livelock_end = self._livelock_end()
            if livelock_end is not None:
                return self._end("max_steps", livelock_end)
            looked_at += 1 + len(scheduler.running) + len(scheduler.waiting) // LISTED_AT_ONCE
        return False

    def _end(self, outcome: str, num_steps: int | None = None) -> bool:
        while self._in_flight:
            self._apply_oldest()
        steps = self.steps
        if outcome == "stalled":
            self.stuck = steps[-1].why()
        if num_steps is not None:
            del steps[num_steps:]
        while steps and not steps[-1].scheduled and not steps[-1].preempted:
            steps.pop()
        self.outcome = outcome
        return True

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
            scheduler.waiting.ids(),
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
