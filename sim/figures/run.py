"""One scenario run, and all that pictures ask of it: moments, who holds which block, what is free."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..engine import simulate
from ..scenario import Scenario, parse_scenario
from ..trace import StepRecord, Trace
from .moments import Moment, moments


class Block(NamedTuple):
    """A physical block after a step was planned.

    Args:
        number: its id; 0 is the null block, which nobody gets.
        owners: places of the requests that hold it, in the scenario's list.
        tokens: how many of its slots are filled.
        is_new: some request gained it in this step.
        is_cached: its content is known to the prefix cache.
        was: place of the request that lost or left it before this step, if it is free again.
    """

    number: int
    owners: tuple[int, ...]
    tokens: int
    is_new: bool
    is_cached: bool
    was: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario, its trace, and per step the moments of its requests and the state of its blocks.

    `length` is the number of its steps; what follows in the lists are empty steps in which nobody is left.
    """

    scenario: Scenario
    trace: Trace
    moments: list[list[Moment]]
    blocks: list[list[Block]]
    length: int

    @property
    def budget(self) -> int:
        """Tokens of a step."""
        return self.scenario.config.token_budget

    def used(self, step: int) -> int:
        """Tokens given out in a step."""
        return sum(self.trace.steps[step].scheduled.values())

    def scheduled(self, step: int) -> list[Moment]:
        """The requests that got tokens, in scheduling order."""
        by_id = {moment.request_id: moment for moment in self.moments[step]}
        return [by_id[request_id] for request_id in self.trace.steps[step].scheduled]

    def left_out(self, step: int) -> list[Moment]:
        """The requests that are there and got none, in queue order."""
        by_id = {moment.request_id: moment for moment in self.moments[step]}
        return [by_id[request_id] for request_id in self.trace.steps[step].why()]


def run(data: Mapping[str, object], columns: int) -> Run:
    """Simulate a scenario in the form of the contract, and fill up to `columns` steps with empty ones."""
    scenario = parse_scenario(data)
    trace = simulate(scenario)
    length, free = len(trace.steps), scenario.config.num_gpu_blocks - 1
    steps = (*trace.steps, *(_empty(step, free) for step in range(length, columns)))
    trace = replace(trace, steps=steps)
    table = moments(trace, scenario.requests)
    return Run(scenario, trace, table, _all_blocks(scenario, trace, table), length)


def _empty(step: int, free: int) -> StepRecord:
    nothing: dict[str, int] = {}
    lists = dict.fromkeys(("new", "resumed", "preempted", "running", "waiting", "finished"), ())
    maps = ("scheduled", "cached", "encoder", "blocks", "computed", "spec", "generated", "skipped", "capped")
    stops = {"running_stop": None, "waiting_stop": None}
    return StepRecord(step=step, free_blocks=free, **lists, **dict.fromkeys(maps, nothing), **stops)  # type: ignore[arg-type]


def _all_blocks(scenario: Scenario, trace: Trace, table: list[list[Moment]]) -> list[list[Block]]:
    book = _Book(scenario)
    return [book.after(step, line) for step, line in zip(trace.steps, table, strict=True)]


class _Book:
    """Follows the blocks from step to step by what the records say."""

    def __init__(self, scenario: Scenario) -> None:
        config = scenario.config
        self.size, self.count, self.caching = config.block_size, config.num_gpu_blocks, config.enable_prefix_caching
        self.held: dict[str, list[int]] = {}
        self.filled: dict[int, int] = {}
        self.cached: set[int] = set()
        self.was: dict[int, int] = {}
        self.leaving: list[str] = []

    def after(self, step: StepRecord, line: list[Moment]) -> list[Block]:
        """All blocks once `step` is planned."""
        if self.count > 64:
            return []
        places = {moment.request_id: moment.place for moment in line}
        for request_id in (*self.leaving, *step.preempted):
            self.was |= dict.fromkeys(self.held.pop(request_id, ()), places[request_id])
        self.leaving = list(step.finished)
        for request_id, gained in step.blocks.items():
            self._gain(request_id, gained, step.cached.get(request_id, 0) // self.size)
        for moment in line:
            if moment.got:
                self._fill(moment)
        gained_now = {block for gained in step.blocks.values() for block in gained}
        owners: dict[int, tuple[int, ...]] = {}
        for request_id, blocks in self.held.items():
            for block in blocks:
                owners[block] = (*owners.get(block, ()), places[request_id])
        return [
            Block(
                number,
                tuple(sorted(owners.get(number, ()))),
                self.filled.get(number, 0),
                number in gained_now,
                number in self.cached,
                None if number in owners else self.was.get(number),
            )
            for number in range(1, self.count)
        ]

    def _gain(self, request_id: str, gained: Sequence[int], hits: int) -> None:
        self.held.setdefault(request_id, []).extend(gained)
        for block in gained[hits:]:
            self.cached.discard(block)
            self.filled[block] = 0

    def _fill(self, moment: Moment) -> None:
        for index, block in enumerate(self.held[moment.request_id]):
            tokens = min(self.size, max(0, moment.after - index * self.size))
            self.filled[block] = max(tokens, self.filled.get(block, 0))
            if self.caching and tokens == self.size:
                self.cached.add(block)
