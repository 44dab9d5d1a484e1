"""Table 1 in motion: eight requests and four slots under three rules. Hollow cells compute nothing."""

import json
from collections.abc import Mapping, Sequence

from ..batching import RULES, Job, Run, Stay, batching
from ..parameters import Parameter, Value
from .figure import Figure
from .forms import request_buttons, slider, transport
from .html import Cell, element, escape, output, table
from .svg import Grid, cells, frame, inner_marks, lane
from .timeline import COLOURS
from .words import Words

NAME = "batching"
SLOTS = 4
TAIL = Parameter(
    "tail",
    "int",
    10,
    "Iterations that the two longest requests need.",
    "两个最长的请求需要的迭代数。",
    minimum=2,
    maximum=12,
    unit="steps",
)
ARRIVALS = (0, 0, 1, 2, 3, 4, 7, 8)
LENGTHS = (4, 3, 0, 3, 4, 0, 3, 4)
"""Zero stands for the slider's value."""
COLUMNS = 26
"""Room for the longest run: the static one at the longest tail."""
STEP = Parameter(
    "step",
    "int",
    COLUMNS - 1,
    "Iteration up to which the runs are shown.",
    "显示到第几次迭代。",
    minimum=0,
    maximum=COLUMNS - 1,
    unit="steps",
)
DEFAULTS: dict[str, Value] = {"tail": TAIL.default, "step": STEP.default}
PITCH = 24
NUMBERS = ("steps", "held", "free", "waited")


def jobs(tail: int) -> list[Job]:
    """The eight requests; two of them take as long as the slider says."""
    return [
        Job(name, arrival, length or tail) for name, arrival, length in zip("ABCDEFGH", ARRIVALS, LENGTHS, strict=True)
    ]


def form(words: Words) -> str:
    """The length of the two long requests, the requests, and the transport over the iterations."""
    how = element("p", {"class": "how"}, words.html("batching.how", slots=SLOTS))
    sliders = element("div", {"class": "sliders"}, slider(NAME, TAIL, TAIL.default, words))
    return how + request_buttons("ABCDEFGH", words) + transport(NAME, STEP, STEP.default, words) + sliders


def parts(values: Mapping[str, Value], words: Words) -> Sequence[str]:
    """Arrivals, then a row of slots for each rule with its numbers up to the step, and the whole runs as a table."""
    tail, step = values["tail"], values["step"]
    assert isinstance(tail, int)
    assert isinstance(step, int)
    runs = [batching(jobs(tail), SLOTS, rule) for rule in RULES]
    told = {
        "data-valuetext": _why_so_far(step, runs, words),
        "data-events": json.dumps(_events(runs, words), ensure_ascii=False),
    }
    is_over = step + 1 >= runs[0].steps
    why = _why(tail, runs, words) if is_over else words.html("batching.why.now", **_so_far(step, runs))
    rules = (_rule(run, step, words) for run in runs)
    return (
        _arrivals(tail, words),
        element("ol", {"class": "rules", "data-part": "picture"} | told, *rules),
        element("p", {"class": "why", "data-part": "why"}, why),
        _table(tail, runs, words),
    )


