"""A figure of a run: timeline, the step that is looked at, why somebody got nothing, counters, panels of its own."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from ..parameters import Parameter, Value
from .blocks import block_map, small_height, small_map
from .counters import counters
from .events import all_events, events, told
from .extras import Panel
from .figure import Figure
from .forms import radios, request_buttons, setting, switch, transport
from .html import Cell, element, table
from .moments import Moment
from .multiples import multiples
from .run import Run, run
from .step_panel import panel, why
from .timeline import Layout, Timeline, timeline
from .words import Words

COLUMN, CELL = 74, 26


class WholeRun(NamedTuple):
    """What does not depend on the step that is looked at: drawn once, and all for paper and as a table."""

    timeline: Timeline
    alt: str
    events: str
    titles: tuple[str, ...]
    multiples: str
    table: str


@dataclass(frozen=True, eq=False)
class Schedule:
    """What a figure shows.

    Args:
        name: of the figure.
        config, requests: the scenario in the form of the contract.
        controls: parameters that a reader sets; each replaces the key of its name in `config`.
        key_step: the step that the page starts with.
        steps: columns, as many as the longest variant has steps.
        waits: most requests that any step of any variant leaves out.
        has_blocks: whether the block map belongs to it.
        panels: what it adds below.
    """

    name: str
    config: Mapping[str, Any]
    requests: Sequence[Mapping[str, Any]]
    controls: tuple[Parameter, ...]
    key_step: int
    steps: int
    waits: int
    has_blocks: bool = False
    panels: tuple[Panel, ...] = ()

    def run(self, values: Mapping[str, Value]) -> Run:
        """The run for the values of the controls."""
        return _run(self, self.chosen(values))

    def chosen(self, values: Mapping[str, Value]) -> tuple[Value, ...]:
        """The values of the controls alone, in their order: what the run depends on."""
        return tuple(values[parameter.name] for parameter in self.controls)

    def figure(self) -> Figure:
        """The figure for the page."""
        about = ("Step of the timeline that is looked at.", "正在查看的步。")
        step = Parameter("step", "int", self.key_step, *about, minimum=0, maximum=self.steps - 1, unit="steps")
        controls = (*self.controls, step)

        def form(words: Words) -> str:
            return _form(self, step, words)

        def parts(values: Mapping[str, Value], words: Words) -> Sequence[str]:
            return _parts(self, values, words)

        return Figure(self.name, controls, {control.name: control.default for control in controls}, form, parts)


@lru_cache(maxsize=64)
def _run(schedule: Schedule, values: tuple[Value, ...]) -> Run:
    chosen = {parameter.name: value for parameter, value in zip(schedule.controls, values, strict=True)}
    data = {"name": schedule.name, "config": {**schedule.config, **chosen}, "requests": list(schedule.requests)}
    return run(data, schedule.steps)


def _form(schedule: Schedule, step: Parameter, words: Words) -> str:
    """How to read it, what can be set, the transport."""
    parts = []
    for parameter in schedule.controls:
        if parameter.kind == "bool":
            parts.append(switch(parameter, parameter.default, words))
        elif parameter.kind == "choice":
            parts.append(radios(schedule.name, parameter, parameter.default, words))
        else:
            parts.append(setting(schedule.name, parameter, parameter.default, words))
    budget = schedule.config["max_num_batched_tokens"]
    how = element("p", {"class": "how"}, words.html(f"{schedule.name}.how", budget=budget))
    settings = element("div", {"class": "settings"}, *parts) if parts else ""
    who = request_buttons([request["id"] for request in schedule.requests], words)
    return how + settings + who + transport(schedule.name, step, step.default, words)


def _parts(schedule: Schedule, values: Mapping[str, Value], words: Words) -> Sequence[str]:
    this, step = schedule.run(values), values["step"]
    assert isinstance(step, int)
    whole = _whole_run(schedule, schedule.chosen(values), words)
    reasons = element("p", {"class": "why", "data-part": "why"}, why(this, step, words))
    parts = [
        _columns(schedule, whole, this, step, words),
        element("div", {"class": "told"}, panel(this, step, words), reasons),
    ]
    extras = [block_map(this, step, words)] if schedule.has_blocks else []
    extras += [draw(this, step, words) for draw in schedule.panels]
    if extras:
        parts.append(element("div", {"class": "extras"}, *extras))
    return (*parts, counters(step, this.moments[step], words), whole.multiples, whole.table)


# ---------------------------------------------------------------- the timeline


def _columns(schedule: Schedule, whole: WholeRun, this: Run, selected: int, words: Words) -> str:
    picture = {"class": "picture", "role": "img", "aria-label": whole.alt, "data-part": "picture"}
    scroll: dict[str, object] = {
        "class": "columns",
        "data-valuetext": _told(this, selected, words),
        "data-events": whole.events,
        "id": f"{schedule.name}-columns",
    }
    scroll |= {"tabindex": 0, "role": "group", "aria-label": words("schedule.timeline")}
    heads = _heads(schedule, whole.titles, this, selected)
    drawing = element("div", picture, whole.timeline.at(selected))
    return element("div", scroll, element("div", {"class": f"wide of-{schedule.steps}"}, heads, drawing))


def _timeline(schedule: Schedule, this: Run) -> Timeline:
    count = schedule.config.get("num_gpu_blocks", 0) or max(
        (parameter.maximum or 0 for parameter in schedule.controls if parameter.name == "num_gpu_blocks"), default=0
    )
    foot = small_height(count - 1, COLUMN) if schedule.has_blocks else 0
    ids = [request.id for request in this.scenario.requests]
    feet = [small_map(blocks, COLUMN, ids) for blocks in this.blocks[: this.length]] if schedule.has_blocks else []
    ordered = [this.scheduled(step) + this.left_out(step) for step in range(this.length)]
    return timeline(ordered, this.budget, Layout(COLUMN, CELL, 15, schedule.waits, foot), feet, schedule.steps)


def _heads(schedule: Schedule, titles: Sequence[str], this: Run, selected: int) -> str:
    """A button over each column, for the pointer: the keyboard has the slider, which stops at the same steps."""
    heads = []
    for step, title in enumerate(titles):
        data = {
            "type": "button",
            "tabindex": -1,
            "id": f"{schedule.name}-t{step}",
            "data-set": f'{{"step": {step}}}',
            "title": title,
            "aria-current": "step" if step == selected else None,
        }
        text = f"{this.used(step)}/{this.budget}" if step < this.length else "–"
        heads.append(element("button", data, element("b", None, f"t{step}"), " ", element("span", None, text)))
    return element("div", {"class": "heads"}, *heads)


def _title(this: Run, step: int, words: Words) -> str:
    head = words("six-steps.head", step=step, used=this.used(step), budget=this.budget)
    return _and_events(head, this, step, words)


def _gets(this: Run, step: int, words: Words) -> str:
    return words("list.short").join(f"{moment.request_id} {moment.got}" for moment in this.scheduled(step)) or "–"


def _told(this: Run, step: int, words: Words) -> str:
    values = {"step": step, "gets": _gets(this, step, words), "used": this.used(step), "budget": this.budget}
    return _and_events(words("six-steps.valuetext", **values), this, step, words)


def _and_events(text: str, this: Run, step: int, words: Words) -> str:
    """`text`, and after it what happens in the step."""
    found = events(this, step)
    return words("list.long").join((text, told(found, words))) if found else text


def _alt(this: Run, words: Words) -> str:
    steps = range(this.length)
    each = words("list.long").join(
        words("six-steps.alt.step", step=step, gets=_gets(this, step, words)) for step in steps
    )
    return words("six-steps.alt", steps=this.length, budget=this.budget, each=each)


# ---------------------------------------------------------------- the whole run


@lru_cache(maxsize=64)
def _whole_run(schedule: Schedule, values: tuple[Value, ...], words: Words) -> WholeRun:
    this = _run(schedule, values)
    return WholeRun(
        _timeline(schedule, this),
        _alt(this, words),
        json.dumps(all_events(this, words), ensure_ascii=False, separators=(",", ":")),
        tuple(_title(this, step, words) for step in range(schedule.steps)),
        multiples(this, words),
        _table(schedule, this, words),
    )


def _table(schedule: Schedule, this: Run, words: Words) -> str:
    ids = [request.id for request in this.scenario.requests]
    head: list[object] = [words("table.step"), *(Cell(request_id, request_id) for request_id in ids)]
    head += [words.plain(f"six-steps.{name}") for name in ("budget", "running", "waiting")]
    if schedule.has_blocks:
        head.append(words("schedule.free"))
    rows: list[list[object]] = []
    for record, line in zip(this.trace.steps[: this.length], this.moments, strict=False):
        queues = [words("list.short").join(queue) or "–" for queue in (record.running, record.waiting)]
        free = [record.free_blocks] if schedule.has_blocks else []
        got = [Cell(_cell(moment, words), moment.request_id) for moment in line]
        rows.append([f"t{record.step}", *got, f"{this.used(record.step)} / {this.budget}", *queues, *free])
    return table(f"{schedule.name}-table", words("table.summary"), head, rows)


def _cell(moment: Moment, words: Words) -> str:
    if moment.why:
        return f"0 ({moment.why})"
    if not moment.got:
        return "–"
    return words("six-steps.cell", got=moment.got, kind=words(f"kind.{moment.kind}"), after=moment.told_after)
