"""The step under the cursor: both queues in order, what each request got, why others got nothing, what was lost."""

from collections.abc import Sequence

from ..figures.html import element, escape, output
from ..figures.reason_words import why_nothing
from ..figures.timeline import COLOURS
from ..figures.words import Words
from ..reasons import Reason
from .lanes import EVENTS
from .moment import Loss, Moment
from .run import Run
from .sources import ADDRESS, line_of

MOST = 40
"""Requests of a queue, or of those that something happens to, that are told; what follows is counted."""
MOST_RANGES = 4
"""Ranges of block ids that are told."""


def step_panel(run: Run, moment: Moment, words: Words) -> str:
    """All of it."""
    record = moment.record
    parts = [_head(run, moment, words), _numbers(run, moment, words)]
    if record.preempted:
        parts.append(_losses(moment, words))
    parts.append(_running(run, moment, words))
    parts.append(_waiting(run, moment, words))
    if record.finished:
        ended = "".join(chip(run, request_id) for request_id in record.finished[:MOST])
        others = _others(len(record.finished), words)
        parts.append(element("p", {"class": "ended"}, words.html("sandbox.finished"), " ", ended, " ", others))
    return element("section", {"class": "step", "data-part": "step"}, *parts)


def chip(run: Run, request_id: str) -> str:
    """The name of a request in its colour; it lights the request up."""
    place = run.lanes.places[request_id]
    return element("span", {"class": f"name-of r{place % COLOURS}", "data-request": request_id}, escape(request_id))


def _marked(run: Run, request_id: str) -> dict[str, object]:
    return {"class": f"r{run.lanes.places[request_id] % COLOURS}", "data-request": request_id}


def happens(run: Run, step: int, words: Words) -> str:
    """What happens in a step, as text."""
    found = [kind for kind in EVENTS if run.lanes.happens(kind, step)]
    return words("list.long").join(words(f"sandbox.event.{kind}") for kind in found)


def _head(run: Run, moment: Moment, words: Words) -> str:
    record = moment.record
    title = element("h3", None, words.html("sandbox.step", step=record.step, last=run.num_steps - 1))
    parts = [title]
    if record.start_us is not None and record.step_us is not None:
        times = {"start": _ms(record.start_us), "took": _ms(record.step_us)}
        parts.append(element("p", {"class": "quiet"}, words.html("sandbox.time", **times)))
    told = happens(run, record.step, words)
    parts.append(element("p", {"class": "happens"}, escape(told) if told else "&nbsp;"))
    return "".join(parts)


def _ms(us: int) -> str:
    return f"{us // 1000:,}.{us % 1000:03}"


def _numbers(run: Run, moment: Moment, words: Words) -> str:
    record, usable = moment.record, run.usable_blocks
    pairs = (
        (words("sandbox.budget"), output("budget_used", moment.used, f"{moment.used:,}"), run.budget),
        (words("sandbox.free"), output("free_blocks", record.free_blocks, f"{record.free_blocks:,}"), usable),
    )
    items = [
        element("div", None, element("dt", None, escape(name)), element("dd", None, value, f" / {most:,}"))
        for name, value, most in pairs
    ]
    return element("dl", {"class": "given"}, *items)


def _losses(moment: Moment, words: Words) -> str:
    losses = moment.losses()
    items = [element("li", None, _loss(moment, loss, words)) for loss in losses[:MOST]]
    others = _others(len(losses), words)
    if others:
        items.append(element("li", None, others))
    return element("ul", {"class": "losses"}, *items)


def _others(num: int, words: Words) -> str:
    """How many are not told, of `num`."""
    return words.html("sandbox.others", n=num - MOST) if num > MOST else ""


def _loss(moment: Moment, loss: Loss, words: Words) -> str:
    lost = loss.num_computed_tokens
    if loss.resumed is None:
        cost = words.html("sandbox.loss.never", lost=lost)
    else:
        values = {"lost": lost, "step": str(loss.resumed), "cached": loss.num_cached_tokens}
        cost = words.html("sandbox.loss", again=lost - loss.num_cached_tokens, **values)
    return " ".join((chip(moment.run, loss.request_id), cost, _source("preempted", is_running=True)))


def _running(run: Run, moment: Moment, words: Words) -> str:
    queue = moment.record.running
    rows = [_row(run, moment, request_id, words) for request_id in queue[:MOST]]
    head = [words.html(f"sandbox.column.{name}") for name in ("request", "got", "computed", "blocks")]
    heads = element("tr", None, *(element("th", {"scope": "col"}, text) for text in head))
    table = element("table", None, element("thead", None, heads), element("tbody", None, *rows))
    return _queue("running", queue, table if rows else "", words)


