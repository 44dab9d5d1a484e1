"""A run seen along its requests: what each does from when to when, what fills each step, and where something happens.

One pass over the trace; pictures of any part of it are drawn from here, without a look at every step again.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, NamedTuple

from ..reasons import Reason
from ..scenario import RequestSpec, Scenario
from ..trace import StepRecord, Trace

Activity = Literal["waiting", "prefill", "decode", "recompute", "nothing"]
"""What a request does in a step. `nothing`: it runs and gets no tokens. `recompute`: tokens that a preemption took."""

EVENTS = ("admission", "preemption", "cache_hit", "finish", "budget_full", "starvation")
STARVED_STEPS = 20
"""So many steps in a row without a token are called a starvation; it begins with the first of them."""


class Stretch(NamedTuple):
    """The same activity from step `first` to step `last`, both included."""

    first: int
    last: int
    activity: Activity


class Stop(NamedTuple):
    """From step `first` on these ended the two scans; `None` where a scan came to the end of its queue."""

    first: int
    running: Reason | None
    waiting: Reason | None


@dataclass(slots=True, eq=False)
class Lane:
    """One request: what it does, stretch after stretch in order of steps, and the steps that preempted it."""

    spec: RequestSpec
    place: int
    stretches: list[Stretch] = field(default_factory=list)
    preempted: list[int] = field(default_factory=list)
    finished: int | None = None

    def within(self, first: int, last: int) -> Iterator[Stretch]:
        """Its stretches from step `first` to step `last`, cut to these."""
        for index in range(max(0, bisect_right(self.stretches, first, key=_first) - 1), len(self.stretches)):
            stretch = self.stretches[index]
            if stretch.first > last:
                return
            if stretch.last >= first:
                yield Stretch(max(first, stretch.first), min(last, stretch.last), stretch.activity)

    def add(self, first: int, last: int, activity: Activity) -> None:
        """It goes on with `activity` from `first` to `last`."""
        if last < first:
            return
        if self.stretches and self.stretches[-1].activity == activity and self.stretches[-1].last == first - 1:
            first = self.stretches.pop().first
        self.stretches.append(Stretch(first, last, activity))


def _first(stretch: Stretch) -> int:
    return stretch.first


@dataclass(frozen=True, slots=True)
class Lanes:
    """All lanes in the scenario's order, and for each step: tokens given, free blocks, lengths of the queues.

    `events` gives the steps of each kind of event, in order; `places` the place of each request in the scenario's list,
    `order` its place among the lanes. `stops` is what ended the scans of the running and of the waiting queue, with the
    step from which on it is so; `skipped` is for each request when and why it was passed over. `starts` and `ends` are
    the first and the last step of each lane, the former in order; who is never there ends with -1. `most_running` and
    `most_waiting` are the longest that the queues are.
    """

    lanes: Sequence[Lane]
    used: Sequence[int]
    free: Sequence[int]
    running: Sequence[int]
    waiting: Sequence[int]
    events: Mapping[str, Sequence[int]]
    places: Mapping[str, int]
    order: Mapping[str, int]
    stops: Sequence[Stop]
    skipped: Mapping[str, Sequence[tuple[int, Reason]]]
    starts: Sequence[int]
    ends: Sequence[int]
    most_running: int
    most_waiting: int

    def happens(self, kind: str, step: int) -> bool:
        """Whether an event of this kind is in `step`."""
        steps = self.events[kind]
        index = bisect_left(steps, step)
        return index < len(steps) and steps[index] == step

    def next_event(self, kinds: Sequence[str], step: int) -> int | None:
        """The first step after `step` with an event of one of these kinds."""
        found = [(self.events[kind], bisect_right(self.events[kind], step)) for kind in kinds]
        return min((steps[index] for steps, index in found if index < len(steps)), default=None)

    def event_before(self, kinds: Sequence[str], step: int) -> int | None:
        """The last step before `step` with an event of one of these kinds."""
        found = [(self.events[kind], bisect_left(self.events[kind], step) - 1) for kind in kinds]
        return max((steps[index] for steps, index in found if index >= 0), default=None)

    def between(self, first: int, last: int) -> list[Lane]:
        """Those that are there in any of these steps."""
        return [self.lanes[index] for index in range(bisect_right(self.starts, last)) if self.ends[index] >= first]


def assemble(
    lanes: Collection[Lane],
    used: Sequence[int],
    free: Sequence[int],
    running: Sequence[int],
    events: Mapping[str, Sequence[int]],
    stops: Sequence[Stop],
    skipped: Mapping[str, Sequence[tuple[int, Reason]]],
) -> Lanes:
    """Put together what was read, with what follows from the lanes: lengths of the waiting queue, starvations."""
    changes = array("q", bytes(8 * (len(used) + 1)))
    starved = set()
    for lane in lanes:
        for first, last, activity in lane.stretches:
            if activity == "waiting":
                changes[first] += 1
                changes[last + 1] -= 1
            if activity in ("waiting", "nothing") and last - first + 1 >= STARVED_STEPS:
                starved.add(first)
    waiting = array("q", accumulate(changes[:-1]))
    in_order = sorted(lanes, key=lambda lane: lane.spec.arrival)
    places = {lane.spec.id: lane.place for lane in lanes}
    order = {lane.spec.id: index for index, lane in enumerate(in_order)}
    events = {**events, "starvation": sorted(starved)}
    starts = array("q", _starts(in_order))
    ends = array("q", (lane.stretches[-1].last if lane.stretches else -1 for lane in in_order))
    most = max(running, default=0), max(waiting, default=0)
    return Lanes(in_order, used, free, running, waiting, events, places, order, stops, skipped, starts, ends, *most)


def _starts(lanes: Sequence[Lane]) -> Iterator[int]:
    """The first step of each lane, in order of arrival; for one that is never there that of the one before."""
    start = 0
    for lane in lanes:
        start = lane.stretches[0].first if lane.stretches else start
        yield start


def walk_lanes(scenario: Scenario, trace: Trace) -> Lanes:
    """Follow the whole trace once, step by step."""
    reader = _Reader(scenario)
    for record in trace.steps:
        reader.take(record)
    return reader.finish(len(trace.steps))


class _Reader:
    def __init__(self, scenario: Scenario) -> None:
        self.lanes = {spec.id: Lane(spec, place) for place, spec in enumerate(scenario.requests)}
        self.budget = scenario.config.token_budget
        self.used, self.free = array("q"), array("q")
        self.running = array("q")
        self.events: dict[str, list[int]] = {kind: [] for kind in EVENTS}
        # Of each request: tokens computed, tokens that the last preemption took, the step since which it waits.
        self.computed: dict[str, int] = {}
        self.lost: dict[str, int] = {}
        self.waits_since: dict[str, int] = {}
        self.stops: list[Stop] = []
        self.skipped: dict[str, list[tuple[int, Reason]]] = {}
        self.arrivals = sorted(scenario.requests, key=lambda spec: spec.arrival, reverse=True)
        self.aborts = scenario.aborts()

    def take(self, record: StepRecord) -> None:
        """The next step."""
        step = record.step
        self._arrive(record)
        self.used.append(sum(record.scheduled.values()))
        self.free.append(record.free_blocks)
        self.running.append(len(record.running))
        for request_id in record.preempted:
            self.lost[request_id] = self.computed.get(request_id, 0)
            self.lanes[request_id].preempted.append(step)
            self.waits_since[request_id] = step
        for request_id in (*record.new, *record.resumed):
            since = self.waits_since.pop(request_id, step)
            self.lanes[request_id].add(since, step - 1, "waiting")
        for request_id, num_tokens in record.scheduled.items():
            self._serve(record, request_id, num_tokens)
        if len(record.running) > len(record.scheduled):
            for request_id in record.running:
                if request_id not in record.scheduled:
                    self.lanes[request_id].add(step, step, "nothing")
        for request_id in record.finished:
            self.lanes[request_id].finished = step
        self._note(record)
        self._explain(record)

    def _arrive(self, record: StepRecord) -> None:
        now = record.step if record.start_us is None else record.start_us
        while self.arrivals and self.arrivals[-1].arrival[0] <= now:
            self.waits_since[self.arrivals.pop().id] = record.step
        for request_id in self.aborts.get(record.step, ()):
            since = self.waits_since.pop(request_id, None)
            if since is not None:
                self.lanes[request_id].add(since, record.step - 1, "waiting")

    def _serve(self, record: StepRecord, request_id: str, num_tokens: int) -> None:
        lane, after = self.lanes[request_id], record.computed[request_id]
        before = after - num_tokens
        activity: Activity = "decode" if before >= lane.spec.prompt_tokens else "prefill"
        if before < self.lost.get(request_id, 0):
            activity = "recompute"
        lane.add(record.step, record.step, activity)
        self.computed[request_id] = after - record.num_rejected(request_id)

    def _note(self, record: StepRecord) -> None:
        happened = {
            "admission": record.new or record.resumed,
            "preemption": record.preempted,
            "cache_hit": record.cached,
            "finish": record.finished,
            "budget_full": self.used[-1] == self.budget and (len(self.used) < 2 or self.used[-2] < self.budget),
        }
        for kind, is_so in happened.items():
            if is_so:
                self.events[kind].append(record.step)

    def _explain(self, record: StepRecord) -> None:
        stop = Stop(record.step, record.running_stop, record.waiting_stop)
        if not self.stops or self.stops[-1][1:] != stop[1:]:
            self.stops.append(stop)
        for request_id, reason in record.skipped.items():
            self.skipped.setdefault(request_id, []).append((record.step, reason))

    def finish(self, num_steps: int) -> Lanes:
        """What is left open ends with the run."""
        for request_id, since in self.waits_since.items():
            self.lanes[request_id].add(since, num_steps - 1, "waiting")
        lanes = list(self.lanes.values())
        return assemble(lanes, self.used, self.free, self.running, self.events, self.stops, self.skipped)
