"""Findings as HTML, each with buttons to where it shows and to what it proposes; and what came of a proposal."""

import json
from collections.abc import Mapping, Sequence

from ..figures.html import element, escape
from ..figures.measured import ms
from ..figures.words import Words
from ..parameter import shown
from .finding import CODES, Change, Finding, Span
from .trial import Number, Trial

MOST_SPANS = 4
MOST_REQUESTS = 6
"""So many are shown; the others are counted."""


def draw_findings(findings: Sequence[Finding], words: Words) -> str:
    """The findings as a list; a sentence and what was looked for if there are none.

    Args:
        findings: in the order in which they are shown; their places in it are what `data-ask` names.
        words: in which language.
    """
    if not findings:
        looked = words("diagnosis.join").join(words(f"diagnosis.name.{code}") for code in CODES)
        return element("p", {"class": "healthy"}, words.html("diagnosis.healthy", looked=looked))
    items = [_item(index, finding, words) for index, finding in enumerate(findings)]
    drawn = element("ol", {"class": "findings"}, *items)
    if any(_needs_memory(finding.change) for finding in findings):
        drawn += element("p", {"class": "quiet"}, words.html("diagnosis.memory"))
    return drawn


def _needs_memory(change: Change) -> bool:
    """Whether there are to be more blocks of the same size."""
    return "num_gpu_blocks" in change and "block_size" not in change


def _item(index: int, finding: Finding, words: Words) -> str:
    head = element(
        "p",
        {"class": "finding-name"},
        element("b", None, escape(words(f"diagnosis.name.{finding.code}"))),
        " ",
        element("small", None, escape(words(f"diagnosis.severity.{finding.severity}"))),
    )
    attributes = {"class": "finding", "data-finding": finding.code, "data-severity": finding.severity}
    parts = (head, element("p", {"class": "told"}, tell(finding, words)), _spans(finding.spans, words))
    return element("li", attributes, *parts, _proposal(index, finding, words))


def tell(finding: Finding, words: Words) -> str:
    """The finding in a sentence or two, as HTML."""
    values: dict[str, object] = {**finding.operands, "ids": _ids(finding.requests, words)}
    for name in ("longest_us", "alone_us"):
        if name in finding.operands:
            values[name] = ms(int(finding.operands[name]))
    kind = finding.operands.get("limit", finding.operands.get("cause"))
    by_kind = finding.code in {"never_fits", "head_of_line", "budget_unused"}
    told = [words.html(f"diagnosis.{finding.code}.{kind}" if by_kind else f"diagnosis.{finding.code}", **values)]
    if finding.code in {"starvation", "stalled"}:
        told.append(words.html(f"diagnosis.because.{kind}"))
    if finding.code == "never_fits" and len(finding.requests) > 1:
        told.append(words.html("diagnosis.never_fits.all", count=len(finding.requests), **values))
    return words("sentence.join").join(told)


def _ids(requests: Sequence[str], words: Words) -> str:
    text = words("diagnosis.join").join(requests[:MOST_REQUESTS])
    more = len(requests) - MOST_REQUESTS
    return words("diagnosis.more", list=text, n=more) if more > 0 else text


def _spans(spans: Sequence[Span], words: Words) -> str:
    """Buttons that move to the first step of each span."""
    if not spans:
        return ""
    buttons = " ".join(
        element(
            "button",
            {"type": "button", "class": "jump", "data-set": json.dumps({"step": first})},
            f"{first}–{last}" if first < last else str(first),
        )
        for first, last in spans[:MOST_SPANS]
    )
    more = len(spans) - MOST_SPANS
    rest = " " + escape(words("diagnosis.spans.more", n=more)) if more > 0 else ""
    return element("p", {"class": "spans"}, escape(words("diagnosis.spans")), " ", buttons, rest)


def _proposal(index: int, finding: Finding, words: Words) -> str:
    """What to change, a place for what comes of it, and a button that takes it over; or what else would help."""
    if not finding.change:
        return element("p", {"class": "proposal"}, words.html(f"diagnosis.nothing.{finding.severity}"))
    text = element("p", {"class": "proposal"}, escape(words("diagnosis.try")), " ", _settings(finding.change, words))
    place = element("div", {"class": "trial", "data-ask": json.dumps({"do": "try", "finding": index})})
    return text + place + _take(finding.change, words)


def _take(change: Change, words: Words) -> str:
    data = {"type": "button", "class": "take", "data-set": json.dumps(dict(change))}
    return element("button", data, escape(words("diagnosis.take")))


def draw_way_out(refused: Finding, words: Words) -> str:
    """What to change in a refused configuration so that vLLM accepts it; empty where nothing is known."""
    if not refused.change:
        return ""
    told = words.html("diagnosis.accepted")
    return element(
        "span", {"class": "way-out"}, told, " ", _settings(refused.change, words), " ", _take(refused.change, words)
    )


def _settings(change: Change, words: Words) -> str:
    settings = (element("code", None, escape(f"{key} = {shown(value)}")) for key, value in change.items())
    return escape(words("diagnosis.join")).join(settings)


def draw_trial(trial: Trial, words: Words) -> str:
    """Whether a change helps, in a sentence, and the numbers before and after in a table."""
    if trial.refused is not None:
        return element("p", {"class": "outcome"}, words.html("diagnosis.refused", message=trial.refused))
    told = [words.html("diagnosis.helps" if trial.helps else "diagnosis.helps-not", **_decisive(trial, words))]
    if trial.first_difference is None:
        told.append(words.html("diagnosis.parts-never"))
    else:
        told.append(words.html("diagnosis.parts", step=str(trial.first_difference)))
    sentence = element("p", {"class": "outcome"}, words("sentence.join").join(told))
    heads = ("diagnosis.number", "diagnosis.before", "diagnosis.after")
    head = element("tr", None, *(element("th", {"scope": "col"}, escape(words(each))) for each in heads))
    rows = (_row(number, words) for number in trial.numbers)
    return sentence + element("table", None, element("thead", None, head), element("tbody", None, *rows))


def _decisive(trial: Trial, words: Words) -> Mapping[str, object]:
    number = trial.numbers[0]
    name = words(f"diagnosis.number.{number.name}")
    return {"name": name, "before": _value(number, number.before, words), "after": _value(number, number.after, words)}


def _row(number: Number, words: Words) -> str:
    values = (_value(number, value, words) for value in (number.before, number.after))
    head = element("th", {"scope": "row"}, escape(words(f"diagnosis.number.{number.name}")))
    return element("tr", {"data-number": number.name}, head, *(element("td", None, escape(value)) for value in values))


def _value(number: Number, value: int | None, words: Words) -> str:
    if value is None:
        return "–"
    if number.unit == "us":
        return words("diagnosis.unit.us", n=ms(value))
    if number.unit == "permille":
        return f"{value // 10}.{value % 10} %"
    return words(f"diagnosis.unit.{number.unit}", n=value) if number.unit else str(value)
