"""Would a real vLLM starve the prompt? Decodes run, a prompt arrives; the simulated scheduler says what it gets.

Nothing here is the one-step model: each picture is a step of a run, and a configuration that vLLM refuses is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from ..engine import simulate
from ..parameters import ONESTEP, Parameter, Value, by_name
from ..scenario import parse_scenario
from ..trace import StepRecord, Trace
from .figure import Figure
from .forms import preset, prompt_and_decodes, slider
from .html import Cell, element, escape, output, table
from .svg import Grid, cells, frame, inner_marks, labels, lane, of
from .words import Words

NAME = "starvation"
PROMPT, ARRIVAL, LAST_STEP = 24, 6, 40
"""The prompt's tokens, the step before which it comes, and how long it is watched: a token a step would be enough."""
FRAME, BAR, ROWS_OF_FRAME = Grid(40, 16), 20, 2
"""The frame has large cells in two rows, as in the first picture; the prompt below it small ones in one row."""
ROWS = by_name(ONESTEP)
CONTROLS = (
    replace(ROWS["D"], default=16, minimum=1, maximum=32),
    replace(ROWS["B"], default=32, maximum=32),
    replace(ROWS["M"], default=32, maximum=32),
    Parameter(
        "S",
        "int",
        32,
        "Most tokens that the scheduler hands out in one step (max_num_scheduled_tokens).",
        "调度器一步最多发出的token数（max_num_scheduled_tokens）。",
        minimum=1,
        maximum=32,
        unit="tokens",
    ),
    Parameter(
        "K",
        "int",
        0,
        "Draft tokens of each decode (num_speculative_tokens).",
        "每个decode的草稿token数（num_speculative_tokens）。",
        minimum=0,
        maximum=4,
        unit="tokens",
    ),
)
DEFAULTS: dict[str, Value] = {parameter.name: parameter.default for parameter in CONTROLS} | {"S": 16}
ENOUGH: dict[str, Value] = DEFAULTS | {"S": 32}
PRESETS: dict[str, dict[str, Value]] = {
    "literal": ENOUGH | {"B": 16},
    "places": ENOUGH | {"M": 16},
    "cap": DEFAULTS,
    "drafts": ENOUGH | {"D": 8, "K": 3},
    "free": ENOUGH,
}
DECODES = " ".join(map(str, range(1, 33)))
"""Ids of all decodes that there can be."""
WHOSE = {"decode": DECODES, "drafts": DECODES, "prefill": "P", "steps": "P"}
NUMBERS = ("decode", "drafts", "prefill", "idle")
CODES = ("token_budget", "max_num_seqs", "head_of_line")
"""Why the prompt got nothing: all that can happen here."""


class Outcome(NamedTuple):
    """The step in which the prompt arrives, and what becomes of it.

    Args:
        trace: the run, which has no steps where vLLM refuses the configuration.
        budget: tokens that a step may hand out.
        steps: steps until the prompt is read; `None` for never.
    """

    trace: Trace
    budget: int
    steps: int | None

    @property
    def record(self) -> StepRecord:
        """The step in which the prompt is there for the first time."""
        return self.trace.steps[ARRIVAL]

    def numbers(self) -> dict[str, int]:
        """Tokens of that step by what they are for."""
        scheduled = self.record.scheduled
        prefill, drafts = scheduled.get("P", 0), sum(self.record.spec.values())
        used = sum(scheduled.values())
        values = (used - prefill - drafts, drafts, prefill, self.budget - used)
        return dict(zip(NUMBERS, values, strict=True))


