"""What a run amounts to, in a table; beside a baseline in two columns and with the difference."""

from collections.abc import Iterator
from typing import NamedTuple

from ..figures.html import element, escape
from ..figures.words import Words
from ..metrics import Percentiles, Summary


class Number(NamedTuple):
    """One line: the id of its name, how it is written, and the value, `None` where the run has none."""

    name: str
    unit: str
    value: int | None


def numbers_of(summary: Summary) -> list[Number]:
    """The numbers that tell runs apart, in the order of the table; times in us where the run is one in time."""
    in_time = summary.duration_us is not None
    return [
        Number("steps", "", summary.steps),
        Number("finished", "", summary.finished),
        *([Number("duration", "us", summary.duration_us)] if in_time else []),
        *_times(summary, in_time),
        Number("budget_used", "permille", summary.budget_used_permille),
        Number("idle_steps", "", summary.idle_steps),
        Number("waiting_max", "", summary.waiting_max),
        Number("running_max", "", summary.running_max),
        Number("preemptions", "", summary.preemptions),
        Number("recomputed", "", summary.recomputed_tokens),
        Number("cached", "", summary.cached_tokens),
        Number("rejected", "", summary.rejected_draft_tokens),
    ]


def _times(summary: Summary, in_time: bool) -> Iterator[Number]:
    for name in ("ttft", "itl", "e2e"):
        unit = "us" if in_time else "steps"
        sample: Percentiles | None = getattr(summary, f"{name}_{unit}")
        for p in ("p50", "p99"):
            yield Number(f"{name}_{p}", unit, None if sample is None else getattr(sample, p))


def numbers(summary: Summary, baseline: Summary | None, words: Words) -> str:
    """The table."""
    ours = numbers_of(summary)
    theirs = [] if baseline is None else numbers_of(baseline)
    head = [words("sandbox.number"), words("sandbox.now")]
    if baseline is not None:
        head += [words("sandbox.baseline"), words("sandbox.change")]
    rows = []
    for index, number in enumerate(ours):
        name = element("th", {"scope": "row"}, words.html(f"sandbox.number.{number.name}"))
        cells = [element("td", {"data-number": number.name, "data-value": number.value}, _told(number, words))]
        if theirs:
            other = theirs[index]
            cells += [element("td", None, _told(other, words)), element("td", None, _change(number, other, words))]
        rows.append(element("tr", None, name, *cells))
    heads = element("tr", None, *(element("th", {"scope": "col"}, escape(text)) for text in head))
    title = element("h3", None, words.html("sandbox.numbers"))
    inner = element("table", None, element("thead", None, heads), element("tbody", None, *rows))
    return title + inner


def _told(number: Number, words: Words) -> str:
    if number.value is None:
        return "–"
    match number.unit:
        case "us":
            return escape(words("sandbox.ms", n=f"{number.value // 1000:,}.{number.value % 1000 // 10:02}"))
        case "permille":
            return f"{number.value // 10}.{number.value % 10}\N{NO-BREAK SPACE}%"
        case "steps":
            return escape(words("sandbox.steps", n=number.value))
        case _:
            return f"{number.value:,}"


def _change(number: Number, other: Number, words: Words) -> str:
    if number.value is None or other.value is None:
        return "–"
    by = number.value - other.value
    if not by:
        return "="
    told = _told(number._replace(value=abs(by)), words)
    return element("b", None, ("+" if by > 0 else "−") + told)
