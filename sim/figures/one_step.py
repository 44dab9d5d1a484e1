"""The first picture: D decodes at the door, a budget of B tokens, one prompt of P tokens, and the steps to come."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from ..onestep import OneStep, Rule, coming_steps, deciding_rule, onestep
from ..parameters import ONESTEP, Value, by_name
from .figure import Figure
from .forms import checkbox, preset, prompt_and_decodes, radios, slider
from .html import Cell, element, escape, output, table
from .svg import HEIGHT, Grid, cells, frame, grid_for, inner_marks, labels, lane, of
from .words import Words

NAME = "one-step"
ROWS = by_name(ONESTEP)
DEFAULTS: dict[str, Value] = {name: row.default for name, row in ROWS.items()}
GROUPS: dict[str, dict[str, Value]] = {
    "group-a": DEFAULTS,
    "group-b": DEFAULTS | {"D": 16},
    "group-c": DEFAULTS | {"D": 16, "policy": "prefill-first"},
}
SHOWN = 6
"""So many of the coming steps are drawn; there is always room for them."""


class Model(NamedTuple):
    """The checked values of the controls, by the names of `onestep`."""

    D: int
    P: int
    B: int
    M: int
    policy: str
    chunked_prefill: bool

    @property
    def running(self) -> int:
        """Decodes that run: no more than M."""
        return min(self.D, self.M)


def form(words: Words) -> str:
    """The three groups of the article as buttons, four sliders, the policy and the switch."""
    presets = [
        preset(name, values, _letter(name, words), words(f"one-step.{name}"), words(f"one-step.{name}.detail"))
        for name, values in GROUPS.items()
    ]
    sliders = [slider(NAME, ROWS[name], ROWS[name].default, words, plays=name == "D") for name in ("D", "B", "P", "M")]
    switches = radios(NAME, ROWS["policy"], DEFAULTS["policy"], words) + checkbox(
        ROWS["chunked_prefill"], DEFAULTS["chunked_prefill"], words
    )
    group = {"class": "presets", "role": "group", "aria-label": words("presets"), "data-part": "presets"}
    return "".join(
        (
            element("p", {"class": "how"}, words.html("one-step.how")),
            element("div", group, *presets),
            element("div", {"class": "sliders"}, *sliders),
            element("div", {"class": "switches"}, switches, prompt_and_decodes("D", words)),
        )
    )


def parts(values: Mapping[str, Value], words: Words) -> Sequence[str]:
    """Picture, numbers, the sentence that says why, the coming steps, and a table of them."""
    model = Model(**values)  # type: ignore[arg-type]
    step = onestep(*model)
    return (
        _picture(model, step, words),
        element("div", {"class": "told"}, _numbers(step, words), _sentence(model, step, words)),
        _coming(model, step, words),
        _groups(words),
        _table(model, step, words),
    )


def _letter(name: str, words: Words) -> str:
    return words("one-step.group", letter=name[-1].upper())


@lru_cache(maxsize=4)
def _groups(words: Words) -> str:
    """The three groups side by side, for paper, where there are no buttons."""
    items = []
    for name, values in GROUPS.items():
        model = Model(**values)  # type: ignore[arg-type]
        step = onestep(*model)
        title = element("b", None, escape(_letter(name, words)), " ", escape(words(f"one-step.{name}")))
        detail = escape(words(f"one-step.{name}.detail"))
        frame_of = lane(_frame(grid_for(model.B), model, step, named=True), height=HEIGHT // 2)
        prompt = lane(_prompt(model.P, 0, step.prefill))
        why = element("p", None, _why(model, step, words))
        items.append(element("li", None, element("p", None, title, " ", detail), frame_of, prompt, why))
    return element("ol", {"class": "multiples", "data-part": "multiples"}, *items)


# ---------------------------------------------------------------- the picture


def _picture(model: Model, step: OneStep, words: Words) -> str:
    grid = grid_for(max(model.D, model.B))
    shows = [f" shows-{name}" for name, group in GROUPS.items() if group == model._asdict()]
    kind = "picture" + "".join(shows)
    data = {"class": kind, "role": "img", "aria-label": _alt(model, step, words), "data-part": "picture"}
    values = model._asdict() | step.to_json()
    values |= {"waiting": model.D - step.decode, "used": model.B - step.idle}
    door = "some" if values["waiting"] else "all"
    prompt = "starved" if step.steps_to_finish_prefill is None else "some"
    return element(
        "div",
        data,
        _row("door", door, values, _door(grid, model, step), words),
        _row("frame", "used", values, lane(_frame(grid, model, step, named=True)), words),
        _row("prompt", prompt, values, lane(_prompt(model.P, 0, step.prefill)), words),
    )


def _row(kind: str, case: str, values: Mapping[str, object], drawing: str, words: Words) -> str:
    """A lane with its name on the left and, on the right, what can be counted in it."""
    name = element("span", None, words.html(f"one-step.{kind}", **values))
    count = element("span", {"class": case}, words.html(f"one-step.{kind}.{case}", **values))
    return element("div", {"class": f"row of-{kind}"}, element("p", {"class": "row-name"}, name, count), drawing)


def _door(grid: Grid, model: Model, step: OneStep) -> str:
    """The decodes in rows, the first row at the door: a shadow of those who went in, the others hollow."""
    rows = max(1, -(-model.D // grid.per_row))
    height = HEIGHT if rows * grid.pitch > HEIGHT // 2 else HEIGHT // 2
    grid = grid._replace(top=height - grid.pitch, upward=True)
    gone, barred = range(step.decode), range(max(step.decode, model.running), model.D)
    waiting = range(step.decode, model.running)
    names = [(index, str(index + 1)) for index in range(model.D)]
    shapes = (cells("gone", grid, gone), cells("wait", grid, waiting), cells("barred", grid, barred))
    texts = labels("gone", grid, names[: step.decode]), labels("wait", grid, names[step.decode :])
    return lane(
        of("D", *shapes, *texts),
        height=height,
        kind="lane" if height == HEIGHT else "lane low",
    )


def _frame(grid: Grid, model: Model, step: OneStep, named: bool = False) -> str:
    first = step.prefill if model.policy == "prefill-first" else 0
    return _budget(grid, model.B, step.decode, step.prefill, first, named)


@lru_cache(maxsize=64)
def _budget(grid: Grid, budget: int, num_decode: int, num_prefill: int, first: int, named: bool) -> str:
    """The frame of the budget's cells and what is in it, in the order in which it was handed out.

    Args:
        grid: of the cells.
        budget: number of cells.
        num_decode: tokens of decodes.
        num_prefill: tokens of the prompt.
        first: place of the first decode; before it stands the prompt.
        named: whether cells carry letters.
    """
    decode = range(first, first + num_decode)
    prefill = range(0 if first else num_decode, num_prefill if first else num_decode + num_prefill)
    names = [(index, str(index - first + 1)) for index in decode] if named else []
    return "".join(
        (
            cells("idle", grid, range(num_decode + num_prefill, budget)),
            of("D", cells("decode", grid, decode), inner_marks(grid, decode), labels("decode", grid, names)),
            of(
                "P",
                cells("prefill", grid, prefill),
                labels("prefill", grid, [(prefill[0], "P")] if named and prefill else []),
            ),
            frame(grid, budget),
        )
    )


def _prompt(total: int, done: int, now: int) -> str:
    """The prompt as one bar: computed before, computed in this step, still to do."""
    grid = grid_for(total)
    return of(
        "P",
        cells("done", grid, range(done)),
        cells("prefill", grid, range(done, done + now)),
        cells("todo", grid, range(done + now, total)),
    )


def _alt(model: Model, step: OneStep, words: Words) -> str:
    steps = _steps_in_words(step, words)
    return words("one-step.alt", **model._asdict(), **step.to_json() | {"steps": steps})


# ---------------------------------------------------------------- numbers and the sentence


def _numbers(step: OneStep, words: Words) -> str:
    never = step.steps_to_finish_prefill is None
    rows = [
        _number("decode", output("decode", step.decode), words),
        _number("prefill", output("prefill", step.prefill), words, "none" if never else ""),
        _number("idle", output("idle", step.idle), words),
        _number("prefill_left", output("prefill_left", step.prefill_left), words),
        _number("steps_to_finish_prefill", _steps_output(step), words, "none" if never else ""),
    ]
    return element("dl", {"class": "numbers", "data-part": "numbers"}, *rows)


def _number(name: str, value: str, words: Words, state: str = "") -> str:
    request = {"decode": "D", "idle": None}.get(name, "P")
    data = {"class": f"number {name} {state}".rstrip(), "data-request": request}
    return element("div", data, element("dt", None, words.html(f"number.{name}")), element("dd", None, value))


def _steps_output(step: OneStep) -> str:
    steps = step.steps_to_finish_prefill
    if steps is None:
        return output("steps_to_finish_prefill", "never", "∞")
    return output("steps_to_finish_prefill", steps)


def _steps_in_words(step: OneStep, words: Words) -> str:
    steps = step.steps_to_finish_prefill
    return words("steps.never") if steps is None else words("steps.count", n=steps)


def _sentence(model: Model, step: OneStep, words: Words) -> str:
    return element("p", {"class": "why", "data-part": "why"}, _why(model, step, words))


def _why(model: Model, step: OneStep, words: Words) -> str:
    rule = deciding_rule(*model)
    values = model._asdict() | step.to_json()
    values |= {"running": model.running, "waiting": model.running - step.decode, "room": model.B - step.decode}
    sentences = [words.html(f"one-step.why.{_case(rule, model, step)}", **values)]
    if step.prefill_left and rule != "no_prompt":
        end = "one-step.end.never" if step.steps_to_finish_prefill is None else "one-step.end.steps"
        sentences.append(words.html(end, **values))
    return words("sentence.join").join(sentences)


def _case(rule: Rule, model: Model, step: OneStep) -> str:
    """The rule, and which of its outcomes is told."""
    if rule == "token_budget":
        return f"{rule}.{'some' if step.prefill else 'none'}"
    if rule == "prefill_first":
        return f"{rule}.{'all' if step.decode == model.running else 'some'}"
    if rule == "chunked_prefill_off":
        return f"{rule}.{model.policy}"
    return rule


# ---------------------------------------------------------------- the coming steps


def _coming(model: Model, step: OneStep, words: Words) -> str:
    total = step.steps_to_finish_prefill
    shown = list(islice(coming_steps(*model), SHOWN))
    items: list[str]
    if total is None:
        items = [_mini(model, index, one, words) for index, one in enumerate(shown[:-1])]
        items.append(element("li", {"class": "mini ever"}, element("b", None, "∞"), _p(words("one-step.ever"))))
    elif total > SHOWN:
        items = [_mini(model, index, one, words) for index, one in enumerate(shown[:-2])]
        more = words("one-step.more", n=total - SHOWN + 1)
        items.append(element("li", {"class": "mini more"}, element("b", None, "…"), _p(more)))
        left = model.P - step.prefill * (total - 1)
        items.append(_mini(model, total - 1, onestep(*model._replace(P=left)), words))
    else:
        items = [_mini(model, index, one, words) for index, one in enumerate(shown)]
    title = element("p", {"class": "part-name"}, words.html("one-step.coming"))
    kind = "coming never" if total is None else "coming"
    return element("div", {"class": kind, "data-part": "coming"}, title, element("ol", None, *items))


def _p(text: str) -> str:
    return element("p", None, escape(text))


def _mini(model: Model, index: int, step: OneStep, words: Words) -> str:
    """One coming step, the whole picture made small."""
    grid = grid_for(max(model.D, model.B))
    number = index + 1
    piece: dict[str, object] = {"data-step": number, "data-request": "P"}
    if step.prefill:
        piece |= {"data-tokens": step.prefill, "data-kind": "prefill"}
    elif model.P:
        piece |= {"data-why": deciding_rule(*model)}
    left = step.prefill_left
    is_last = bool(step.prefill) and not left
    tokens = words("one-step.mini", prefill=step.prefill, left=left)
    bar = _prompt(model.P, model.P - left - step.prefill, step.prefill)
    return element(
        "li",
        {"class": "mini last" if is_last else "mini"} | piece,
        element("span", {"class": "mini-step"}, escape(words("one-step.mini.step", n=number))),
        lane(_frame(grid, model, step)),
        lane(bar),
        _p(words("one-step.mini.last", prefill=step.prefill) if is_last else tokens),
    )


def _table(model: Model, step: OneStep, words: Words) -> str:
    names = ("decode", "prefill", "prefill_left", "idle")
    whose = ("D", "P", "P", "")
    titles = (words.plain(f"number.{name}") for name in names)
    head = [words("table.step"), *map(Cell, titles, whose)]
    steps = islice(coming_steps(*model), SHOWN if step.steps_to_finish_prefill is None else 256)
    rows: list[list[object]] = [
        [index + 1, *map(Cell, (getattr(one, name) for name in names), whose)] for index, one in enumerate(steps)
    ]
    if step.steps_to_finish_prefill is None:
        rows.append(["…", *(rows[-1][1:])])
    return table(f"{NAME}-table", words("table.summary"), head, rows)


ONE_STEP = Figure(NAME, ONESTEP, DEFAULTS, form, parts)
