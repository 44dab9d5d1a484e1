"""Table 3: ten decodes, a prompt of 24 tokens, and only the budget changes. A fourth row is the reader's own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..onestep import OneStep, coming_steps, onestep
from ..parameters import ONESTEP, Value, by_name
from .figure import Figure
from .forms import prompt_and_decodes, slider
from .html import Cell, element, output, table
from .svg import Grid, cells, frame, inner_marks, lane, of
from .words import Words

NAME = "budgets"
D, P, M = 10, 24, 32
TABLE_3 = (8, 16, 32)
YOURS = replace(by_name(ONESTEP)["B"], default=11)
"""Eleven: the smallest budget that leaves the prompt anything."""
DEFAULTS: dict[str, Value] = {"B": YOURS.default}
PITCH, PER_ROW = 20, 32
NUMBERS = ("decode", "prefill", "prefill_left", "steps_to_finish_prefill")


def form(words: Words) -> str:
    """One slider: the budget of the fourth row."""
    return element("p", {"class": "how"}, words.html("budgets.how", D=D, P=P)) + element(
        "div",
        {"class": "sliders"},
        slider(NAME, YOURS, YOURS.default, words, plays=True),
        prompt_and_decodes("D", words),
    )


def parts(values: Mapping[str, Value], words: Words) -> Sequence[str]:
    """A row for each budget, and the numbers as a table."""
    yours = values["B"]
    assert isinstance(yours, int)
    rows = [_row(budget, "fixed", words) for budget in TABLE_3]
    mine = _row(yours, "yours", words)
    return (
        element("ol", {"class": "plans", "data-part": "picture"}, *rows),
        element("ol", {"class": "plans own", "data-part": "yours"}, mine),
        element("p", {"class": "why", "data-part": "why"}, _why(yours, words)),
        _table(yours, words),
    )


def _row(budget: int, kind: str, words: Words) -> str:
    step = onestep(D, P, budget, M)
    name = words.html("budgets.row" if kind == "fixed" else "budgets.row.yours", B=budget)
    picture = {"class": "frame-of", "role": "img", "aria-label": _alt(budget, step, words)}
    starved = " starved" if step.steps_to_finish_prefill is None else ""
    return element(
        "li",
        {"class": f"plan {kind}{starved}", "data-budget": budget},
        element("p", {"class": "plan-name"}, name),
        element("div", picture, _drawing(budget, step)),
        _numbers(budget, step, words),
    )


def _drawing(budget: int, step: OneStep) -> str:
    """The frame, and outside of it, hollow, the decodes that did not fit."""
    grid = Grid(PITCH, PER_ROW)
    decode, prefill = range(step.decode), range(step.decode, step.decode + step.prefill)
    outside = grid._replace(left=PITCH // 2)
    height = PITCH * -(-budget // PER_ROW)
    return lane(
        cells("idle", grid, range(budget - step.idle, budget)),
        of(
            "D",
            cells("decode", grid, decode),
            inner_marks(grid, decode),
            cells("wait", outside, range(budget, budget + D - step.decode)),
        ),
        of("P", cells("prefill", grid, prefill)),
        frame(grid, budget),
        height=max(height, PITCH),
    )


def _numbers(budget: int, step: OneStep, words: Words) -> str:
    items = []
    for name in NUMBERS:
        value = step.to_json()[name]
        told = output(name, "never" if value is None else value, "∞" if value is None else None, data_budget=budget)
        label = element("dt", None, words.html(f"number.{name}"))
        data = {"class": f"number {name}", "data-request": "D" if name == "decode" else "P"}
        items.append(element("div", data, label, element("dd", None, told)))
    return element("dl", {"class": "numbers"}, *items)


def _alt(budget: int, step: OneStep, words: Words) -> str:
    steps = step.steps_to_finish_prefill
    told = words("steps.never") if steps is None else words("steps.count", n=steps)
    return words("budgets.alt", B=budget, waiting=D - step.decode, **step.to_json() | {"steps": told})


def _why(budget: int, words: Words) -> str:
    step = onestep(D, P, budget, M)
    case = "none" if not step.prefill else ("all" if not step.prefill_left else "some")
    values = {"B": budget, "D": D, "P": P, "waiting": D - step.decode, "steps": step.steps_to_finish_prefill}
    return words.html(f"budgets.why.{case}", prefill=step.prefill, decode=step.decode, idle=step.idle, **values)


def _table(yours: int, words: Words) -> str:
    whose = ("D", "P", "P", "P", "P")
    titles = (*(words.plain(f"number.{name}") for name in NUMBERS), words("table.by-step"))
    head = [words("table.budget"), *map(Cell, titles, whose)]
    rows: list[list[object]] = []
    for budget in (*TABLE_3, yours):
        step = onestep(D, P, budget, M)
        numbers = [words("steps.never") if value is None else value for value in map(step.to_json().get, NUMBERS)]
        rows.append([budget, *map(Cell, (*numbers, _by_step(budget, step)), whose)])
    return table(f"{NAME}-table", words("table.summary"), head, rows)


def _by_step(budget: int, step: OneStep) -> str:
    """Tokens of the prompt in each step, such as `22 + 2`, or `24 × 1` where there are many."""
    if step.steps_to_finish_prefill is None:
        return "0 + 0 + 0 + …"
    if step.steps_to_finish_prefill > 4:
        full, rest = divmod(P, step.prefill)
        return f"{full} × {step.prefill}" + (f" + {rest}" if rest else "")
    return " + ".join(str(one.prefill) for one in coming_steps(D, P, budget, M))


BUDGETS = Figure(NAME, (YOURS,), DEFAULTS, form, parts)
