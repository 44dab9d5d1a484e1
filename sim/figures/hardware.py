"""Simulated and measured, step by step: recordings of real runs, the plan, a fitted model, published tables."""

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from ..cost import COST_MODELS, CostModel, FitError, kind_of
from ..parameters import Parameter, Value
from .events import all_events
from .figure import Figure
from .forms import radios, transport
from .html import element, escape, output, table
from .measured import Bar, lanes, ms, percent, strip
from .recorded import BACKENDS, NAMES, Recorded, recordings
from .words import Words

NAME = "hardware"
PROFILES = {"torch-cpu": "cpu-torch-tiny", "vllm-cpu": "cpu-vllm-tiny"}
"""The time model fitted to the recordings of each backend."""
PUBLISHED = "h200-llama-3.1-8b"
BUDGETS = {"long-128": 128, "long-512": 512, "long-2048": 2048}
"""Recordings of one load under several budgets."""
PROMPT, DECODE = "P", "d0"
"""In these, the long prompt, and one of those that decode beside it."""

RECORDING = Parameter("recording", "choice", "long-512", "Recording that is shown.", "显示哪一次录制。", choices=NAMES)
BACKEND = Parameter(
    "backend", "choice", "vllm-cpu", "What ran the plan, and where.", "由什么、在哪里执行。", choices=BACKENDS
)
STEP = Parameter(
    "step",
    "int",
    4,
    "Step of the recording that is looked at.",
    "正在查看的步。",
    minimum=0,
    maximum=max((len(item.trace.steps) for item in recordings().values()), default=6) - 1,
    unit="steps",
)
CONTROLS = (RECORDING, BACKEND, STEP)
DEFAULTS: dict[str, Value] = {control.name: control.default for control in CONTROLS}


def form(words: Words) -> str:
    """Which recording, made with what, and the transport."""
    keys = recordings().keys()
    names = {key[0] for key in keys} if keys else {str(RECORDING.default)}
    backends = {key[1] for key in keys} if keys else {str(BACKEND.default)}
    shown = (_only(RECORDING, names), _only(BACKEND, backends))
    return "".join(
        (
            element("p", {"class": "how"}, words.html("hardware.how")),
            element("div", {"class": "settings"}, *(radios(NAME, row, row.default, words) for row in shown)),
            transport(NAME, STEP, STEP.default, words),
        )
    )


def _only(parameter: Parameter, there: Container[Value]) -> Parameter:
    """The parameter with the choices that there are recordings of."""
    return replace(parameter, choices=tuple(choice for choice in parameter.choices if choice in there))


def parts(values: Mapping[str, Value], words: Words) -> Sequence[str]:
    """The lanes, the step that is looked at, the budgets side by side, what is known of the errors, and a table."""
    name, backend, step = str(values["recording"]), str(values["backend"]), values["step"]
    assert isinstance(step, int)
    found = recordings().get((name, backend))
    if found is None:
        missing = words.html("hardware.missing", backend=words(f"control.backend.{backend}"))
        return (element("p", {"class": "why", "data-part": "why"}, missing),)
    model = COST_MODELS.get(PROFILES.get(backend, ""))
    bars = _bars(found, model)
    picture = {"class": "picture", "role": "img", "aria-label": _alt(bars, words), "data-part": "picture"}
    heads = (words(f"hardware.lane.{lane}") for lane in ("tokens", "time", "residual"))
    drawing = element("div", picture, lanes(bars, min(step, len(bars) - 1), (next(heads), next(heads), next(heads))))
    scroll: dict[str, object] = {"class": "columns", "id": f"{NAME}-columns", "tabindex": 0, "role": "group"}
    scroll |= {"aria-label": words("schedule.timeline"), "data-valuetext": _valuetext(bars, step, words)}
    listed = all_events(found.run(), words)
    scroll["data-events"] = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    return (
        element("div", scroll, drawing),
        _legend(words),
        element("div", {"class": "told"}, _panel(found, bars, step, words), _why(found, bars, step, words)),
        _budgets(backend, name, words),
        _trust(found, bars, model, words),
        _table(found, bars, words),
    )


