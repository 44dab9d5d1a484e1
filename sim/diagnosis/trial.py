"""A change that a finding proposes, tried: the run with it beside the run without."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..compare import DECISIONS, first_difference
from ..engine import simulate
from ..metrics import Summary, summarize
from ..parameter import Value
from ..sandbox.reading import read_lanes
from ..scenario import Scenario
from ..trace import Trace
from .changes import changed
from .facts import num_outputs
from .finding import Finding
from .limits import leaves_no_room

BETTER_PERMILLE = 50
"""By so much the number that decides must get better."""

LONGER_PERMILLE = 20
"""By so much the whole run may take longer."""


class Number(NamedTuple):
    """One number of the run before and after; `None` where there is none.

    Args:
        name: as in `SHOWN`: `waited` is for how many steps the requests of the finding waited, `missing` how many
            output tokens they lack, `total` how long the run took; the others are those of a summary.
        before, after: its values.
        unit: `steps`, `us`, `tokens`, `requests`, `permille`, or empty.
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
        numbers: those that matter (`SHOWN`), the one that decides first.
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


_ENDS = ("unfinished", "preemptions")
_WAITS = ("total", "ttft_p50", "ttft_p99", "itl_p99", "preemptions", "budget_used")
_PREFILLS = ("prefill", "total", "ttft_p50", "ttft_p99")
SHOWN = {
    "refused": _ENDS,
    "never_fits": _ENDS,
    "livelock": _ENDS,
    "stalled": _ENDS,
    "output_cut": ("missing", *_ENDS, "total"),
    "starvation": ("waited", *_WAITS),
    "head_of_line": ("waited", *_WAITS),
    "thrash": ("recomputed", "preemptions", "waited", "total", "ttft_p99", "itl_p99"),
    "budget_unused": ("waited", *_WAITS),
    "prefill_stalls": ("itl_p99", "ttft_p50", "ttft_p99", "total"),
    "block_waste": ("total", "ttft_p50", "ttft_p99", "preemptions"),
    "cache_off": _PREFILLS,
    "cache_blocks": _PREFILLS,
    "cache_evicted": _PREFILLS,
}
"""For each code the numbers that matter. The first decides: it must get better, and less of it is better."""


def try_change(scenario: Scenario, trace: Trace, finding: Finding) -> Trial:
    """Run the scenario with the change of a finding.

    It helps if the number that decides for this code is less by a twentieth at least, no more requests are left
    unfinished, and the whole run takes no more than a fiftieth longer. The last does not count where more requests are
    finished or get more output, nor where chunks are made smaller on purpose: steps are then shorter, and there are
    more of them.

    Args:
        scenario: what was run.
        trace: its trace.
        finding: one with a change.
    """
    after = replace(scenario, config=changed(scenario.config, finding.change))
    other = simulate(after)
    if other.error is not None:
        return Trial(finding.change, (), None, helps=False, refused=other.error.message)
    left, right = _numbers(scenario, trace, finding), _numbers(after, other, finding)
    first, *rest = (Number(name, left.get(name), right[name], _unit(scenario, name)) for name in SHOWN[finding.code])
    # What never happens, before or after, says nothing.
    told = (first, *(number for number in rest if number.before or number.after))
    difference = first_difference(trace, other, DECISIONS)
    return Trial(finding.change, told, difference.step if difference else None, _helps(finding, left, right))


def _numbers(scenario: Scenario, trace: Trace, finding: Finding) -> dict[str, int | None]:
    """By name; nothing but the unfinished ones for a run that was refused."""
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
    numbers = {
        "unfinished": len({*trace.unfinished, *_overlong(scenario, finding)}),
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
    if "missing" in SHOWN[finding.code]:
        # Each step is opened for it.
        wanted = sum(spec.output_tokens for spec in scenario.requests if spec.id in ids)
        numbers["missing"] = wanted - num_outputs(trace, ids).total()
    return numbers


def _overlong(scenario: Scenario, finding: Finding) -> list[str]:
    """Requests that a server refuses, whatever the run made of them; if the finding is about such."""
    if finding.operands.get("limit") != "model_len":
        return []
    return [spec.id for spec in scenario.requests if leaves_no_room(spec, scenario.config)]


def _total(summary: Summary) -> int:
    return summary.steps if summary.duration_us is None else summary.duration_us


UNITS = {
    "waited": "steps",
    "missing": "tokens",
    "prefill": "tokens",
    "recomputed": "tokens",
    "budget_used": "permille",
    "unfinished": "requests",
    "preemptions": "",
}
"""Units of numbers that have the same one in every scenario; the others are times."""


def _unit(scenario: Scenario, name: str) -> str:
    return UNITS.get(name, "us" if scenario.in_time else "steps")


def _helps(finding: Finding, before: Mapping[str, int | None], after: Mapping[str, int | None]) -> bool:
    decisive = SHOWN[finding.code][0]
    was, now = before[decisive] or 0, after[decisive] or 0
    more_finished = (before["unfinished"] or 0) - (after["unfinished"] or 0)
    if not was or now * 1000 > was * (1000 - BETTER_PERMILLE) or more_finished < 0:
        return False
    if (
        more_finished
        or finding.code in {"prefill_stalls", "output_cut"}
        or "long_prefill_token_threshold" in finding.change
    ):
        return True
    return (after["total"] or 0) * 1000 <= (before["total"] or 0) * (1000 + LONGER_PERMILLE)
