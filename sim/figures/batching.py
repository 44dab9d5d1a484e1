"""Table 1 in motion: eight requests and four slots under three rules. Hollow cells compute nothing."""

from collections.abc import Mapping, Sequence

from ..batching import RULES, Job, Run, Stay, batching
from ..parameters import Parameter, Value
from .figure import Figure
from .forms import slider
from .html import element, escape, output, table
from .svg import Grid, cells, frame, inner_marks, lane
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
DEFAULTS: dict[str, Value] = {"tail": TAIL.default}
ARRIVALS = (0, 0, 1, 2, 3, 4, 7, 8)
LENGTHS = (4, 3, 0, 3, 4, 0, 3, 4)
"""Zero stands for the slider's value."""
COLUMNS = 26
"""Room for the longest run: the static one at the longest tail."""
PITCH = 24
NUMBERS = ("steps", "held", "free", "waited")


def jobs(tail: int) -> list[Job]:
    """The eight requests; two of them take as long as the slider says."""
    return [
        Job(name, arrival, length or tail) for name, arrival, length in zip("ABCDEFGH", ARRIVALS, LENGTHS, strict=True)
    ]


def form(words: Words) -> str:
    """One slider: the length of the two long requests."""
    how = element("p", {"class": "how"}, words.html("batching.how", slots=SLOTS))
    return how + element("div", {"class": "sliders"}, slider(NAME, TAIL, TAIL.default, words))


def render(values: Mapping[str, Value], words: Words) -> str:
    """Arrivals, then a row of slots for each rule with its numbers, and all of it as a table."""
    tail = values["tail"]
    assert isinstance(tail, int)
    runs = [batching(jobs(tail), SLOTS, rule) for rule in RULES]
    return "".join(
        (
            _arrivals(tail, words),
            element("ol", {"class": "rules", "data-part": "picture"}, *(_rule(run, words) for run in runs)),
            element("p", {"class": "why", "data-part": "why"}, _why(tail, runs, words)),
            _table(tail, runs, words),
        )
    )


def _arrivals(tail: int, words: Words) -> str:
    """Who comes when: a letter over its column, those who come together on top of each other."""
    texts: list[str] = []
    rows: dict[int, int] = {}
    for place, job in enumerate(jobs(tail)):
        row = rows[job.arrival] = rows.get(job.arrival, -1) + 1
        at = {"x": job.arrival * PITCH + PITCH // 2, "y": PITCH * (2 - row) - 7, "class": f"r{place % 3}"}
        texts.append(element("text", at, escape(job.id)))
    letters = element("g", {"class": "arrivals", "font-size": 16, "text-anchor": "middle"}, *texts)
    name = element("p", {"class": "part-name"}, escape(words("batching.arrivals")))
    return element("div", {"class": "arriving"}, name, lane(letters, width=COLUMNS * PITCH, height=2 * PITCH))


def _rule(run: Run, words: Words) -> str:
    picture = {"class": "slots", "role": "img", "aria-label": _alt(run, words)}
    return element(
        "li",
        {"class": f"rule {run.rule}", "data-rule": run.rule},
        element("p", {"class": "rule-name"}, words.html(f"batching.{run.rule}")),
        element("div", picture, _drawing(run)),
        _numbers(run, words),
    )


def _drawing(run: Run) -> str:
    """A row for each slot: who works in it, who only holds it, and where nobody is."""
    grid = Grid(PITCH, COLUMNS)
    taken = {stay.slot * COLUMNS + step for stay in run.stays for step in range(stay.start, stay.release)}
    every = (slot * COLUMNS + step for slot in range(SLOTS) for step in range(run.steps))
    outline = Grid(PITCH, run.steps)
    return lane(
        cells("idle", grid, [index for index in every if index not in taken]),
        *(_stay(grid, stay) for stay in run.stays),
        frame(outline, run.steps * SLOTS),
        width=COLUMNS * PITCH,
        height=SLOTS * PITCH,
    )


def _stay(grid: Grid, stay: Stay) -> str:
    """The prompt in one solid cell with the letter, then the decodes, then the cells that it only holds."""
    row = stay.slot * COLUMNS
    decodes = range(row + stay.start + 1, row + stay.end)
    x, y = grid.at(row + stay.start)
    letter = element("text", {"x": x + PITCH // 2, "y": y + 18, "font-size": 16}, escape(stay.job.id))
    data = {
        "class": f"piece r{(ord(stay.job.id) - ord('A')) % 3}",
        "data-step": stay.start,
        "data-request": stay.job.id,
        "data-tokens": stay.job.length,
        "data-kind": "decode",
    }
    held = cells("wait", grid, range(row + stay.end, row + stay.release))
    return element(
        "g",
        data,
        cells("prefill", grid, [row + stay.start]),
        cells("decode", grid, decodes),
        inner_marks(grid, decodes),
        element("g", {"class": "labels prefill", "text-anchor": "middle"}, letter),
        element("g", {"class": "held"}, held) if held else "",
    )


def _numbers(run: Run, words: Words) -> str:
    items = []
    for name in NUMBERS:
        label = element("dt", None, words.html(f"batching.{name}"))
        told = output(name, getattr(run, name), data_rule=run.rule)
        none = "" if getattr(run, name) else " zero"
        items.append(element("div", {"class": f"number {name}{none}"}, label, element("dd", None, told)))
    return element("dl", {"class": "numbers"}, *items)


def _alt(run: Run, words: Words) -> str:
    values = {name: getattr(run, name) for name in (*NUMBERS, "busy", "empty")}
    return words("batching.alt", name=words.plain(f"batching.{run.rule}"), slots=SLOTS, **values)


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
        rows.append([job.id, job.arrival, job.length, *(_span(stay) for stay in stays)])
    return table(f"{NAME}-table", words("table.summary"), head, rows)


def _span(stay: Stay) -> str:
    """First and last iteration of work, and in brackets the last in which the slot is held."""
    held = f" ({stay.release - 1})" if stay.release > stay.end else ""
    return f"{stay.start}–{stay.end - 1}{held}"


BATCHING = Figure(NAME, (TAIL,), DEFAULTS, form, render)
