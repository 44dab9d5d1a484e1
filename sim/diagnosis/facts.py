"""What the rules look at: the scenario, the trace and its lanes, and questions that several rules ask of them."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..config import Config
from ..metrics import Summary, summarize
from ..reasons import Reason
from ..sandbox.lanes import Lane, Lanes
from ..scenario import RequestSpec, Scenario
from ..trace import Trace
from .changes import NOTHING, changed, limit_of_running, more_running, offer
from .finding import Change, Span


class Blocked(NamedTuple):
    """From step `first` to step `last` the scan of the waiting queue ended for the same reason."""

    first: int
    last: int
    reason: Reason

    @property
    def code(self) -> str:
        """Of the reason."""
        return str(self.reason["code"])


@dataclass(frozen=True, slots=True)
class Facts:
    """A run that was not refused."""

    scenario: Scenario
    trace: Trace
    lanes: Lanes
    known_summary: Summary | None = None

    @property
    def summary(self) -> Summary:
        """The run in numbers; they are counted only if a rule asks."""
        return self.known_summary or summarize(self.trace, self.scenario)

    @property
    def config(self) -> Config:
        """That of the scenario."""
        return self.scenario.config

    @property
    def num_steps(self) -> int:
        """Steps of the run."""
        return len(self.trace.steps)

    @property
    def usable_blocks(self) -> int:
        """Blocks of the pool without the null block."""
        return self.config.num_gpu_blocks - 1

    @property
    def num_adapters(self) -> int:
        """Different LoRA adapters that requests bring."""
        return len({spec.lora for spec in self.scenario.requests if spec.lora})

    @property
    def busy_steps(self) -> int:
        """Steps in which anybody got tokens."""
        return sum(map(bool, self.lanes.used))

    def num_blocks(self, num_tokens: int) -> int:
        """Blocks for a sequence of so many tokens, with the slots that are reserved ahead of it."""
        slots = min(num_tokens + (self.config.num_lookahead_tokens or 0), self.config.max_model_len)
        return -(-slots // self.config.block_size)

    def whole_blocks(self, spec: RequestSpec) -> int:
        """Blocks that a request holds at its end; its last token needs no place."""
        return self.num_blocks(spec.prompt_tokens + spec.output_tokens - 1)

    def blocked(self, *codes: str) -> Iterator[Blocked]:
        """Where the scan of the waiting queue ended for one of these reasons, in order of steps."""
        stops = self.lanes.stops
        for i, stop in enumerate(stops):
            if stop.waiting is not None and stop.waiting["code"] in codes:
                last = stops[i + 1].first - 1 if i + 1 < len(stops) else self.num_steps - 1
                yield Blocked(stop.first, last, stop.waiting)

    def unfinished(self) -> list[Lane]:
        """The requests that the run has left, in order of arrival."""
        left = frozenset(self.trace.unfinished)
        return [lane for lane in self.lanes.lanes if lane.spec.id in left]


def num_outputs(trace: Trace, ids: Collection[str]) -> Counter[str]:
    """Output tokens that each of these requests got in the whole run."""
    outputs: Counter[str] = Counter()
    wanted = frozenset(ids)
    for record in trace.steps:
        for request_id in wanted & record.generated.keys():
            outputs[request_id] += record.generated[request_id]
    return outputs


def missing(reason: Reason) -> int:
    """How much a request lacks of what the reason is about, the watermark included; 0 where it does not say."""
    needs, has, kept = (reason.get(key, 0) for key in ("needs", "left" if "left" in reason else "free", "watermark"))
    return needs - has + kept if isinstance(needs, int) and isinstance(has, int) and isinstance(kept, int) else 0


def more_places(facts: Facts, spans: Sequence[Span], num_blocks: int) -> Change:
    """As many more places as requests wait in these steps, or as requests of `num_blocks` fit into the free blocks."""
    config, lanes = facts.config, facts.lanes
    waiting = max(max(lanes.waiting[first : last + 1]) for first, last in spans)
    free = min(min(lanes.free[first : last + 1]) for first, last in spans) - config.watermark_blocks
    extra = min(waiting, max(free, 0) // max(num_blocks, 1))
    limit: int = getattr(config, limit_of_running(config))
    return more_running(config, limit + extra) if extra else NOTHING


def places_and_blocks(facts: Facts, span: Span, num_blocks: int) -> Change:
    """As many more places as requests wait in these steps, and `num_blocks` blocks for each; nothing if none may be."""
    config, key = facts.config, limit_of_running(facts.config)
    limit: int = getattr(config, key)
    waiting = max(facts.lanes.waiting[span[0] : span[1] + 1])
    change = more_running(config, min(limit + waiting, len(facts.scenario.requests)))
    if not change:
        return NOTHING
    extra: int = getattr(changed(config, change), key) - limit
    return offer(config, **change, num_gpu_blocks=config.num_gpu_blocks + extra * num_blocks)