def scenario(values: Mapping[str, Value]) -> dict[str, Any]:
    """What is run: decodes from step 0 on, as many as there are places for, and the prompt later."""
    count, places = int(str(values["D"])), int(str(values["M"]))
    config = {
        "max_num_batched_tokens": values["B"],
        "max_num_seqs": values["M"],
        "max_num_scheduled_tokens": _budget(values),
        "num_speculative_tokens": values["K"],
        "max_model_len": 512,
    }
    decodes = [{"id": f"{n}", "prompt_tokens": 1, "output_tokens": 256} for n in range(1, min(count, places) + 1)]
    prompt = {"id": "P", "arrival_step": ARRIVAL, "prompt_tokens": PROMPT, "output_tokens": 1}
    return {"name": NAME, "config": config, "requests": [*decodes, prompt]}


def outcome(values: Mapping[str, Value]) -> Outcome:
    """Run it."""
    trace = simulate(parse_scenario(scenario(values)), max_steps=LAST_STEP)
    done = next((step.step for step in trace.steps if step.computed.get("P", 0) >= PROMPT), None)
    return Outcome(trace, _budget(values), None if done is None else done - ARRIVAL + 1)


def _budget(values: Mapping[str, Value]) -> int:
    return min(int(str(values["S"])), int(str(values["B"])))


def form(words: Words) -> str:
    """The cases as buttons, and the five numbers."""
    buttons = [
        preset(name, values, str(place), words(f"starvation.{name}"), words(f"starvation.{name}.detail"))
        for place, (name, values) in enumerate(PRESETS.items(), 1)
    ]
    group = {"class": "presets", "role": "group", "aria-label": words("presets"), "data-part": "presets"}
    sliders = [
        slider(NAME, parameter, DEFAULTS[parameter.name], words, plays=parameter.name == "S") for parameter in CONTROLS
    ]
    return "".join(
        (
            element("p", {"class": "how"}, words.html("starvation.how", P=PROMPT)),
            element("div", group, *buttons),
            element("div", {"class": "sliders"}, *sliders),
            prompt_and_decodes(DECODES, words),
        )
    )


def parts(values: Mapping[str, Value], words: Words) -> Sequence[str]:
    """The step, its numbers, the sentence that says why, and the steps that follow as a table."""
    found = outcome(values)
    error = found.trace.error
    if error is not None:
        numbers = element("p", {"class": "refusal"}, element("code", None, escape(error.message)))
        asked = {"B": values["B"], "M": values["M"]}
        why, alt = words.html("starvation.refused", **asked), words.plain("starvation.refused", **asked)
        drawing = _drawing(values, None)
    else:
        numbers, why = _numbers(found, words), _why(values, found, words)
        alt, drawing = words("starvation.alt", budget=found.budget, **found.numbers()), _drawing(values, found)
    kinds = [f" shows-{name}" for name, values_ in PRESETS.items() if values_ == values]
    return (
        element(
            "div",
            {"class": "picture" + "".join(kinds), "role": "img", "aria-label": alt, "data-part": "picture"},
            drawing,
        ),
        numbers,
        element("p", {"class": "why", "data-part": "why"}, why),
        _cases(words),
        _table(found, words),
    )


@lru_cache(maxsize=4)
def _cases(words: Words) -> str:
    """All cases side by side, for paper, where there are no buttons."""
    items = []
    for place, (name, values) in enumerate(PRESETS.items(), 1):
        found = outcome(values)
        title = element("b", None, f"{place} ", escape(words(f"starvation.{name}")))
        head = element("p", None, title, " ", escape(words(f"starvation.{name}.detail")))
        if found.trace.error is not None:
            refused = words.html("starvation.refused", B=values["B"], M=values["M"])
            told = element("p", None, element("code", None, escape(found.trace.error.message)), " ", refused)
            items.append(element("li", None, head, _drawing(values, None, is_live=False), told))
        else:
            told = element("p", None, _sentence(values, found, words))
            items.append(element("li", None, head, _drawing(values, found, is_live=False), told))
    return element("ol", {"class": "multiples", "data-part": "multiples"}, *items)


