"""The run of `plain.py` for scenarios in which decodes can sleep; the same trace in the time of its events.

Scenarios with prefix cache, speculation, async scheduling, images or LoRA go the ordinary way; `applies` says which.
Tests hold both ways equal in every field of every step.
"""

from collections import deque
from collections.abc import Mapping
from functools import cache

from .config import Config
from .cost import COST_MODELS, SHIFT
from .fast_scheduler import FastScheduler
from .fast_state import Sequence
from .livelock import IDLE_STEPS, LivelockWatch
from .reasons import Reason
from .residency import FOR_EVER, LazySteps
from .scenario import Scenario

Batch = dict[Sequence, int]

QUIET_AT_ONCE = 16
"""So many quiet steps pass in the time in which a request is looked at."""
MOST_QUIET_STEPS = 10_000
"""No more quiet steps than these are taken at once, for the sake of those who wait for a slice of the run."""


def applies(scenario: Scenario) -> bool:
    """Whether the fast driver knows all rules that `scenario` needs."""
    config = scenario.config
    return not (
        config.enable_prefix_caching
        or config.num_speculative_tokens
        or config.num_lookahead_tokens
        or config.async_scheduling
        or any(spec.images or spec.lora for spec in scenario.requests)
    )


class FastEngine:
    """Drives one `FastScheduler` through one scenario. Owns the clock and the arrivals.

    Args:
        scenario: one that `applies`, with a configuration that is not refused.
        lazy: let decodes sleep; without it every request is visited in every step.
        max_steps: cut the run before this step.
    """

    def __init__(self, scenario: Scenario, lazy: bool, max_steps: int | None = None) -> None:
        self.config: Config = scenario.config
        self.scheduler = FastScheduler(scenario.config, lazy)
        self.log = self.scheduler.log
        self.live: dict[str, Sequence] = {}
        self.outcome = "finished"
        self.num_steps = 0
        self._max_steps = FOR_EVER if max_steps is None else max_steps
        self.clock_us: int | None = 0 if scenario.in_time else None
        self._cost_model = COST_MODELS[scenario.config.cost_model]
        self._linear_us = cache(self._cost_model.linear_us)
        self._pending = deque(scenario.arrivals())
        self._next_arrival = self._pending[0].arrival[0] if self._pending else FOR_EVER
        self._aborts = scenario.aborts()
        self._num_idle = 0
        self._last_progress = 0
        self._watch = LivelockWatch()

    @property
    def num_left(self) -> int:
        """Requests that have not come to their end yet."""
        return len(self._pending) + len(self.live)

    @property
    def unfinished(self) -> list[str]:
        """Those of them that have arrived."""
        return list(self.live)

    @property
    def steps(self) -> LazySteps:
        """The steps taken."""
        return LazySteps(self.log, self.num_steps)

    @property
    def stuck(self) -> Mapping[str, Reason]:
        """As `PlainEngine.stuck`: the empty steps at the end of a stall are not in the trace, but in the log."""
        return LazySteps(self.log, self.scheduler.step)[-1].why() if self.outcome == "stalled" else {}

    def advance(self, num_requests: int) -> bool:
        """As `PlainEngine.advance`."""
        scheduler, looked_at = self.scheduler, 0
        while looked_at < num_requests:
            self._arrive()
            if not (self.live or self._pending):
                return True
            if scheduler.step == self._max_steps:
                self.outcome = "max_steps"
                return True
            num_quiet = self._quiet_steps() if self._is_quiet() else 0
            if num_quiet:
                looked_at += 1 + num_quiet // QUIET_AT_ONCE
                continue
            looked_at += 1 + self._step()
            if self._num_idle >= IDLE_STEPS and not self._pending and not self._aborts:
                self.outcome = "stalled" if self.live else "finished"
                return True
            livelock_end = self._livelock_end()
            if livelock_end is not None:
                self.num_steps = livelock_end
                self.outcome = "max_steps"
                return True
        return False

    # ------------------------------------------------------------------ arrivals and aborts

    def _arrive(self) -> None:
        scheduler = self.scheduler
        step = scheduler.step
        if self.clock_us is not None and not self.live and self._pending:
            self.clock_us = max(self.clock_us, self._next_arrival)
        now = step if self.clock_us is None else self.clock_us
        while self._next_arrival <= now:
            spec = self._pending.popleft()
            self._next_arrival = self._pending[0].arrival[0] if self._pending else FOR_EVER
            sequence = self.live[spec.id] = Sequence(spec, self.config.max_model_len)
            scheduler.waiting.add(sequence, False, step, self.log)
            self._last_progress = step
        if step in self._aborts:
            for request_id in self._aborts.pop(step):
                if request_id in self.live:
                    scheduler.abort(self.live.pop(request_id))
            self._last_progress = step

    # ------------------------------------------------------------------ steps

    def _step(self) -> int:
        """One step in which somebody may have to be looked at. Returns how many got tokens awake."""
        scheduler = self.scheduler
        step = scheduler.step
        plan = scheduler.schedule()
        is_empty = not plan and not scheduler.num_asleep
        if self.clock_us is not None:
            self._advance_clock(plan)
        if scheduler.update(plan):
            self._last_progress = step
            for request_id in self.log.finished.get(step, ()):
                del self.live[request_id]
        if not is_empty or step in self.log.preempted:
            self.num_steps = step + 1
        self._num_idle = self._num_idle + 1 if is_empty else 0
        scheduler.step += 1
        if self.clock_us is not None and is_empty and self._pending:
            self.clock_us = max(self.clock_us, self._next_arrival)
        return len(plan)

    def _advance_clock(self, plan: Batch) -> None:
        assert self.clock_us is not None
        scheduler = self.scheduler
        num_tokens = scheduler.num_asleep
        decode_context = num_tokens * (scheduler.step + 1) - scheduler.sum_of_origins
        chunk_pairs = chunk_context = 0
        for sequence, n in plan.items():
            num_tokens += n
            if n == 1:
                decode_context += sequence.computed + 1
            else:
                chunk_pairs += n * (2 * sequence.computed + n) // 2
                chunk_context += sequence.computed + n
        step_us = 0
        if num_tokens:
            attention_us = self._cost_model.attention_us(decode_context, chunk_pairs, chunk_context)
            step_us = self._linear_us(num_tokens) + attention_us
        self.log.note_clock(scheduler.step, self.clock_us)
        self.log.step_us.append(step_us)
        self.clock_us += step_us

    def _is_quiet(self) -> bool:
        """Whether steps may follow in which nobody is awake and nobody can be admitted.

        Where time passes somebody must be asleep: without anybody the clock jumps.
        """
        scheduler = self.scheduler
        return (
            not scheduler.awake
            and scheduler.step not in scheduler.calendar
            and self.config.prefill_schedule_interval == 1
            and (not scheduler.waiting.num_waiting or len(scheduler.running) >= scheduler.max_num_active_reqs)
            and scheduler.num_asleep < scheduler.token_budget
            and (scheduler.num_asleep > 0 or self.clock_us is None)
        )

    def _quiet_steps(self) -> int:
        """Take steps in which only sleepers advance, until something is due. Returns how many."""
        scheduler = self.scheduler
        step = scheduler.step
        ends = (
            scheduler.next_wake(),
            next(iter(self._aborts), FOR_EVER),
            self._max_steps,
            step + MOST_QUIET_STEPS,
        )
        most = min(ends) - step
        if self.clock_us is not None:
            num_steps = self._quiet_clock(most)
        else:
            # Without sleepers and arrivals the state will not change, and is looked at after each step.
            last = self._next_arrival if scheduler.num_asleep or self._pending else step + 1
            num_steps = scheduler.take_quiet_blocks(min(most, last - step))
        if num_steps:
            self._passed(step + num_steps)
        return num_steps

    def _quiet_clock(self, most: int) -> int:
        """The same where time passes: up to `most` steps, those that begin before the next arrival."""
        scheduler, now = self.scheduler, self.clock_us
        assert now is not None
        num_asleep, kv = scheduler.num_asleep, self._cost_model.kv
        linear_us = self._linear_us(num_asleep)
        cost = kv * (num_asleep * (scheduler.step + 1) - scheduler.sum_of_origins)
        gap = self._next_arrival - now
        # Steps only get longer: with the length of the first one, this many begin before the arrival, or fewer.
        most = min(most, (gap - 1) // (linear_us + (cost >> SHIFT)) + 1)
        lengths = [linear_us + (c >> SHIFT) for c in range(cost, cost + most * kv * num_asleep, kv * num_asleep)]
        passed = sum(lengths)
        while passed - lengths[-1] >= gap:
            passed -= lengths.pop()
        num_steps = scheduler.take_quiet_blocks(len(lengths))
        if num_steps < len(lengths):
            del lengths[num_steps:]
            passed = sum(lengths)
        self.log.note_clock(scheduler.step, now)
        self.log.step_us.fromlist(lengths)
        self.clock_us = now + passed
        return num_steps

    def _passed(self, step: int) -> None:
        """Quiet steps before `step` are over."""
        if self.scheduler.num_asleep:
            self.num_steps = step
            self._last_progress = step - 1
            self._num_idle = 0
        self.scheduler.step = step

    # ------------------------------------------------------------------ a state that returns never ends

    def _livelock_end(self) -> int | None:
        """As in `PlainEngine`; while anybody sleeps there is progress."""
        scheduler = self.scheduler
        if self._num_idle or self._pending or self._aborts or scheduler.num_asleep:
            return None
        return self._watch.end(scheduler.step, self._last_progress, scheduler.state)
