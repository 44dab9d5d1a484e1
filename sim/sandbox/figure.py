"""The sandbox as a figure: its form, and its result for the values of the form."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..diagnosis import Finding, diagnose, try_change
from ..diagnosis.draw import draw_findings, draw_trial
from ..engine import SLICE_REQUESTS, Progress
from ..errors import ConfigError
from ..figures.figure import Figure
from ..figures.html import element, escape
from ..figures.words import Words
from ..parameter import Value, shown
from .against import advance_baseline, baseline_of, buttons, difference, unlike
from .blocks import block_map
from .controls import CONTROLS, first_values
from .form import form
from .lanes import EVENTS
from .legend import LONG_MARKS, MARKS, legend
from .moment import moment_of
from .numbers import numbers
from .outcome import outcome, warnings
from .run import KEPT_RUNS, RUNS, Run, key_of, run_of
from .step import happens, step_panel
from .timeline import band_place, timeline
from .window import Window, beside, window_of

NOW = 20_000
"""Requests times steps up to which the blocks are drawn with the step; in larger runs they follow when it settles."""
FAR = 150_000
"""Requests to be looked at on the way to a step up to which its blocks are drawn at all: a second in the page."""
LONG = 500_000
"""Requests looked at in a run of which changes are still tried by themselves."""
KEPT_TIMELINES = 16


class Drawn(NamedTuple):
    """The picture in parts, each one element, and the place of the band over the step in every timeline.

    Parts that are the same as before need not be put into the page again; a walk through the steps leaves most of them.
    """

    parts: list[str]
    band: int


def draw(values: Mapping[str, Value], words: Words) -> Drawn:
    """Timeline, step, numbers, blocks, and the comparison with a baseline if there is one.

    Raises:
        ConfigError: no scenario, or one that vLLM refuses; the same of the baseline.
    """
    run, baseline = run_of(values), baseline_of(values)
    if not run.num_steps:
        compared = [_compare(run, baseline, values, words)] if baseline else []
        none = element("div", {"hidden": True, "data-events": "[]", "data-limits": json.dumps({"step": 0})})
        above = element("div", {"class": "above"}, _outcome(run, words))
        return Drawn([above, none, _findings(run, words), *compared], 0)
    step, row = _step(run, values), values["row"]
    assert isinstance(row, int)
    window = window_of(run, step, str(values["columns"]), row, str(values["request"]))
    parts = [
        element("div", {"class": "above"}, _outcome(run, words), _sentence(run, step, words)),
        _near(run, step, str(values["event"]), words),
        _timelines(run, baseline, window, str(values["request"]), words),
        step_panel(run, moment_of(run, step), words),
        _findings(run, words),
        element("section", {"class": "memory", "data-part": "blocks"}, _blocks(run, step, words)),
        _compare(run, baseline, values, words),
        _numbers(run, baseline, words),
    ]
    return Drawn(parts, band_place(window, step))


def advance(values: Mapping[str, Value]) -> Progress | None:
    """Take what `draw` needs a slice further, for those who show how far it is and may give up.

    Returns:
        How far it is; `None` when nothing but drawing is left.

    Raises:
        ConfigError: as for `draw`.
    """
    return RUNS.advance(key_of(values), SLICE_REQUESTS) or advance_baseline(values, SLICE_REQUESTS)


def parts(values: Mapping[str, Value], words: Words) -> Sequence[str]:
    """The parts with the band in its place.

    Raises:
        ConfigError: as for `draw`.
    """
    drawn = draw(values, words)
    return [part.replace('class="selected" x="0"', f'class="selected" x="{drawn.band}"') for part in drawn.parts]


def late_blocks(values: Mapping[str, Value], words: Words) -> str:
    """The block map, where it is asked for once the rest is there.

    Raises:
        ConfigError: as for `draw`.
    """
    run = run_of(values)
    step = _step(run, values)
    if run.watch.distance(step, run.lanes.running) > FAR:
        return element("p", {"class": "quiet"}, words.html("sandbox.blocks.far"))
    return block_map(run, run.watch.after(step), step, words)


def trial(index: object, values: Mapping[str, Value], words: Words) -> str:
    """What becomes of the run with the change that a finding proposes.

    Args:
        index: place of the finding among those of the run.
        values: of the form.
        words: in which language.

    Raises:
        ConfigError: as for `draw`, or no such finding.
    """
    run = run_of(values)
    findings = _diagnosed(run)
    if type(index) is not int or not 0 <= index < len(findings):
        raise ConfigError("finding", f"{shown(index)} is not allowed, must be one of {len(findings)}")
    if sum(run.lanes.running) > LONG:
        return element("p", {"class": "quiet"}, words.html("sandbox.long"))
    return draw_trial(try_change(run.scenario, run.trace, findings[index]), words)


SANDBOX = Figure("sandbox", CONTROLS, first_values(), form, parts)
"""The figure of the page `sandbox/`."""


def _step(run: Run, values: Mapping[str, Value]) -> int:
    step = values["step"]
    assert isinstance(step, int)
    return min(step, run.num_steps - 1)


def _outcome(run: Run, words: Words) -> str:
    data = {"class": f"outcome {run.trace.outcome}", "data-outcome": run.trace.outcome}
    return element("p", data, outcome(run, words)) + warnings(run, words)


def _sentence(run: Run, step: int, words: Words) -> str:
    """The step in one sentence, which is spoken too."""
    record = run.trace.steps[step]
    values = {"step": str(step), "n": len(record.scheduled), "used": run.lanes.used[step], "budget": run.budget}
    told = words.html("sandbox.sentence", waiting=len(record.waiting), **values)
    happening = happens(run, step, words)
    also = element("b", None, escape(happening)) if happening else ""
    return element("p", {"class": "why", "data-part": "why"}, told, also)


def _near(run: Run, step: int, event: str, words: Words) -> str:
    """For scripts: the events before and after the step, the last step that there is, and what a slider speaks."""
    kinds = EVENTS if event == "any" else (event,)
    near = (run.lanes.event_before(kinds, step), run.lanes.next_event(kinds, step))
    events = [[n, happens(run, n, words)] for n in near if n is not None]
    data = {
        "hidden": True,
        "data-events": json.dumps(events, ensure_ascii=False),
        "data-limits": json.dumps({"step": run.num_steps - 1}),
        "data-valuetext": words("sandbox.valuetext", step=step, used=run.lanes.used[step], budget=run.budget),
    }
    return element("div", data)


@lru_cache(maxsize=KEPT_TIMELINES)
def _timelines(run: Run, baseline: Run | None, window: Window, request: str, words: Words) -> str:
    data = {"class": "timelines", "id": "sandbox-timeline", "tabindex": 0, "role": "group"}
    data |= {"aria-label": words("schedule.timeline"), "data-part": "timeline"}
    drawn = [element("div", {"class": "lane-box"}, timeline(run, window, request, words))]
    if baseline is not None:
        title = element("h3", {"class": "lane-title"}, words.html("sandbox.baseline"))
        other = timeline(baseline, beside(window, baseline), request, words)
        drawn = [element("h3", {"class": "lane-title"}, words.html("sandbox.now")), *drawn, title]
        drawn.append(element("div", {"class": "lane-box"}, other))
    last = window.row + len(window.lanes) - window.has_sought
    seen = {"first": min(window.row + 1, last), "last": last, "n": window.num_rows}
    rows = words.html("sandbox.rows", start=str(window.first), end=str(window.last), **seen)
    found = _elsewhere(run, window, request, words)
    marks = legend(MARKS if window.is_single else LONG_MARKS, words)
    below = element("p", {"class": "quiet"}, rows)
    return element("div", {"class": "timeline-part"}, found, element("div", data, *drawn), marks, below)


def _elsewhere(run: Run, window: Window, request: str, words: Words) -> str:
    """Where a request is to be found that is not in the steps that are seen; nothing if it is, or if none is sought."""
    if not request:
        return ""
    if request not in run.lanes.order:
        return element("p", {"class": "warning", "data-found": "none"}, words.html("sandbox.find.none", id=request))
    stretches = run.lanes.lanes[run.lanes.order[request]].stretches
    if not stretches:
        return element("p", {"class": "warning", "data-found": "never"}, words.html("sandbox.find.never", id=request))
    first, last = stretches[0].first, stretches[-1].last
    if first <= window.last and last >= window.first:
        return ""
    told = words.html("sandbox.find.elsewhere", id=request, first=str(first), last=str(last))
    jump = {"type": "button", "class": "jump", "data-set": json.dumps({"step": first})}
    button = element("button", jump, words.html("sandbox.goto", step=str(first)))
    return element("p", {"class": "quiet", "data-found": "elsewhere"}, told, " ", button)


@lru_cache(maxsize=KEPT_RUNS)
def _diagnosed(run: Run) -> Sequence[Finding]:
    return diagnose(run.scenario, run.trace, run.lanes, run.summary)


@lru_cache(maxsize=KEPT_RUNS)
def _findings(run: Run, words: Words) -> str:
    title = element("h3", None, words.html("sandbox.findings"))
    if run.scenario.requests:
        drawn = draw_findings(_diagnosed(run), words)
    else:
        drawn = element("p", {"class": "healthy"}, words.html("sandbox.findings.nobody"))
    return element("section", {"class": "findings", "data-part": "findings"}, title, drawn)


def _blocks(run: Run, step: int, words: Words) -> str:
    if run.num_steps * len(run.scenario.requests) > NOW:
        asked = {"do": "sandbox-blocks", "step": step}
        return element("div", {"class": "asked", "data-ask": json.dumps(asked), "data-keeps": True})
    return block_map(run, run.watch.after(step), step, words)


def _compare(run: Run, baseline: Run | None, values: Mapping[str, Value], words: Words) -> str:
    title = element("h3", None, words.html("sandbox.compare"))
    about = element("p", {"class": "quiet"}, words.html("sandbox.compare.how")) if baseline is None else ""
    told = "" if baseline is None else difference(run, baseline, words)
    return element("section", {"class": "compare", "data-part": "compare"}, title, about, buttons(values, words), told)


@lru_cache(maxsize=KEPT_RUNS)
def _numbers(run: Run, baseline: Run | None, words: Words) -> str:
    told = numbers(run.summary, baseline.summary if baseline else None, words)
    return element("section", {"class": "numbers"}, told, unlike(run, baseline, words) if baseline else "")