def _bars(found: Recorded, model: CostModel | None) -> list[Bar]:
    return [
        Bar(step, found.work(step), spread, model.step_us(found.batch(step)) if model and spread else None)
        for step, spread in enumerate(found.spreads)
    ]


def _legend(words: Words) -> str:
    """The marks of the middle lane."""
    items = (
        element("li", {"class": f"key-{mark}"}, words.html(f"hardware.legend.{mark}"))
        for mark in ("median", "box", "whisker", "model")
    )
    return element("ul", {"class": "legend"}, *items)


# ---------------------------------------------------------------- the step that is looked at


def _counts(bar: Bar) -> dict[str, int]:
    tokens = {"decode": 0, "prefill": 0}
    for moment in bar.work:
        tokens[moment.kind] += moment.got
    return tokens


def _valuetext(bars: Sequence[Bar], step: int, words: Words) -> str:
    if step >= len(bars) or bars[step].spread is None:
        return words.plain("schedule.over", last=len(bars) - 1)
    bar = bars[step]
    assert bar.spread
    return words("hardware.valuetext", step=step, tokens=bar.tokens, median=ms(bar.spread.median))


def _panel(found: Recorded, bars: Sequence[Bar], step: int, words: Words) -> str:
    """The numbers of the step, each with where it comes from."""
    title = element("p", {"class": "part-name"}, words.html("hardware.step", step=step))
    bar = bars[step] if step < len(bars) else None
    if bar is None or bar.spread is None:
        return element("div", {"class": "panel", "data-part": "panel"}, title)
    spread, unit = bar.spread, escape(words("hardware.ms"))
    published = COST_MODELS[PUBLISHED].step_us(found.batch(step))
    lines = [
        ("tokens", "simulated", output("tokens", bar.tokens)),
        ("median", "measured", output("median_us", spread.median, ms(spread.median)) + unit),
        ("range", "measured", escape(words("hardware.between", low=ms(spread.min), high=ms(spread.max)))),
    ]
    residual = bar.residual
    if bar.model is not None and residual is not None:
        told = output("residual_permille", residual, percent(residual))
        lines.append(("model", "fitted", output("model_us", bar.model, ms(bar.model)) + unit))
        lines.append(("residual", "fitted", told + " %"))
    lines.append(("published", "published", output("published_us", published, ms(published)) + unit))
    rows = [
        element(
            "div",
            {"class": f"line {name} is-{source}"},
            element("dt", None, words.html(f"hardware.{name}"), " ", _tag(source, words)),
            element("dd", None, value),
        )
        for name, source, value in lines
    ]
    return element("div", {"class": "panel", "data-part": "panel"}, title, element("dl", None, *rows))


def _tag(source: str, words: Words) -> str:
    return element("small", {"class": f"tag-{source}"}, escape(words(f"hardware.tag.{source}")))


def _why(found: Recorded, bars: Sequence[Bar], step: int, words: Words) -> str:
    """The step in a sentence: what was in it, how long it took, what the model says."""
    data = {"class": "why", "data-part": "why"}
    if step >= len(bars) or bars[step].spread is None:
        return element("p", data, words.html("schedule.over", last=len(bars) - 1))
    bar = bars[step]
    spread, residual, counts = bar.spread, bar.residual, _counts(bar)
    assert spread
    kind = "mixed" if all(counts.values()) else "decode" if counts["decode"] else "prefill"
    told = [words.html(f"hardware.why.{kind}", **counts)]
    values = {"median": ms(spread.median), "low": ms(spread.min), "high": ms(spread.max)}
    told.append(words.html("hardware.why.time", repeats=found.head["repeats"], **values))
    if residual is not None:
        case = "over" if residual > 0 else "under"
        told.append(words.html(f"hardware.why.{case}", off=percent(abs(residual)).lstrip("+")))
    if found.trace.steps[step].preempted:
        told.append(
            words.html("hardware.why.preempted", who=words("list.short").join(found.trace.steps[step].preempted))
        )
    return element("p", data, words("sentence.join").join(told))


