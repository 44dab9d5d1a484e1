"""Panels that single figures add: drafts, the encoder, batches in flight, priorities."""

from collections.abc import Callable

from .html import element, escape, output
from .moments import Moment
from .run import Run
from .svg import Grid, cells, frame, labels, lane
from .timeline import chip, colour
from .words import Words

Panel = Callable[[Run, int, Words], str]


def drafts(run: Run, step: int, words: Words) -> str:
    """Drafts of the step and of the run so far: verified, accepted, rejected."""
    now = run.moments[step]
    so_far = [moment for line in run.moments[: step + 1] for moment in line]
    items = []
    for name, line in (("now", now), ("all", so_far)):
        verified, rejected = sum(moment.drafts for moment in line), sum(moment.rejected for moment in line)
        numbers = (("drafts", verified), ("accepted", verified - rejected), ("rejected", rejected))
        dls = [_number(key, name, value, words) for key, value in numbers]
        items.append(element("div", {"class": "tally"}, element("dt", None, words.html(f"drafts.{name}")), *dls))
    return _panel("drafts", words.html("drafts.title"), element("dl", None, *items))


def _number(key: str, group: str, value: int, words: Words) -> str:
    return element("dd", {"class": key}, output(f"{key}_{group}", value), " ", words.html(f"drafts.{key}"))


def encoder(run: Run, step: int, words: Words) -> str:
    """The encoder's budget of the step as a frame, filled by the images that it encodes."""
    budget = run.scenario.config.encoder_compute_budget
    grid, used, parts, told = Grid(26, 24), 0, [], []
    by_id = {request.id: request for request in run.scenario.requests}
    places = {moment.request_id: moment for moment in run.moments[step]}
    for request_id, inputs in run.trace.steps[step].encoder.items():
        for index in inputs:
            image, moment = by_id[request_id].images[index], places[request_id]
            span = range(used, used + image.length)
            names = labels("prefill", grid, [(cell, request_id) for cell in span])
            parts.append(element("g", _of(moment), cells("prefill", grid, span), names))
            told.append(words("encoder.one", id=request_id, n=index + 1, length=image.length))
            used += image.length
    parts = [cells("idle", grid, range(used, budget)), *parts, frame(grid, budget)]
    alt = words("encoder.alt", used=used, budget=budget, each=words("list.long").join(told) or "–")
    picture = element(
        "div",
        {"class": "frame-of", "role": "img", "aria-label": alt},
        lane(*parts, width=26 * 12, height=26, kind="lane encoder"),
    )
    number = output("encoder_used", used) + escape(words("six-steps.of", budget=budget))
    return _panel("encoder", words.html("encoder.title") + " " + number, picture, _images(run, words))


def _of(moment: Moment) -> dict[str, object]:
    return {"class": colour(moment), "data-request": moment.request_id}


def _images(run: Run, words: Words) -> str:
    items = []
    for moment, request in zip(run.moments[0], run.scenario.requests, strict=True):
        spans = [
            words("encoder.image", hash=image.hash, first=image.offset + 1, last=image.offset + image.length)
            for image in request.images
        ]
        text = escape(words("list.long").join(spans))
        items.append(element("li", {"data-request": moment.request_id}, chip(moment), " ", text))
    return element("ul", {"class": "facts"}, *items)


def priorities(run: Run, step: int, words: Words) -> str:
    """The priority and the arrival of every request."""
    items = []
    for moment, request in zip(run.moments[step], run.scenario.requests, strict=True):
        text = words("priority.one", priority=request.priority, step=request.arrival_step)
        items.append(element("li", {"data-request": moment.request_id}, chip(moment), " ", escape(text)))
    return _panel("priorities", words.html("priority.title"), element("ul", {"class": "facts"}, *items))


SLOT, BAR = 34, 24
"""Width of half a step, height of a batch, in the picture of batches in flight."""


def flight(run: Run, step: int, words: Words) -> str:
    """Two lanes: the scheduler plans, the model computes; under async scheduling at the same time."""
    is_async = run.scenario.config.async_scheduling
    parts, steps = [], range(run.length)
    for index in steps:
        start = index * SLOT if is_async else index * 2 * SLOT
        here = " here" if index == step else ""
        for kind, x, y in (("plan", start, 0), ("model", start + SLOT, BAR + 8)):
            box = {"class": kind, "x": x + 2, "y": y, "width": SLOT - 4, "height": BAR, "rx": 5}
            text = {"x": x + SLOT // 2, "y": y + 18, "text-anchor": "middle", "font-size": 17}
            parts.append(
                element("g", {"class": f"batch{here}"}, element("rect", box), element("text", text, f"t{index}"))
            )
    slots = len(steps) + 1 if is_async else 2 * len(steps)
    alt = words("flight.alt.async" if is_async else "flight.alt.sync", steps=len(steps), slots=slots)
    width = 2 * SLOT * len(steps)
    drawing = lane(*parts, width=width, height=2 * BAR + 8, kind="lane flight")
    names = element(
        "div", {"class": "lanes"}, *(element("span", None, words.html(f"flight.{name}")) for name in ("plan", "model"))
    )
    picture = element("div", {"class": "frame-of", "role": "img", "aria-label": alt}, drawing)
    number = output("slots", slots) + " " + words.html("flight.slots")
    return _panel(
        "flight", words.html("flight.title") + " " + number, element("div", {"class": "pair"}, names, picture)
    )


def _panel(name: str, title: str, *parts: str) -> str:
    data = {"class": f"extra {name}", "data-part": name}
    return element("div", data, element("p", {"class": "part-name"}, title), *parts)
