"""The KV blocks right after `schedule()` of a step: read from a scheduler that runs the scenario once more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..kv_cache import KVCacheManager
from ..output import SchedulerOutput
from ..plain import PlainEngine, _InFlight
from ..scenario import Scenario


class Block(NamedTuple):
    """One physical block.

    Args:
        number: its id; 0 is the null block, which nobody gets.
        owners: ids of the requests that hold it, in the order of the running queue.
        num_filled: tokens whose KV it holds.
        ref_cnt: how often it is held.
        block_hash: of the prefix that ends in it, if the prefix cache knows it; equal numbers are equal prefixes.
        place: position in the free queue, from 0, the next to be taken; `None` when it is not free.
    """

    number: int
    owners: tuple[str, ...]
    num_filled: int
    ref_cnt: int
    block_hash: int | None
    place: int | None


@dataclass(frozen=True, slots=True)
class Pool:
    """All blocks by number, and for each request `num_computed_tokens`."""

    blocks: Sequence[Block]
    num_computed_tokens: Mapping[str, int]


class _WatchedEngine(PlainEngine):
    """An engine that is stepped from outside, and keeps the pool of the step that it plans."""

    pool: Pool

    def take_step(self, *, looks: bool) -> None:
        """One step more; with `looks` its pool is kept."""
        self._looks = looks
        self._arrive()
        self.step()

    def _snapshot(self, output: SchedulerOutput) -> _InFlight:
        if self._looks:
            requests = self.scheduler.requests
            computed = {request_id: request.num_computed_tokens for request_id, request in requests.items()}
            self.pool = Pool(_blocks(self.scheduler.kv_cache_manager, computed), computed)
        return super()._snapshot(output)


class PoolWatch:
    """A second run, which stands still where somebody looks. Forward it goes on, backward it starts anew."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._engine = _WatchedEngine(scenario)

    def distance(self, step: int, running: Sequence[int]) -> int:
        """How many requests must be looked at to come to `step`; `running` has the number of running ones of each."""
        here = self._engine.step_index
        return sum(running[here if here <= step + 1 else 0 : step + 1])

    def after(self, step: int) -> Pool:
        """The pool right after `schedule()` of `step`, which must be one of the run's."""
        if self._engine.step_index > step + 1:
            self._engine = _WatchedEngine(self._scenario)
        while self._engine.step_index <= step:
            self._engine.take_step(looks=self._engine.step_index == step)
        return self._engine.pool


def _blocks(manager: KVCacheManager, computed: Mapping[str, int]) -> list[Block]:
    pool, size = manager.block_pool, manager.block_size
    owners: dict[int, list[str]] = {}
    filled: dict[int, int] = {}
    for request_id, blocks in manager.req_to_blocks.items():
        for index, block in enumerate(blocks):
            owners.setdefault(block, []).append(request_id)
            num_filled = min(size, max(0, computed[request_id] - index * size))
            filled[block] = max(filled.get(block, 0), num_filled)
    place = {block: index for index, block in enumerate(pool.free_queue())}
    return [
        Block(
            number,
            tuple(owners.get(number, ())),
            filled.get(number, size if number in pool.block_hash else 0),
            pool.ref_cnt.get(number, 0),
            pool.block_hash.get(number),
            place.get(number),
        )
        for number in range(1, pool.num_gpu_blocks)
    ]
