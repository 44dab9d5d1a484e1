"""What is wrong with a run: rules that read it, each with what to change, and a trial of the change."""

from collections.abc import Iterator

from ..metrics import Summary
from ..sandbox.lanes import Lanes
from ..sandbox.reading import read_lanes
from ..scenario import Scenario
from ..trace import Trace
from .changes import offer
from .facts import Facts
from .finding import CODES, SEVERITIES, Finding
from .prefixes import cache_lost
from .queue import budget_unused, head_of_line
from .starving import starvation
from .stuck import livelock, never_fits, output_cut, refused, stalled
from .trial import Number, Trial, try_change
from .waste import block_waste, prefill_stalls, thrash

__all__ = ["CODES", "SEVERITIES", "Finding", "Number", "Trial", "diagnose", "try_change"]


def diagnose(
    scenario: Scenario, trace: Trace, lanes: Lanes | None = None, summary: Summary | None = None
) -> list[Finding]:
    """All that is wrong with a run, the worst first; nothing for a healthy one.

    Args:
        scenario: what was run.
        trace: its trace, with reasons, as `simulate` returns it.
        lanes, summary: those of the trace, if they are there already.
    """
    if trace.error is not None:
        return [refused(scenario.config, trace.error)]
    facts = Facts(scenario, trace, lanes or read_lanes(scenario, trace), summary)
    order = {severity: i for i, severity in enumerate(SEVERITIES)}
    return sorted(_findings(facts), key=lambda finding: (order[finding.severity], CODES.index(finding.code)))


def _findings(facts: Facts) -> Iterator[Finding]:
    misfits = list(never_fits(facts))
    oversized = offer(facts.config, **{key: value for finding in misfits for key, value in finding.change.items()})
    endless = [*livelock(facts, oversized), *stalled(facts, oversized)]
    yield from misfits
    yield from endless
    yield from output_cut(facts)
    starved = list(starvation(facts, {each for finding in endless for each in finding.requests}))
    yield from starved
    held = list(head_of_line(facts))
    yield from held
    if not endless:
        # A run that never ends is preempted and has budget left for that reason.
        yield from thrash(facts)
        yield from budget_unused(facts, {str(finding.operands["cause"]) for finding in (*starved, *held)})
    yield from prefill_stalls(facts)
    yield from block_waste(facts)
    yield from cache_lost(facts)
