"""Six steps under a budget of eight tokens. Every number comes from `simulate`; the key step has all three requests."""

from collections.abc import Mapping, Sequence

from ..engine import simulate
from ..parameters import Parameter, Value
from ..scenario import parse_scenario
from .counters import counters
from .figure import Figure
from .forms import transport
from .html import element, escape, output, table
from .moments import Moment, moments
from .timeline import chip, timeline
from .words import Words

NAME = "six-steps"
SCENARIO = parse_scenario(
    {
        "name": "six-steps",
        "config": {"max_num_batched_tokens": 8, "max_num_seqs": 4, "max_model_len": 64},
        "requests": [
            {"id": "A", "arrival_step": 0, "prompt_tokens": 6, "output_tokens": 5},
            {"id": "B", "arrival_step": 1, "prompt_tokens": 10, "output_tokens": 3},
            {"id": "C", "arrival_step": 2, "prompt_tokens": 9, "output_tokens": 3},
        ],
    }
)
BUDGET = SCENARIO.config.max_num_batched_tokens
TRACE = simulate(SCENARIO)
MOMENTS = moments(TRACE, SCENARIO.requests)
STEP = Parameter(
    "step",
    "int",
    2,
    "Step of the timeline that is looked at.",
    "正在查看的步。",
    minimum=0,
    maximum=len(TRACE.steps) - 1,
    unit="steps",
)
DEFAULTS: dict[str, Value] = {"step": STEP.default}


def form(words: Words) -> str:
    """The transport."""
    how = element("p", {"class": "how"}, words.html("six-steps.how", budget=BUDGET))
    return how + transport(NAME, STEP, STEP.default, words)


def render(values: Mapping[str, Value], words: Words) -> str:
    """Timeline, the step that is looked at, and the whole run as a table."""
    selected = values["step"]
    assert isinstance(selected, int)
    told = _told(selected, words)
    picture = {"class": "picture", "role": "img", "aria-label": _alt(words), "data-part": "picture"}
    ordered = [_scheduled(step) + _left_out(step) for step in range(len(TRACE.steps))]
    return "".join(
        (
            element(
                "div",
                {"class": "columns", "data-valuetext": told},
                _heads(selected, words),
                element("div", picture, timeline(ordered, BUDGET, selected)),
            ),
            _panel(selected, words),
            element("p", {"class": "why", "data-part": "why"}, _why(selected, words)),
            counters(selected, MOMENTS[selected], words),
            _table(words),
        )
    )


def _scheduled(step: int) -> list[Moment]:
    by_id = {moment.request_id: moment for moment in MOMENTS[step]}
    return [by_id[request_id] for request_id in TRACE.steps[step].scheduled]


def _left_out(step: int) -> list[Moment]:
    return [moment for moment in MOMENTS[step] if moment.why]


def _used(step: int) -> int:
    return sum(TRACE.steps[step].scheduled.values())


def _heads(selected: int, words: Words) -> str:
    """A button over each column."""
    heads = []
    for step in range(len(TRACE.steps)):
        data = {
            "type": "button",
            "id": f"{NAME}-t{step}",
            "data-set": f'{{"step": {step}}}',
            "title": words("six-steps.head", step=step, used=_used(step), budget=BUDGET),
            "aria-current": "step" if step == selected else None,
        }
        heads.append(element("button", data, element("b", None, f"t{step}"), " ", _of_budget(step)))
    return element("div", {"class": "heads"}, *heads)


def _of_budget(step: int) -> str:
    return element("span", None, f"{_used(step)}/{BUDGET}")


def _gets(step: int) -> str:
    return ", ".join(f"{moment.request_id} {moment.got}" for moment in _scheduled(step))


def _told(step: int, words: Words) -> str:
    return words("six-steps.valuetext", step=step, gets=_gets(step), used=_used(step), budget=BUDGET)


def _alt(words: Words) -> str:
    steps = range(len(TRACE.steps))
    each = words("list.long").join(words("six-steps.alt.step", step=step, gets=_gets(step)) for step in steps)
    return words("six-steps.alt", steps=len(TRACE.steps), budget=BUDGET, each=each)


# ---------------------------------------------------------------- the step that is looked at


def _panel(step: int, words: Words) -> str:
    record = TRACE.steps[step]
    by_id = {moment.request_id: moment for moment in MOMENTS[step]}
    used = output("budget_used", _used(step)) + escape(words("six-steps.of", budget=BUDGET))
    lines = [
        ("budget", used),
        ("running", _queue([by_id[request_id] for request_id in record.running], words)),
        ("waiting", _queue([by_id[request_id] for request_id in record.waiting], words)),
        ("new", _queue([by_id[request_id] for request_id in record.new], words)),
        ("finished", _queue([by_id[request_id] for request_id in record.finished], words)),
    ]
    rows = [
        element("div", {"class": f"line {name}"}, element("dt", None, words.html(f"six-steps.{name}")), _dd(value))
        for name, value in lines
    ]
    title = element("p", {"class": "part-name"}, words.html("six-steps.step", step=step))
    return element("div", {"class": "panel", "data-part": "panel"}, title, element("dl", None, *rows))


def _dd(value: str) -> str:
    return element("dd", None, value)


def _queue(queue: Sequence[Moment], words: Words) -> str:
    if not queue:
        return element("span", {"class": "empty"}, escape(words("six-steps.empty")))
    return "".join(chip(moment) for moment in queue)


def _why(step: int, words: Words) -> str:
    """What each request asked for and got, in scheduling order."""
    told = []
    for moment in _scheduled(step):
        case = "all" if moment.got == moment.missing else "some"
        values = {"id": moment.request_id, "missing": moment.missing, "got": moment.got}
        told.append(words.html(f"six-steps.gets.{case}", **values))
    idle = BUDGET - _used(step)
    end = words.html("six-steps.idle" if idle else "six-steps.full", idle=idle, budget=BUDGET)
    return words("six-steps.gets.join").join(told) + words("six-steps.gets.end") + end


def _table(words: Words) -> str:
    ids = [request.id for request in SCENARIO.requests]
    head = [words("table.step"), *ids, words.plain("six-steps.budget"), words.plain("six-steps.running")]
    head.append(words.plain("six-steps.waiting"))
    rows: list[list[object]] = []
    for record, line in zip(TRACE.steps, MOMENTS, strict=True):
        got = [_cell(moment, words) for moment in line]
        queues = [", ".join(record.running) or "–", ", ".join(record.waiting) or "–"]
        rows.append([f"t{record.step}", *got, f"{_used(record.step)} / {BUDGET}", *queues])
    return table(f"{NAME}-table", words("table.summary"), head, rows)


def _cell(moment: Moment, words: Words) -> str:
    if not moment.got:
        return "–"
    return words("six-steps.cell", got=moment.got, kind=words(f"kind.{moment.kind}"), after=moment.after)


SIX_STEPS = Figure(NAME, (STEP,), DEFAULTS, form, render)
