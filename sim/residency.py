"""A trace kept as stays, opened step by step where somebody looks.

A request stays in the waiting queue, then among the running, perhaps again and again. What it does while it runs stands
in a short log: an entry for each step in which it was looked at, and one for the beginning of a sleep, from which each
step follows by arithmetic. A million steps take as much room as there are such entries.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar, overload

from .reasons import Reason
from .trace import StepRecord

WINDOW_STEPS = 256
"""Stays are listed once for each window of so many steps that they touch."""

Entry = tuple[int, int, int, int, int]
"""step, tokens given, tokens computed after it, blocks held after it, 1 if it sampled.

Or the beginning of a sleep: step, `ASLEEP`, origin, 0, 1.
"""

ASLEEP = -1
"""As tokens given: from this step on one token a step; before step s, `s - origin` tokens are computed."""


FOR_EVER = 1 << 60
"""The last step of a stay that has not ended."""


class Served(NamedTuple):
    """What a running request got in one step, perhaps nothing; blocks are those that it holds."""

    num_tokens: int
    computed: int
    blocks_before: int
    blocks_after: int
    sampled: bool

    @property
    def gained(self) -> bool:
        """Whether it gained blocks."""
        return self.blocks_before < self.blocks_after


class Wait:
    """One time in the waiting queue: a request, its first and last step there, and its place in line."""

    __slots__ = ("first", "key", "last", "request_id")

    def __init__(self, request_id: str, key: Any, first: int) -> None:
        self.request_id = request_id
        self.key = key
        self.first = first
        self.last = FOR_EVER


class Stay(Wait):
    """One time among the running, whose key is the number of its admission."""

    __slots__ = ("blocks", "is_new", "log")

    def __init__(self, request_id: str, key: int, first: int, is_new: bool) -> None:
        super().__init__(request_id, key, first)
        self.is_new = is_new
        self.blocks: list[int] = []
        self.log: list[Entry] = []

    def at(self, step: int, block_size: int) -> Served:
        """What it got in `step`, where it runs."""
        i = bisect_right(self.log, (step, 1 << 62)) - 1
        entry = self.log[i]
        if entry[1] == ASLEEP:
            computed = step - entry[2]
            num_blocks = -(-computed // block_size)
            return Served(1, computed + 1, num_blocks, computed // block_size + 1, True)
        if entry[0] != step or entry[1] == 0:
            held = self._blocks_before(i + 1, block_size)
            return Served(0, 0, held, held, False)
        before = self._blocks_before(i, block_size)
        return Served(entry[1], entry[2], before, entry[3], bool(entry[4]))

    def _blocks_before(self, i: int, block_size: int) -> int:
        """Blocks held before the visit of entry `i`, unless it was admitted with it."""
        while i:
            i -= 1
            entry = self.log[i]
            if entry[1] == ASLEEP:
                woken = self.log[i + 1][0]
                return -(-(woken - entry[2]) // block_size)
            if entry[1]:
                return entry[3]
        return 0


W = TypeVar("W", bound=Wait)


@dataclass(slots=True)
class RunLog:
    """Everything that a run leaves, while it is written."""

    block_size: int
    num_gpu_blocks: int
    running: list[Stay] = field(default_factory=list)
    waiting: list[Wait] = field(default_factory=list)
    # The length of each step, and in some steps the clock at their start, wherever it was put forward.
    step_us: "array[int]" = field(default_factory=lambda: array("i"))
    clock_steps: "array[int]" = field(default_factory=lambda: array("i"))
    clock_us: "array[int]" = field(default_factory=lambda: array("q"))
    preempted: dict[int, list[str]] = field(default_factory=dict)
    finished: dict[int, list[str]] = field(default_factory=dict)
    skipped: dict[int, dict[str, Reason]] = field(default_factory=dict)
    capped: dict[int, dict[str, Reason]] = field(default_factory=dict)
    # What ended the two loops, noted when it changes.
    stops: list[tuple[int, Reason | None, Reason | None]] = field(default_factory=list)

    def note_clock(self, step: int, clock_us: int) -> None:
        """Keep when `step` starts; those after it follow without a gap until the next note."""
        self.clock_steps.append(step)
        self.clock_us.append(clock_us)

    def start_us(self, step: int) -> int:
        """When `step` starts."""
        i = bisect_right(self.clock_steps, step) - 1
        return self.clock_us[i] + sum(self.step_us[self.clock_steps[i] : step])

    def end_times(self, num_steps: int) -> "array[int]":
        """When each of the first `num_steps` steps ends."""
        ends: array[int] = array("q")
        for i, first in enumerate(self.clock_steps):
            last = self.clock_steps[i + 1] if i + 1 < len(self.clock_steps) else num_steps
            lengths = accumulate(self.step_us[first:last], initial=self.clock_us[i])
            next(lengths)
            ends.extend(lengths)
        return ends

    def note_stops(self, step: int, running_stop: Reason | None, waiting_stop: Reason | None) -> None:
        """Keep what ended the loops of `step`, if it is not what ended those of the step before."""
        if not self.stops or self.stops[-1][1] != running_stop or self.stops[-1][2] != waiting_stop:
            self.stops.append((step, running_stop, waiting_stop))


class InLine(Sequence[str]):
    """Who waits in one step, in order; looked up when it is asked for, since thousands may wait."""

    def __init__(self, waits: list[Wait], step: int) -> None:
        self._waits = waits
        self._step = step
        self._ids: list[str] | None = None

    def _all(self) -> list[str]:
        if self._ids is None:
            here = [wait for wait in self._waits if wait.first <= self._step <= wait.last]
            self._ids = [wait.request_id for wait in sorted(here, key=lambda wait: wait.key)]
        return self._ids

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._all()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all() == list(other)

    __hash__ = None  # type: ignore[assignment]


class LazySteps(Sequence[StepRecord]):
    """The steps of a run, each made when it is asked for."""

    def __init__(self, log: RunLog, num_steps: int) -> None:
        self.log = log
        self._num_steps = num_steps
        self._running: list[list[Stay]] | None = None
        self._waiting: list[list[Wait]] | None = None

    def __len__(self) -> int:
        return self._num_steps

    @overload
    def __getitem__(self, index: int) -> StepRecord: ...

    @overload
    def __getitem__(self, index: slice) -> list[StepRecord]: ...

    def __getitem__(self, index: int | slice) -> StepRecord | list[StepRecord]:
        if isinstance(index, slice):
            return [self._record(step) for step in range(*index.indices(self._num_steps))]
        step = index + self._num_steps if index < 0 else index
        if not 0 <= step < self._num_steps:
            raise IndexError(index)
        return self._record(step)

    def __iter__(self) -> Iterator[StepRecord]:
        return (self._record(step) for step in range(self._num_steps))

    def _listed(self, stays: list[W]) -> list[list[W]]:
        windows: list[list[W]] = [[] for _ in range(self._num_steps // WINDOW_STEPS + 1)]
        for stay in stays:
            last = min(stay.last, self._num_steps)
            for window in range(stay.first // WINDOW_STEPS, last // WINDOW_STEPS + 1):
                windows[window].append(stay)
        return windows

    def _at(self, windows: list[list[Stay]], step: int) -> list[Stay]:
        return [s for s in windows[step // WINDOW_STEPS] if s.first <= step <= s.last]

    def _record(self, step: int) -> StepRecord:
        log = self.log
        self._running = self._running or self._listed(log.running)
        self._waiting = self._waiting or self._listed(log.waiting)
        running = self._at(self._running, step)
        waiting = InLine(self._waiting[step // WINDOW_STEPS], step)
        served = {stay: stay.at(step, log.block_size) for stay in running}
        num_held = sum(each.blocks_after for each in served.values())
        got = {stay: each for stay, each in served.items() if each.num_tokens}
        admitted = [stay for stay in running if stay.first == step]
        _, running_stop, waiting_stop = log.stops[bisect_right(log.stops, step, key=_first) - 1]
        return StepRecord(
            step=step,
            scheduled={stay.request_id: each.num_tokens for stay, each in got.items()},
            new=[stay.request_id for stay in admitted if stay.is_new],
            resumed=[stay.request_id for stay in admitted if not stay.is_new],
            preempted=sorted(log.preempted.get(step, ())),
            cached={},
            encoder={},
            blocks={s.request_id: s.blocks[g.blocks_before : g.blocks_after] for s, g in got.items() if g.gained},
            running=[stay.request_id for stay in running],
            waiting=waiting,
            computed={stay.request_id: each.computed for stay, each in got.items()},
            spec={},
            free_blocks=log.num_gpu_blocks - 1 - num_held,
            generated={stay.request_id: 1 for stay, each in got.items() if each.sampled},
            finished=log.finished.get(step, ()),
            skipped=log.skipped.get(step, {}),
            running_stop=running_stop,
            waiting_stop=waiting_stop,
            capped=log.capped.get(step, {}),
            start_us=log.start_us(step) if log.step_us else None,
            step_us=log.step_us[step] if log.step_us else None,
        )


def _first(item: tuple[int, Reason | None, Reason | None]) -> int:
    return item[0]