# ---------------------------------------------------------------- budgets side by side


def _budgets(backend: str, chosen: str, words: Words) -> str:
    """One load under three budgets on one line of time: the longest gap between two tokens against the first token."""
    runs = {name: recordings()[name, backend] for name in BUDGETS if (name, backend) in recordings()}
    if not runs:
        return ""
    every = {name: _bars(found, None) for name, found in runs.items()}
    longest = max(sum(bar.spread.median for bar in bars if bar.spread) for bars in every.values())
    parts = []
    for name, bars in every.items():
        gap, first = _longest_gap(bars), _first_token(runs[name], bars)
        values = {"budget": BUDGETS[name], "gap": ms(gap), "first": ms(first)}
        numbers = element(
            "dl",
            {"class": "numbers"},
            _number("gap", words.html("hardware.gap"), output(f"gap_us_{BUDGETS[name]}", gap, ms(gap)), words),
            _number(
                "first", words.html("hardware.first"), output(f"first_us_{BUDGETS[name]}", first, ms(first)), words
            ),
        )
        picture = {"class": "strip-of", "role": "img", "aria-label": words("hardware.budget.alt", **values)}
        head = element("p", {"class": "chart-name"}, words.html("hardware.budget", budget=BUDGETS[name]))
        box = {"class": f"budget{' lit' if name == chosen else ''}"}
        parts.append(element("section", box, head, element("div", picture, strip(bars, PROMPT, longest)), numbers))
    title = element(
        "p", {"class": "part-name"}, words.html("hardware.budgets", longest=ms(longest)), " ", _tag("measured", words)
    )
    return element("div", {"class": "budgets", "data-part": "budgets"}, title, *parts)


def _number(name: str, label: str, value: str, words: Words) -> str:
    return element(
        "div",
        {"class": f"number {name}"},
        element("dt", None, label),
        element("dd", None, value, escape(words("hardware.ms"))),
    )


def _longest_gap(bars: Sequence[Bar]) -> int:
    """The longest step in which one of those that decode got a token: so long did it wait for it."""
    steps = [bar for bar in bars if any((m.request_id, m.kind) == (DECODE, "decode") for m in bar.work)]
    return max(bar.spread.median for bar in steps if bar.spread)


def _first_token(found: Recorded, bars: Sequence[Bar]) -> int:
    """From the arrival of the long prompt to the end of the step that gave its first token."""
    arrival = next(spec.arrival_step for spec in found.scenario.requests if spec.id == PROMPT)
    end = next(record.step for record in found.trace.steps if PROMPT in record.generated)
    return sum(bar.spread.median for bar in bars[arrival : end + 1] if bar.spread)


# ---------------------------------------------------------------- how far to trust it


def _trust(found: Recorded, bars: Sequence[Bar], model: CostModel | None, words: Words) -> str:
    """Where the numbers come from, and how far the fitted model is off; folded, for it is asked for last."""
    head = found.head
    device = head["device"]
    values = {
        "device": device["name"],
        "threads": device.get("threads", 0),
        "torch": head["versions"]["torch"],
        "vllm": head["versions"].get("vllm", ""),
        "parameters": f"{head['model']['parameters']:,}",
        "dtype": head["model"]["dtype"],
        "repeats": head["repeats"],
        "dropped": head["dropped"],
        "day": head["recorded"],
        "tokens": head["proof"]["tokens"],
    }
    items = [("measured", words.html(f"hardware.from.{head['backend']}", **values))]
    items.append(("simulated", words.html(f"hardware.same.{head['backend']}", **values)))
    if model is not None:
        items.append(("fitted", words.html("hardware.from.fitted", profile=model.name)))
    items.append(("published", words.html("hardware.from.published", device=COST_MODELS[PUBLISHED].device)))
    lines = [element("li", None, _tag(source, words), " ", text) for source, text in items]
    facts = element("ul", {"class": "sources"}, *lines)
    summary = element("summary", None, escape(words("hardware.trust")))
    fold = {"class": "trust", "id": f"{NAME}-trust"}
    return element("details", fold, summary, facts, _errors(bars, found, model, words))


