"""What came of an edited scheduler, as HTML: the first step that differs, the recorded traces that break, the edit."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..compare import Difference, first_difference
from ..edited import Broken, Fault, Parted, against_recording, diff, load, run
from ..engine import simulate
from ..errors import ConfigError
from ..parameter import shown
from ..scenario import Scenario
from ..trace import Trace
from .html import element, escape
from .reason_words import why_nothing
from .words import Words

MOST_SHOWN = 300
"""Characters of a value that are shown; a queue of thousands is cut."""


def draw_edit(original: str, source: str, scenario: Scenario, words: Words) -> dict[str, Any]:
    """A scenario under the edited scheduler beside the original.

    Args:
        original, source: the texts of both.
        scenario: what is run.
        words: in which language.

    Returns:
        `html`; `state`: `same`, `differs` or `fault`; `line`: that of a fault, if it has one; `diff`: the change.
    """
    change = _change(original, source, words)
    try:
        trace = run(load(source), scenario)
    except Broken as broken:
        return {"state": "fault", "html": _fault(broken.fault, words), "line": broken.fault.line, "diff": change}
    found = first_difference(simulate(scenario, driver="plain"), trace)
    if found is None:
        text = _same(trace, words)
        return {"state": "same", "html": element("p", None, text), "line": None, "diff": change}
    return {"state": "differs", "html": _difference(found, words), "line": None, "diff": change}


def _same(trace: Trace, words: Words) -> str:
    if trace.error is not None:
        return words.html("edit.refused", message=trace.error.reason)
    return words.html("edit.same", n=len(trace.steps))


def draw_recordings(source: str, recordings: Sequence[Mapping[str, Any]], words: Words) -> list[str]:
    """An item of a list for each recorded trace that an edited scheduler leaves.

    Args:
        source: the text of the scheduler.
        recordings: each with `scenario` and `trace`, some with a `title`.
        words: in which language.
    """
    found = []
    try:
        edited = load(source)
    except Broken as broken:
        raise ConfigError("", broken.fault.message) from None
    for recording in recordings:
        try:
            parted = against_recording(edited, recording)
        except Broken as broken:
            found.append(_broken(recording, _fault(broken.fault, words)))
            continue
        if parted is not None:
            found.append(_broken(recording, _parted(parted, words)))
    return found


def _fault(fault: Fault, words: Words) -> str:
    if fault.line is None:
        text = words.html("edit.fault", kind=fault.kind)
    else:
        text = words.html("edit.fault.line", line=str(fault.line), kind=fault.kind)
    return element("p", None, text, " ", element("code", None, escape(fault.message)))


def _difference(found: Difference, words: Words) -> str:
    whole = found.field in {"error", "steps", "outcome"}
    text = words.html("edit.differs.run" if whole else "edit.differs", step=str(found.step), field=found.field)
    heads = (words("edit.original"), words("edit.edited"))
    sides = []
    for head, value, why in zip(heads, (found.left, found.right), (found.why_left, found.why_right), strict=True):
        reasons = "".join(element("p", None, _why(request, reason, words)) for request, reason in why.items())
        sides.append(element("div", None, element("h4", None, escape(head)), _value(value), reasons))
    caution = element("p", {"class": "edit-hint"}, words.html("edit.words")) if found.why_right else ""
    return element("p", None, text) + element("div", {"class": "edit-sides"}, *sides) + caution


def _why(request_id: str, reason: Mapping[str, Any], words: Words) -> str:
    try:
        return why_nothing(request_id, dict(reason), words)
    except KeyError:
        # It got fewer, not none; or the edit has made a reason of its own.
        return element("b", None, escape(request_id)) + " " + element("code", None, escape(shown(dict(reason))))


def _parted(parted: Parted, words: Words) -> str:
    step = "" if parted.step is None else str(parted.step)
    text = words.html("edit.differs" if step else "edit.differs.run", step=step, field=parted.field)
    rows = "".join(
        element("dt", None, escape(words(name))) + element("dd", None, _value(value))
        for name, value in (("edit.recorded", parted.recorded), ("edit.edited", parted.ours))
    )
    return element("p", None, text) + element("dl", None, rows)


def _broken(recording: Mapping[str, Any], text: str) -> str:
    name = element("code", None, escape(recording["scenario"].get("name")))
    title = f" {escape(recording['title'])}" if recording.get("title") else ""
    return element("li", None, element("details", None, element("summary", None, name + title), text))


def _value(value: Any) -> str:
    text = "null" if value is None else _json(value)
    return element("code", None, escape(text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " ..."))


def _json(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_json, value)) + "]"
    return str(value)


def _change(original: str, source: str, words: Words) -> str:
    """The lines that were changed; a plus or a minus tells which, not colour alone."""
    lines = list(diff(original, source))
    if not lines:
        return element("p", None, words.html("edit.diff.none"))
    kinds = {"+": "added", "-": "taken", "@": "place"}
    spans = [element("span", {"class": f"edit-{kinds.get(line[:1], 'kept')}"}, escape(line) + "\n") for line in lines]
    region = {"class": "edit-diff", "tabindex": 0, "role": "region", "aria-label": words("edit.diff")}
    return element("pre", region, *spans)
