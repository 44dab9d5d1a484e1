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
from .run import RUNS, Run, config_of, key_of

MOST_SHOWN = 160
"""Characters of a value that are shown."""


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
    """Which keys differ, and the first step in which the two decide differently, with the reasons on both sides."""
    parts = [element("p", None, words.html("sandbox.keys"), " ", _keys(now, baseline))]
    found = first_difference(baseline.trace, now.trace, DECISIONS)
    if found is None:
        return "".join((*parts, element("p", None, words.html("sandbox.same", n=now.num_steps))))
    return "".join((*parts, _first(found, words)))


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
    if found.field in ("error", "steps", "outcome"):
        told = words.html("sandbox.differs.end", step=str(found.step), field=found.field)
    else:
        told = words.html("sandbox.differs", step=str(found.step), field=found.field)
    jump = {"type": "button", "class": "jump", "data-set": json.dumps({"step": found.step})}
    button = element("button", jump, words.html("sandbox.goto", step=str(found.step)))
    sides = [
        _side(words("sandbox.baseline"), found.left, found.why_left, words),
        _side(words("sandbox.now"), found.right, found.why_right, words),
    ]
    return element("p", {"data-differs": found.step}, told, " ", button) + element("div", {"class": "sides"}, *sides)


def _side(name: str, value: object, why: Mapping[str, Reason], words: Words) -> str:
    text = json.dumps(value)
    cut = text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " …"
    reasons = [element("p", {"data-request": who}, _why(who, reason, words)) for who, reason in why.items()]
    return element("div", None, element("h4", None, escape(name)), element("code", None, escape(cut)), *reasons)


def _why(request_id: str, reason: Reason, words: Words) -> str:
    if "wanted" in reason:
        values = {"id": request_id, "got": reason["got"], "missing": reason["wanted"]}
        return words.html(f"capped.{reason['code']}", **values)
    return why_nothing(request_id, reason, words)
