"""Panels that single figures add: drafts, the encoder, batches in flight, priorities."""

from collections.abc import Callable, Iterator

from ..scenario import Image
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
    """The encoder's cache in the step as a frame: images that lie there, and those that are encoded now."""
    size = run.scenario.config.encoder_cache_size
    grid, used, parts, told = Grid(26, 24), 0, [], []
    for moment, image, is_new in _held(run, step):
        span = range(used, used + image.length)
        names = labels("prefill" if is_new else "gone", grid, [(cell, moment.request_id) for cell in span])
        parts.append(element("g", _of(moment), cells("prefill" if is_new else "done", grid, span), names))
        kind = "encoder.new" if is_new else "encoder.kept"
        told.append(words(kind, hash=image.hash, length=image.length, id=moment.request_id))
        used += image.length
    parts = [cells("idle", grid, range(used, size)), *parts, frame(grid, size)]
    alt = words("encoder.alt", used=used, size=size, each=words("list.long").join(told) or "–")
    picture = element(
        "div",
        {"class": "frame-of", "role": "img", "aria-label": alt},
        lane(*parts, width=26 * size, height=26, kind="lane encoder"),
    )
    number = output("encoder_used", used) + escape(words("six-steps.of", budget=size))
    return _panel("encoder", words.html("encoder.title") + " " + number, picture, _images(run, words))


def _held(run: Run, step: int) -> Iterator[tuple[Moment, Image, bool]]:
    """Images that must lie in the cache in `step`, whose they are, and whether they are encoded in it.

    An image lies there from the step that reaches it until its last token is computed.
    """
    images = {spec.id: spec.images for spec in run.scenario.requests}
    encoded = run.trace.steps[step].encoder.items()
    new = {images[request_id][index].hash for request_id, inputs in encoded for index in inputs}
    seen = set()
    for moment in run.moments[step]:
        for image in images[moment.request_id]:
            is_read = image.offset < moment.before + moment.got and moment.before < image.offset + image.length
            if is_read and image.hash not in seen:
                seen.add(image.hash)
                yield moment, image, image.hash in new


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