def _arrivals(tail: int, words: Words) -> str:
    """Who comes when: a letter over its column, those who come together on top of each other."""
    texts: list[str] = []
    rows: dict[int, int] = {}
    for place, job in enumerate(jobs(tail)):
        row = rows[job.arrival] = rows.get(job.arrival, -1) + 1
        at = {"x": job.arrival * PITCH + PITCH // 2, "y": PITCH * (2 - row) - 7, "class": f"r{place % COLOURS}"}
        texts.append(element("text", at | {"data-request": job.id}, escape(job.id)))
    letters = element("g", {"class": "arrivals", "font-size": 16, "text-anchor": "middle"}, *texts)
    name = element("p", {"class": "part-name"}, escape(words("batching.arrivals")))
    return element("div", {"class": "arriving"}, name, lane(letters, width=COLUMNS * PITCH, height=2 * PITCH))


def _rule(run: Run, step: int, words: Words) -> str:
    picture = {"class": "slots", "role": "img", "aria-label": _alt(run, step, words)}
    return element(
        "li",
        {"class": f"rule {run.rule}", "data-rule": run.rule},
        element("p", {"class": "rule-name"}, words.html(f"batching.{run.rule}")),
        element("div", picture, _drawing(run, step)),
        _numbers(run, step, words),
    )


def _drawing(run: Run, last: int) -> str:
    """A row for each slot: who works in it, who only holds it, and where nobody is; what comes after `last` is open."""
    grid, shown = Grid(PITCH, COLUMNS), min(last + 1, run.steps)
    taken = {stay.slot * COLUMNS + step for stay in run.stays for step in range(stay.start, stay.release)}
    every = [slot * COLUMNS + step for slot in range(SLOTS) for step in range(shown)]
    ahead = [slot * COLUMNS + step for slot in range(SLOTS) for step in range(shown, run.steps)]
    band = {"class": "selected", "x": last * PITCH, "y": -2, "width": PITCH, "height": SLOTS * PITCH + 4}
    return lane(
        element("rect", band) if ahead else "",
        cells("idle", grid, [index for index in every if index not in taken]),
        cells("future", grid, ahead),
        *(_stay(grid, stay, shown) for stay in run.stays if stay.start < shown),
        frame(Grid(PITCH, run.steps), run.steps * SLOTS),
        width=COLUMNS * PITCH,
        height=SLOTS * PITCH,
    )


def _stay(grid: Grid, stay: Stay, shown: int) -> str:
    """The prompt in one solid cell with the letter, then the decodes, then the cells that it only holds."""
    row, end, release = stay.slot * COLUMNS, min(stay.end, shown), min(stay.release, shown)
    decodes = range(row + stay.start + 1, row + end)
    x, y = grid.at(row + stay.start)
    letter = element("text", {"x": x + PITCH // 2, "y": y + 18, "font-size": 16}, escape(stay.job.id))
    data = {
        "class": f"piece r{'ABCDEFGH'.index(stay.job.id) % COLOURS}",
        "data-step": stay.start,
        "data-request": stay.job.id,
        "data-tokens": end - stay.start,
        "data-kind": "decode",
    }
    held = cells("wait", grid, range(row + stay.end, row + release))
    return element(
        "g",
        data,
        cells("prefill", grid, [row + stay.start]),
        cells("decode", grid, decodes),
        inner_marks(grid, decodes),
        element("g", {"class": "labels prefill", "text-anchor": "middle"}, letter),
        element("g", {"class": "held"}, held) if held else "",
    )


def _numbers(run: Run, step: int, words: Words) -> str:
    items, counts = [], run.after(step + 1)
    for name in NUMBERS:
        label = element("dt", None, words.html(f"batching.{name}"))
        told = output(name, getattr(counts, name), data_rule=run.rule)
        none = "" if getattr(counts, name) else " zero"
        items.append(element("div", {"class": f"number {name}{none}"}, label, element("dd", None, told)))
    return element("dl", {"class": "numbers"}, *items)


def _alt(run: Run, step: int, words: Words) -> str:
    counts = run.after(step + 1)
    return words("batching.alt", name=words.plain(f"batching.{run.rule}"), slots=SLOTS, **counts._asdict())


def _so_far(step: int, runs: Sequence[Run]) -> dict[str, int]:
    return {"n": step + 1} | {run.rule: run.after(step + 1).busy for run in runs}


def _why_so_far(step: int, runs: Sequence[Run], words: Words) -> str:
    return words.plain("batching.why.now", **_so_far(step, runs))


def _events(runs: Sequence[Run], words: Words) -> list[list[object]]:
    """Iterations before which somebody arrives, and those after which a place is free again, by rule."""
    events: dict[int, list[str]] = {}
    for stay in runs[0].stays:
        events.setdefault(stay.job.arrival, []).append(words("batching.event.arrives", id=stay.job.id))
    for run in runs:
        name = words.plain(f"batching.{run.rule}.short")
        for stay in run.stays:
            events.setdefault(stay.release - 1, []).append(words("batching.event.leaves", id=stay.job.id, name=name))
    return [[step, words("list.long").join(texts)] for step, texts in sorted(events.items())]


def _why(tail: int, runs: Sequence[Run], words: Words) -> str:
    static, request, iteration = runs
    values = {"static": static.empty, "request": request.empty, "iteration": iteration.empty, "busy": static.busy}
    saved = static.steps - iteration.steps
    case = "batching.why" if saved else "batching.why.same"
    return words.html(case, tail=tail, saved=saved, steps=iteration.steps, **values)


def _table(tail: int, runs: Sequence[Run], words: Words) -> str:
    head = [words("batching.name"), words("batching.arrives"), words("batching.length")]
    head += [words("batching.from-to", name=words.plain(f"batching.{run.rule}.short")) for run in runs]
    rows: list[list[object]] = []
    for place, job in enumerate(jobs(tail)):
        stays = [run.stays[place] for run in runs]
        texts = (job.id, job.arrival, job.length, *(_span(stay) for stay in stays))
        rows.append([Cell(text, job.id) for text in texts])
    return table(f"{NAME}-table", words("table.summary"), head, rows)


def _span(stay: Stay) -> str:
    """First and last iteration of work, and in brackets the last in which the slot is held."""
    held = f" ({stay.release - 1})" if stay.release > stay.end else ""
    return f"{stay.start}–{stay.end - 1}{held}"


BATCHING = Figure(NAME, (TAIL, STEP), DEFAULTS, form, parts)