def _drawing(values: Mapping[str, Value], found: Outcome | None, *, is_live: bool = True) -> str:
    """The frame of what may be handed out; beside it, barred, what the cap keeps back; below it the prompt.

    Only the picture of the values that are set, the live one, says by attributes what its pieces are.
    """
    grid, batched, budget = FRAME, int(str(values["B"])), _budget(values)
    height = ROWS_OF_FRAME * grid.pitch + 30
    below = Grid(BAR, PROMPT, top=height)
    parts, used, got = [cells("barred", grid, range(budget, batched))], 0, 0
    if found is not None:
        got = found.record.scheduled.get("P", 0)
        for request_id, tokens in found.record.scheduled.items():
            piece = _piece(grid, request_id, tokens, used)
            parts.append(element("g", _data(request_id, tokens) if is_live else None, *piece))
            used += tokens
    parts += [cells("idle", grid, range(used, budget)), frame(grid, budget)]
    parts.append(of("P", cells("prefill", below, range(got)), cells("todo", below, range(got, PROMPT))))
    return lane(*parts, height=height + BAR)


def _data(request_id: str, tokens: int) -> dict[str, object]:
    kind = "prefill" if request_id == "P" else "decode"
    data = {"class": "piece", "data-step": ARRIVAL, "data-request": request_id, "data-tokens": tokens}
    return data | {"data-kind": kind}


def _piece(grid: Grid, request_id: str, tokens: int, first: int) -> tuple[str, ...]:
    """A request's cells: for the prompt solid, for a decode one with its number, then its drafts."""
    name = [(first, request_id)]
    if request_id == "P":
        return cells("prefill", grid, range(first, first + tokens)), labels("prefill", grid, name)
    drafts = cells("gone", grid, range(first + 1, first + tokens))
    return cells("decode", grid, [first]), inner_marks(grid, [first]), drafts, labels("decode", grid, name)


def _numbers(found: Outcome, words: Words) -> str:
    told = [(name, output(name, value)) for name, value in found.numbers().items()]
    steps = output("steps", "never" if found.steps is None else found.steps, "∞" if found.steps is None else None)
    items = [
        element(
            "div",
            {
                "class": f"number {name}" + (" none" if name in ("prefill", "steps") and found.steps is None else ""),
                "data-request": WHOSE.get(name),
            },
            element("dt", None, words.html(f"starvation.number.{name}")),
            element("dd", None, value),
        )
        for name, value in [*told, ("steps", steps)]
    ]
    return element("dl", {"class": "numbers"}, *items)


def _why(values: Mapping[str, Value], found: Outcome, words: Words) -> str:
    """The sentence, and for the scripts the code of the reason."""
    why = found.record.why().get("P")
    data = {"data-step": ARRIVAL, "data-request": "P", "data-why": why["code"]} if why else {}
    return _sentence(values, found, words) + (element("span", data) if why else "")


def _sentence(values: Mapping[str, Value], found: Outcome, words: Words) -> str:
    why, told = found.record.why().get("P"), found.numbers()
    case = str(why["code"]) if why else "some"
    if case in ("some", "token_budget") and not told["drafts"]:
        case += ".plain"
    filled = {"budget": found.budget, "M": values["M"], "steps": found.steps or LAST_STEP}
    return words.html(f"starvation.why.{case}", **filled, **told)


def _table(found: Outcome, words: Words) -> str:
    head = [words("table.step"), words("starvation.column.used"), Cell(words("starvation.column.prefill"), "P")]
    head += [Cell(words("starvation.column.running"), DECODES), Cell(words("starvation.column.why"), "P")]
    rows: list[list[object]] = []
    for step in found.trace.steps[ARRIVAL : ARRIVAL + 6]:
        why = step.why().get("P")
        used = f"{sum(step.scheduled.values())} / {found.budget}"
        got, reason = Cell(step.scheduled.get("P", 0), "P"), Cell(why["code"] if why else "–", "P")
        rows.append([step.step, used, got, Cell(len(step.running), DECODES), reason])
    return table(f"{NAME}-table", words("table.summary"), head, rows)


STARVATION = Figure(NAME, CONTROLS, DEFAULTS, form, parts)
