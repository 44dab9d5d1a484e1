"""A change that a finding proposes, tried: the run with it beside the run without."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..compare import DECISIONS, first_difference
from ..engine import simulate
from ..metrics import Summary, summarize
from ..parameter import Value
from ..sandbox.lanes import read_lanes
from ..scenario import Scenario
from ..trace import Trace
from .changes import changed
from .finding import Finding

BETTER_PERMILLE = 50
"""By so much the number that matters must get better; the whole run may take so much longer, not more."""


class Number(NamedTuple):
    """One number of the run before and after; `None` where there is none. `unit` is `steps`, `us`, `tokens`, or empty.

    Args:
        name: of a field of the summary, in scenarios in time the one in us; or `waited`, `unfinished`, `total`.
    """

    name: str
    before: int | None
    after: int | None
    unit: str


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a change.

    Args:
        change: what was changed.
        numbers: those that matter, the one that decides first.
        first_difference: the first step in which other decisions were taken, `None` if there is none.
        helps: see `try_change`.
        refused: vLLM's message, if it refuses the change after all; then there are no numbers.
    """

    change: Mapping[str, Value]
    numbers: tuple[Number, ...]
    first_difference: int | None
    helps: bool
    refused: str | None = None

    def to_json(self) -> dict[str, Any]:
        """All of it, by name."""
        return {
            "change": dict(self.change),
            "numbers": [number._asdict() for number in self.numbers],
            "first_difference": self.first_difference,
            "helps": self.helps,
            "refused": self.refused,
        }


DECIDES = {
    "refused": "unfinished",
    "never_fits": "unfinished",
    "livelock": "unfinished",
    "stalled": "unfinished",
    "starvation": "waited",
    "head_of_line": "waited",
    "thrash": "recomputed",
    "budget_unused": "total",
    "prefill_stalls": "itl_p99",
    "block_waste": "waited",
    "cache_off": "prefill",
    "cache_blocks": "prefill",
    "cache_evicted": "prefill",
}
"""For each code the number that must get better; less is better in all of them."""


def try_change(scenario: Scenario, trace: Trace, finding: Finding) -> Trial:
    """Run the scenario with the change of a finding.

    It helps if the number that decides for this code (`DECIDES`) is less by a twentieth at least, no more requests are
    left unfinished, and the whole run takes no more than a twentieth longer. The last does not count where prefill is
    cut smaller on purpose (`prefill_stalls`), nor where more requests are finished.

    Args:
        scenario: what was run.
        trace: its trace.
        finding: one with a change.
    """
    after = replace(scenario, config=changed(scenario.config, finding.change))
    other = simulate(after)
    if other.error is not None:
        return Trial(finding.change, (), None, helps=False, refused=other.error.message)
    pairs = _numbers(scenario, trace, finding), _numbers(after, other, finding)
    decisive = DECIDES[finding.code]
    names = sorted(pairs[1], key=lambda name: name != decisive)
    in_time = scenario.in_time
    numbers = tuple(Number(name, pairs[0].get(name), pairs[1][name], _unit(name, in_time=in_time)) for name in names)
    known = [number for number in numbers if number.name == decisive or number.before or number.after]
    difference = first_difference(trace, other, DECISIONS)
    parted = difference.step if difference is not None else None
    return Trial(finding.change, tuple(known), parted, _helps(finding.code, *pairs))


def _numbers(scenario: Scenario, trace: Trace, finding: Finding) -> dict[str, int | None]:
    """By name, in the order in which they are shown; nothing but the unfinished ones for a run that was refused."""
    if trace.error is not None:
        return {"unfinished": len(scenario.requests)}
    summary, ids = summarize(trace, scenario), frozenset(finding.requests)
    waits = (
        stretch.last - stretch.first + 1
        for lane in read_lanes(scenario, trace).lanes
        if lane.spec.id in ids
        for stretch in lane.stretches
        if stretch.activity in {"waiting", "nothing"}
    )
    ttft, itl = (summary.ttft_us, summary.itl_us) if scenario.in_time else (summary.ttft_steps, summary.itl_steps)
    return {
        "unfinished": len(trace.unfinished) + _overlong(scenario, finding),
        "waited": sum(waits),
        "total": _total(summary),
        "prefill": summary.prefill_tokens,
        "recomputed": summary.recomputed_tokens,
        "preemptions": summary.preemptions,
        "ttft_p50": ttft.p50 if ttft else None,
        "ttft_p99": ttft.p99 if ttft else None,
        "itl_p99": itl.p99 if itl else None,
        "budget_used": summary.budget_used_permille,
    }


def _overlong(scenario: Scenario, finding: Finding) -> int:
    """Requests that a server refuses, whatever the run made of them."""
    if finding.operands.get("limit") != "model_len":
        return 0
    return sum(spec.prompt_tokens > scenario.config.max_model_len for spec in scenario.requests)


def _total(summary: Summary) -> int:
    return summary.steps if summary.duration_us is None else summary.duration_us


UNITS = {
    "waited": "steps",
    "prefill": "tokens",
    "recomputed": "tokens",
    "budget_used": "permille",
    "unfinished": "requests",
    "preemptions": "",
}
"""Units of numbers that have the same one in every scenario; the others are times."""


def _unit(name: str, *, in_time: bool) -> str:
    return UNITS.get(name, "us" if in_time else "steps")


def _helps(code: str, before: Mapping[str, int | None], after: Mapping[str, int | None]) -> bool:
    decisive = DECIDES[code]
    was, now = before.get(decisive), after.get(decisive)
    finished_more = (before["unfinished"] or 0) - (after["unfinished"] or 0)
    if was is None or now is None or now * 1000 > was * (1000 - BETTER_PERMILLE) or not was or finished_more < 0:
        return False
    if finished_more or code == "prefill_stalls":
        return True
    return (after["total"] or 0) * 1000 <= (before["total"] or 0) * (1000 + BETTER_PERMILLE)
