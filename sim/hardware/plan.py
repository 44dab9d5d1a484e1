"""What an executor is told to do: a trace of the simulator as work on tokens and physical blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from ..errors import ConfigError
from ..parameter import shown
from ..recordings.check import with_tables
from ..scenario import Scenario
from ..trace import Trace


@dataclass(frozen=True, slots=True)
class Work:
    """What a step does for one request.

    Args:
        request_id: which.
        start: tokens computed before the step.
        n: tokens that it computes.
        samples: whether the step reaches its last known token, so that a token comes out.
        blocks: its block table, as long as `start + n` tokens need.
    """

    request_id: str
    start: int
    n: int
    samples: bool
    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step: its number, its work in scheduling order, and the blocks that begin with nothing in them."""

    step: int
    work: tuple[Work, ...]
    empty_blocks: tuple[int, ...]


NOT_EXECUTED: dict[str, object] = {"async_scheduling": False, "num_speculative_tokens": 0}
"""Keys of a configuration that must have this value: no token is drafted, and each is known before the next step."""


def check_executable(scenario: Scenario) -> None:
    """Refuse what no model of ours can run.

    Raises:
        ConfigError: speculation, asynchronous scheduling, images, adapters.
    """
    for key, value in NOT_EXECUTED.items():
        if getattr(scenario.config, key) != value:
            given = shown(getattr(scenario.config, key))
            raise ConfigError(f"config.{key}", f"{given} cannot be recorded, must be {shown(value)}")
    for spec in scenario.requests:
        for key in ("images", "lora"):
            if getattr(spec, key):
                raise ConfigError(f"requests[{spec.index}].{key}", "cannot be recorded, must be left out")


def planned(trace: Trace, scenario: Scenario) -> Iterator[PlannedStep]:
    """The work of every step of `trace`, empty steps too."""
    block_size = scenario.config.block_size
    known = {spec.id: spec.prompt_tokens for spec in scenario.requests}
    for record, tables in with_tables(trace):
        work = []
        for request_id, n in record.scheduled.items():
            end = record.computed[request_id]
            table = tables[request_id][: -(-end // block_size)]
            work.append(Work(request_id, end - n, n, end == known[request_id], table))
        empty = [
            block
            for request_id, gained in record.blocks.items()
            for block in gained[record.cached.get(request_id, 0) // block_size :]
        ]
        yield PlannedStep(record.step, tuple(work), tuple(empty))
        for request_id, tokens in record.generated.items():
            known[request_id] += tokens


def prompt_ids(scenario: Scenario, vocab: int) -> dict[str, list[int]]:
    """Token ids of every prompt: equal segments of `prefix` are equal ids, all others are random from a fixed seed."""
    return {spec.id: _ids(spec.id, spec.prefix, spec.prompt_tokens, vocab) for spec in scenario.requests}


def _ids(request_id: str, prefix: Sequence[tuple[str, int]], length: int, vocab: int) -> list[int]:
    ids: list[int] = []
    for name, tokens in prefix:
        ids += _random_ids(f"segment {name}", tokens, vocab)
    ids += _random_ids(f"request {request_id}", max(length - len(ids), 0), vocab)
    return ids[:length]


def _random_ids(seed: str, count: int, vocab: int) -> list[int]:
    random = Random(seed)  # noqa: S311 - no secret
    return [random.randrange(2, vocab) for _ in range(count)]