def _row(run: Run, moment: Moment, request_id: str, words: Words) -> str:
    record = moment.record
    name = element("th", {"scope": "row"}, chip(run, request_id))
    data = {"data-request": request_id}
    got = record.scheduled.get(request_id, 0)
    if not got:
        reason = element("td", {"colspan": 3}, _why(moment, request_id, words, is_running=True))
        return element("tr", data | {"class": "nothing"}, name, reason)
    spec = run.lanes.lanes[run.lanes.order[request_id]].spec
    after = record.computed[request_id]
    computed = f"{after - got:,} → {after:,} / {spec.prompt_tokens + spec.output_tokens:,}"
    gained = _block_ids(record.blocks.get(request_id, ()), words)
    cells = (_got(record.spec.get(request_id, 0), got, words), escape(computed), escape(gained))
    extra = _capped(request_id, record.capped.get(request_id), record.cached.get(request_id, 0), words)
    row = element("tr", data, name, *(element("td", None, cell) for cell in cells))
    return row + (element("tr", data | {"class": "more"}, element("td", {"colspan": 4}, extra)) if extra else "")


def _block_ids(ids: Sequence[int], words: Words) -> str:
    """Block ids in the order in which they were gained, neighbours as one range; after a few the rest is counted."""
    ranges: list[list[int]] = []
    for block in ids:
        last = ranges[-1] if ranges else []
        if last and block - last[-1] in (1, -1) and (len(last) == 1 or block - last[-1] == last[1] - last[0]):
            last.append(block)
        else:
            ranges.append([block])
    told = [f"{some[0]}–{some[-1]}" if len(some) > 1 else str(some[0]) for some in ranges[:MOST_RANGES]]
    left = sum(map(len, ranges[MOST_RANGES:]))
    if left:
        told.append(words("sandbox.others", n=left))
    return words("list.short").join(told) or "–"


def _got(drafts: int, got: int, words: Words) -> str:
    return f"<b>{got:,}</b>" + (" " + words.html("sandbox.drafts", n=drafts) if drafts else "")


def _capped(request_id: str, reason: Reason | None, cached: int, words: Words) -> str:
    """That it got less than it asked for, and that part of it was cached."""
    told = [words.html("sandbox.cached", n=cached)] if cached else []
    if reason is not None:
        code = str(reason["code"])
        values = {"id": request_id, "got": reason["got"], "missing": reason["wanted"]}
        told.append(words.html(f"capped.{code}", **values) + " " + _source(code, is_running=True))
    return " ".join(told)


def _waiting(run: Run, moment: Moment, words: Words) -> str:
    queue = moment.record.waiting
    items = [
        element("li", _marked(run, request_id), _why(moment, request_id, words, is_running=False))
        for request_id in queue[:MOST]
    ]
    return _queue("waiting", queue, element("ol", None, *items) if items else "", words)


def _queue(name: str, queue: Sequence[str], content: str, words: Words) -> str:
    head = element("h4", None, words.html(f"sandbox.{name}", n=len(queue)))
    parts = [head, content or element("p", {"class": "quiet"}, words.html("sandbox.empty"))]
    if len(queue) > MOST:
        parts.append(element("p", {"class": "quiet"}, words.html("sandbox.more", n=len(queue) - MOST)))
    return element("div", {"class": f"queue {name}"}, *parts)


def _why(moment: Moment, request_id: str, words: Words, *, is_running: bool) -> str:
    """The reason in words, its code and operands, and the line of vLLM that decided."""
    reason = moment.why[request_id]
    code = str(reason["code"])
    operands = ", ".join(f"{name} {_shown(value)}" for name, value in reason.items() if name != "code")
    exact = element("code", {"class": "operands"}, escape(f"{code}: {operands}" if operands else code))
    decided = str(reason["because"]) if code == "head_of_line" else code
    told = element("span", {"class": "reason"}, why_nothing(request_id, reason, words))
    return " ".join((told, exact, _source(decided, is_running=is_running)))


def _shown(value: object) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


def _source(code: str, *, is_running: bool) -> str:
    line = line_of(code, is_running=is_running)
    if line is None:
        return ""
    return element("a", {"href": f"{ADDRESS}#L{line}", "rel": "noopener"}, f"scheduler.py:{line}")
