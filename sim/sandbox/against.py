"""Two configurations on the same requests: the first step that differs and why, and how the runs end."""

import json
from collections.abc import Mapping
from typing import Any

from ..compare import DECISIONS, Difference, first_difference
from ..engine import Progress
from ..errors import ConfigError
from ..figures.html import element, escape
from ..figures.reason_words import why_nothing
from ..figures.words import Words
from ..parameter import Value, shown
from ..parameters import CONFIG
from ..reasons import Reason
from ..residency import FOR_EVER
from .outcome import outcome
from .run import RUNS, Run, config_of, key_of

MOST_SHOWN = 160
"""Characters of a value that are shown."""
MOST_REASONS = 6
"""Requests of a side whose reasons are told."""


def advance_baseline(values: Mapping[str, Value], num_requests: int) -> Progress | None:
    """Take the run of the same requests under the configuration of the control `baseline` further, if one is set.

    Returns:
        How far it is; `None` when it is there, or none is wanted.

    Raises:
        ConfigError: it is no configuration, or one that vLLM refuses.
    """
    text = str(values["baseline"]).strip()
    if not text:
        return None
    try:
        json.loads(text)
        return RUNS.advance(key_of(values, text), num_requests)
    except ConfigError as error:
        raise ConfigError("baseline", str(error)) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError("baseline", f"{shown(text)} is not allowed, must be a configuration as JSON") from error


def baseline_of(values: Mapping[str, Value]) -> Run | None:
    """That run, taken to its end; `None` where no baseline is set. Raises as `advance_baseline`."""
    advance_baseline(values, FOR_EVER)
    text = str(values["baseline"]).strip()
    return RUNS.get(key_of(values, text)) if text else None


def config_text(values: Mapping[str, Value]) -> str:
    """The configuration of the form, as the control `baseline` takes it."""
    return json.dumps(config_of(values))


def swap(values: Mapping[str, Value]) -> dict[str, Value]:
    """Values for the controls with which the baseline becomes the configuration, and the other way round."""
    config: dict[str, Any] = json.loads(str(values["baseline"]))
    return {row.name: config.get(row.name, row.default) for row in CONFIG} | {"baseline": config_text(values)}


def buttons(values: Mapping[str, Value], words: Words) -> str:
    """To keep the configuration as the baseline; with one, to swap the two, and to be rid of it."""
    made = [_button("sandbox.keep", {"baseline": config_text(values)}, words)]
    if str(values["baseline"]).strip():
        made += [_button("sandbox.swap", swap(values), words), _button("sandbox.drop", {"baseline": ""}, words)]
    return element("p", {"class": "buttons"}, *made)


def _button(name: str, sets: Mapping[str, Value], words: Words) -> str:
    data = {"type": "button", "id": name.replace(".", "-"), "data-set": json.dumps(dict(sets))}
    return element("button", data, words.html(name))


def difference(now: Run, baseline: Run, words: Words) -> str:
    """Which keys differ, the first step in which the two decide differently, with the reasons, and how they end."""
    keys = element("p", None, words.html("sandbox.keys"), " ", _keys(now, baseline))
    found = first_difference(baseline.trace, now.trace, DECISIONS)
    if found is None or found.field == "outcome":
        told = element("p", None, words.html("sandbox.same", n=now.num_steps)) if now.num_steps else ""
    else:
        told = _shorter(now, baseline, words) if found.field == "steps" else _first(found, words)
    return keys + told + _ends(now, baseline, words)


def unlike(now: Run, baseline: Run, words: Words) -> str:
    """That the percentiles of the two are of different requests, where they are; else nothing."""
    if _who_finishes(now) == _who_finishes(baseline):
        return ""
    counts = {"finished": now.summary.finished, "other": baseline.summary.finished, "n": now.summary.requests}
    return element("p", {"class": "warning"}, words.html("sandbox.unlike", **counts))


def _who_finishes(run: Run) -> set[str]:
    return {lane.spec.id for lane in run.lanes.lanes if lane.finished is not None}


def _keys(now: Run, baseline: Run) -> str:
    ours, theirs = now.scenario.config, baseline.scenario.config
    pairs = [(row.name, getattr(theirs, row.name), getattr(ours, row.name)) for row in CONFIG]
    told = [
        element("code", None, f"{name} {escape(_plain(before))} → {escape(_plain(after))}")
        for name, before, after in pairs
        if before != after
    ]
    return ", ".join(told) or "–"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _first(found: Difference, words: Words) -> str:
    told = words.html("sandbox.differs", step=str(found.step), field=found.field)
    sides = [
        _side(words("sandbox.baseline"), found.left, found.why_left, words),
        _side(words("sandbox.now"), found.right, found.why_right, words),
    ]
    return _parted(found.step, told, found.step, words) + element("div", {"class": "sides"}, *sides)


def _parted(differs: int, told: str, step: int, words: Words) -> str:
    """Where the two part, with a button that goes to `step`, if the run as set now has any."""
    jump = {"type": "button", "class": "jump", "data-set": json.dumps({"step": step})}
    button = element("button", jump, words.html("sandbox.goto", step=str(step))) if step >= 0 else ""
    return element("p", {"data-differs": differs}, told, " ", button)


def _side(name: str, value: object, why: Mapping[str, Reason], words: Words) -> str:
    text = json.dumps(value)
    cut = text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " …"
    return element(
        "div", None, element("h4", None, escape(name)), element("code", None, escape(cut)), _whys(why, words)
    )


def _shorter(now: Run, baseline: Run, words: Words) -> str:
    """Of two that decide the same as long as both go on: which one ends first."""
    n = min(now.num_steps, baseline.num_steps)
    told = words.html(f"sandbox.differs.end.{'now' if n == now.num_steps else 'baseline'}", n=n)
    if n:
        told += words("sentence.join") + words.html("sandbox.differs.until")
    return _parted(n, told, min(n, now.num_steps - 1), words)


def _ends(now: Run, baseline: Run, words: Words) -> str:
    """How the two end, unless all is well with both; of one that stalls, why nobody gets anything any more."""
    if now.trace.outcome == baseline.trace.outcome == "finished":
        return ""
    sides = []
    for name, run in (("sandbox.baseline", baseline), ("sandbox.now", now)):
        # Who stands behind another is told by what holds that one.
        stuck = {who: reason for who, reason in run.trace.stuck.items() if reason["code"] != "head_of_line"}
        told = (element("p", None, outcome(run, words)), _whys(stuck, words))
        sides.append(element("div", None, element("h4", None, words.html(name)), *told))
    return element("p", None, words.html("sandbox.ends")) + element("div", {"class": "sides"}, *sides)


def _whys(why: Mapping[str, Reason], words: Words) -> str:
    """The first reasons in words, each a paragraph, and how many more there are."""
    told = [element("p", {"data-request": who}, _why(who, why[who], words)) for who in list(why)[:MOST_REASONS]]
    if len(why) > MOST_REASONS:
        told.append(element("p", {"class": "quiet"}, words.html("sandbox.reasons.more", n=len(why) - MOST_REASONS)))
    return "".join(told)


def _why(request_id: str, reason: Reason, words: Words) -> str:
    if "wanted" in reason:
        values = {"id": request_id, "got": reason["got"], "missing": reason["wanted"]}
        return words.html(f"capped.{reason['code']}", **values)
    return why_nothing(request_id, reason, words)