MEASURES = ("here", "steps", "mean", "worst", "left_out")


def _errors(bars: Sequence[Bar], found: Recorded, model: CostModel | None, words: Words) -> str:
    """Errors by kind of step: here, in all recordings of the fit, and in recordings that a fit has not seen."""
    if model is None:
        return ""
    head = [words("hardware.errors.kind"), *(words(f"hardware.kind.{error.kind}") for error in model.errors)]
    heads = [element("th", {"scope": "col"}, escape(text)) for text in head]
    columns = [_told_of(error, bars, found) for error in model.errors]
    rows = []
    for name, *cells in zip(MEASURES, *columns, strict=True):
        first = element("th", {"scope": "row"}, escape(words(f"hardware.errors.{name}")))
        rows.append(element("tr", None, first, *(element("td", None, cell) for cell in cells)))
    caption = element("caption", None, words.html("hardware.errors", profile=model.name))
    inner = element(
        "table", None, caption, element("thead", None, element("tr", None, *heads)), element("tbody", None, *rows)
    )
    region = {"class": "scroll", "id": f"{NAME}-errors", "tabindex": 0, "role": "region"}
    return element("div", region | {"aria-label": words.plain("hardware.errors", profile=model.name)}, inner)


def _told_of(error: FitError, bars: Sequence[Bar], found: Recorded) -> tuple[str, ...]:
    """The measures for one kind of step, in the order of `MEASURES`."""
    mine = [
        abs(bar.residual) for bar in bars if bar.residual is not None and kind_of(found.batch(bar.step)) == error.kind
    ]
    here = _percent_of(sum(mine) // len(mine)) if mine else "–"
    left_out = "–" if error.left_out < 0 else _percent_of(error.left_out)
    return here, str(error.steps), _percent_of(error.mean), _percent_of(error.worst), left_out


def _percent_of(permille: int) -> str:
    return percent(permille).lstrip("+") + "\N{NO-BREAK SPACE}%"


# ---------------------------------------------------------------- the whole recording


def _alt(bars: Sequence[Bar], words: Words) -> str:
    each = words("list.long").join(
        words("hardware.alt.step", step=bar.step, tokens=bar.tokens, median=ms(bar.spread.median))
        for bar in bars
        if bar.spread
    )
    return words("hardware.alt", steps=len(bars), each=each)


def _table(found: Recorded, bars: Sequence[Bar], words: Words) -> str:
    head = [words("table.step"), words("hardware.column.plan"), words.plain("hardware.tokens")]
    head += [words(f"hardware.column.{name}") for name in ("min", "median", "max", "model", "residual", "published")]
    published = COST_MODELS[PUBLISHED]
    rows: list[list[object]] = []
    for bar in bars:
        plan = words("list.short").join(f"{moment.request_id} {moment.got}" for moment in bar.work) or "–"
        times = (
            [ms(value) for value in (bar.spread.min, bar.spread.median, bar.spread.max)] if bar.spread else ["–"] * 3
        )
        model = ["–", "–"] if bar.residual is None or bar.model is None else [ms(bar.model), percent(bar.residual)]
        tables = ms(published.step_us(found.batch(bar.step))) if bar.work else "–"
        rows.append([f"t{bar.step}", plan, bar.tokens, *times, *model, tables])
    return table(f"{NAME}-table", words("table.summary"), head, rows)


HARDWARE = Figure(NAME, CONTROLS, DEFAULTS, form, parts)
