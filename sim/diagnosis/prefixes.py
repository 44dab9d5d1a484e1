"""Rules about prefixes that were computed before, and are computed again."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..sandbox.lanes import Lane
from ..scenario import RequestSpec
from .changes import offer, smaller_blocks
from .facts import Facts
from .finding import Finding, merged

LOST_PERMILLE = 100
"""Tokens that need not have been computed, of all tokens of the prompts, from which on it is worth a word."""

Runs = list[tuple[str, int]]


@dataclass(slots=True)
class _Node:
    """After a common beginning: how much of each segment was computed, and what follows segments that are over."""

    computed: dict[str, int] = field(default_factory=dict)
    after: dict[tuple[str, int], "_Node"] = field(default_factory=dict)


class _Known:
    """The prefixes that have been computed, as a tree of segments; adapters have trees of their own."""

    def __init__(self) -> None:
        self._roots: dict[int, _Node] = {}

    def add(self, spec: RequestSpec) -> None:
        """The whole prefix of `spec` is computed."""
        node = self._roots.setdefault(spec.lora or 0, _Node())
        for name, length in _runs(spec):
            node.computed[name] = max(node.computed.get(name, 0), length)
            node = node.after.setdefault((name, length), _Node())

    def common(self, spec: RequestSpec) -> int:
        """Tokens at the beginning of `spec` that were computed for another request; one is left, for the output."""
        node, total = self._roots.get(spec.lora or 0), 0
        for name, length in _runs(spec):
            if node is None:
                break
            shared = min(node.computed.get(name, 0), length)
            total += shared
            if shared < length:
                break
            node = node.after.get((name, length))
        return min(total, spec.prompt_tokens - 1)


def _runs(spec: RequestSpec) -> Runs:
    """The segments at the beginning of the prompt, up to its first image."""
    left = min([spec.prompt_tokens, *(image.offset for image in spec.images)])
    runs: Runs = []
    for name, length in spec.prefix:
        if min(length, left):
            runs.append((name, min(length, left)))
            left -= min(length, left)
    return runs


class _Admission(NamedTuple):
    """A request is admitted for the first time: tokens that were known by then, tokens that were found."""

    step: int
    lane: Lane
    known: int
    hit: int

    def lost_to_size(self, block_size: int) -> int:
        """Known tokens in a block that is not full of known ones."""
        return max(self.known - max(self.known // block_size * block_size, self.hit), 0)

    def lost_to_eviction(self, block_size: int) -> int:
        """Tokens in whole blocks that were known, and were not found."""
        return max(self.known // block_size * block_size - self.hit, 0)


def cache_lost(facts: Facts) -> Iterator[Finding]:
    """Prefixes are computed again, a tenth or more of all tokens in the prompts that were admitted.

    A prefix counts as computed before from the step on after the one that ended the prefill of a request with it.

    * `cache_off`: prefix caching is off. The change turns it on.
    * `cache_blocks`: it is on, but only whole blocks are found. The change halves the blocks, in as many more of them,
      until at most a quarter is lost.
    * `cache_evicted`: whole blocks were computed and had been taken for others. The change adds as many blocks.
    """
    if not any(spec.prefix for spec in facts.scenario.requests):
        return
    admissions = [item for item in _admissions(facts) if item.known]
    config = facts.config
    total = sum(lane.spec.prompt_tokens for lane in facts.lanes.lanes if _admitted(lane) is not None)
    losses = {
        "cache_off": [0 if config.enable_prefix_caching else item.known for item in admissions],
        "cache_blocks": [item.lost_to_size(config.block_size) for item in admissions],
        "cache_evicted": [item.lost_to_eviction(config.block_size) for item in admissions],
    }
    for code in ("cache_blocks", "cache_evicted") if config.enable_prefix_caching else ("cache_off",):
        lost = sum(losses[code])
        if not lost or lost * 1000 < LOST_PERMILLE * total:
            continue
        losers = [item for item, each in zip(admissions, losses[code], strict=True) if each]
        if code == "cache_off":
            change = offer(config, enable_prefix_caching=True)
        elif code == "cache_blocks":
            change = smaller_blocks(config, _divisor(admissions, config.block_size, lost))
        else:
            change = offer(config, num_gpu_blocks=config.num_gpu_blocks + -(-lost // config.block_size))
        operands = {"lost": lost, "total": total, "count": len(losers), "block_size": config.block_size}
        spans = merged((item.step, item.step) for item in losers)
        yield Finding(code, "hint", spans, tuple(item.lane.spec.id for item in losers), operands, change)


def _divisor(admissions: list[_Admission], block_size: int, lost: int) -> int:
    divisor = 1
    while divisor < block_size and 4 * sum(i.lost_to_size(block_size // divisor) for i in admissions) > lost:
        divisor *= 2
    return min(divisor, block_size)


def _admissions(facts: Facts) -> Iterator[_Admission]:
    """The first admission of each request with a prefix, in order of steps."""
    hits = {step: facts.trace.steps[step].cached for step in facts.lanes.events["cache_hit"]}
    known = _Known()
    events: list[tuple[int, int, Lane]] = []
    for lane in facts.lanes.lanes:
        admitted = _admitted(lane)
        if admitted is not None and lane.spec.prefix:
            events += [(admitted, 0, lane)]
            prefilled = _prefilled(lane)
            events += [(prefilled, 1, lane)] if prefilled is not None else []
    for step, is_over, lane in sorted(events, key=lambda event: event[:2]):
        if is_over:
            known.add(lane.spec)
        else:
            yield _Admission(step, lane, known.common(lane.spec), hits.get(step, {}).get(lane.spec.id, 0))


def _admitted(lane: Lane) -> int | None:
    return next((stretch.first for stretch in lane.stretches if stretch.activity != "waiting"), None)


def _prefilled(lane: Lane) -> int | None:
    """The last step of its prefill, if that came to its end."""
    for i, stretch in enumerate(lane.stretches):
        if stretch.activity == "prefill":
            follows = lane.stretches[i + 1].activity if i + 1 < len(lane.stretches) else ""
            if follows == "decode" or (not follows and lane.finished is not None):
                return stretch.last
    return None
