"""The lanes of a run: straight from its log where it has one, along its steps elsewhere."""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import TypeVar

from ..collector import collector_resting
from ..reasons import Reason
from ..residency import ASLEEP, LazySteps, RunLog, Stay
from ..scenario import Scenario
from ..trace import Trace
from .lanes import Activity, Lane, Lanes, Stop, assemble, walk_lanes

T = TypeVar("T")


@collector_resting()
def read_lanes(scenario: Scenario, trace: Trace) -> Lanes:
    """Follow the whole run once."""
    if isinstance(trace.steps, LazySteps):
        return _LogReader(scenario, trace.steps.log, len(trace.steps)).read()
    return walk_lanes(scenario, trace)


class _LogReader:
    """Reads the first `num_steps` steps of a log. The arrays hold by how much a number changes in each step."""

    def __init__(self, scenario: Scenario, log: RunLog, num_steps: int) -> None:
        self.lanes = {spec.id: Lane(spec, place) for place, spec in enumerate(scenario.requests)}
        self.budget = scenario.config.token_budget
        self.log = log
        self.num_steps = num_steps
        nothing = bytes(8 * (num_steps + 1))
        self.used, self.free, self.running = array("q", nothing), array("q", nothing), array("q", nothing)
        self.free[0] = log.num_gpu_blocks - 1
        # Of each request: tokens computed, and how many of them the last preemption took.
        self.computed: dict[str, int] = {}
        self.lost: dict[str, int] = {}

    def read(self) -> Lanes:
        """All of it."""
        log = self.log
        # Who is admitted in the step of its arrival waits in no step; with it in front stretches come in order.
        for stay in sorted([*log.waiting, *log.running], key=attrgetter("first")):
            last = min(stay.last, self.num_steps - 1)
            if not isinstance(stay, Stay):
                self.lanes[stay.request_id].add(stay.first, last, "waiting")
            elif stay.first <= last:
                self._run(stay, last)
        for step, ids in self._within(log.preempted):
            for request_id in ids:
                self.lanes[request_id].preempted.append(step)
        for step, ids in self._within(log.finished):
            for request_id in ids:
                self.lanes[request_id].finished = step
        stops = [Stop(*stop) for stop in log.stops if stop[0] < self.num_steps]
        used, free, running = (array("q", accumulate(each[:-1])) for each in (self.used, self.free, self.running))
        return assemble(self.lanes.values(), used, free, running, self._events(used), stops, self._skipped())

    def _run(self, stay: Stay, final: int) -> None:
        """What a running request does from its admission to step `final`."""
        lane, request_id = self.lanes[stay.request_id], stay.request_id
        if not stay.is_new:
            self.lost[request_id] = self.computed[request_id]
        lost, prompt_tokens = self.lost.get(request_id, 0), lane.spec.prompt_tokens
        now, held = 0, 0
        ends = [entry[0] - 1 for entry in stay.log[1:]] + [final]
        for (step, num_tokens, computed, blocks, _), end in zip(stay.log, ends, strict=True):
            last = min(end, final)
            if num_tokens == ASLEEP and step <= last:
                # Here `computed` holds the origin of the sleep; whoever sleeps has passed its prompt and what was lost.
                lane.add(step, last, "decode")
                held = self._sleep(step, last, computed, held)
                now = last + 1 - computed
            elif num_tokens > 0 and step <= final:
                before, now = computed - num_tokens, computed
                activity: Activity = "prefill" if before < prompt_tokens else "decode"
                lane.add(step, step, "recompute" if before < lost else activity)
                self.used[step] += num_tokens
                self.used[step + 1] -= num_tokens
                self.free[step] += held - blocks
                held = blocks
                if step < last:
                    lane.add(step + 1, last, "nothing")
            elif not num_tokens:
                lane.add(step, last, "nothing")
        self.computed[request_id] = now
        self.running[stay.first] += 1
        self.running[final + 1] -= 1
        self.free[final + 1] += held

    def _sleep(self, first: int, last: int, origin: int, held: int) -> int:
        """One token a step from `first` to `last`, by somebody with `held` blocks. Returns how many it has then."""
        block_size = self.log.block_size
        self.used[first] += 1
        self.used[last + 1] -= 1
        self.free[first] += held - (first - origin) // block_size - 1
        for step in range(first + block_size - (first - origin) % block_size, last + 1, block_size):
            self.free[step] -= 1
        return (last - origin) // block_size + 1

    def _events(self, used: Iterable[int]) -> dict[str, list[int]]:
        log, budget = self.log, self.budget
        steps = dict.fromkeys(stay.first for stay in log.running if stay.first < self.num_steps)
        full = [step for step, num_tokens in enumerate(used) if num_tokens == budget]
        return {
            "admission": list(steps),
            "cache_hit": [],
            "preemption": [step for step, _ in self._within(log.preempted)],
            "finish": [step for step, _ in self._within(log.finished)],
            "budget_full": [step for before, step in pairwise([-2, *full]) if before + 1 < step],
        }

    def _skipped(self) -> dict[str, list[tuple[int, Reason]]]:
        skipped: dict[str, list[tuple[int, Reason]]] = {}
        for step, reasons in self._within(self.log.skipped):
            for request_id, reason in reasons.items():
                skipped.setdefault(request_id, []).append((step, reason))
        return skipped

    def _within(self, by_step: Mapping[int, T]) -> Iterator[tuple[int, T]]:
        return ((step, found) for step, found in by_step.items() if step < self.num_steps)
