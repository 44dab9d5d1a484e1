"""How a run ended, in words, and what vLLM warns about."""

from collections.abc import Sequence

from ..figures.html import element, escape
from ..figures.words import Words
from .run import Run

MOST_NAMED = 6
MOST_WARNINGS = 3


def outcome(run: Run, words: Words) -> str:
    """A sentence: how the run ended, after how many steps, and who is left.

    Returns:
        HTML, without an element around it.
    """
    trace, summary = run.trace, run.summary
    if not run.scenario.requests:
        return words.html("sandbox.outcome.nobody")
    told = {"n": summary.requests, "finished": summary.finished, "steps": run.num_steps}
    return words.html(f"sandbox.outcome.{trace.outcome}", left=_listed(trace.unfinished, words), **told)


def _listed(ids: Sequence[str], words: Words) -> str:
    named = words("list.short").join(ids[:MOST_NAMED])
    return named if len(ids) <= MOST_NAMED else words("sandbox.and_more", names=named, n=len(ids) - MOST_NAMED)


def warnings(run: Run, words: Words) -> str:
    """The first warnings, each a paragraph, and how many more there are; the trace has them all."""
    told = run.trace.warnings
    lines = [escape(warning) for warning in told[:MOST_WARNINGS]]
    if len(told) > MOST_WARNINGS:
        lines.append(words.html("sandbox.warnings.more", n=len(told) - MOST_WARNINGS))
    return "".join(element("p", {"class": "warning"}, line) for line in lines)
