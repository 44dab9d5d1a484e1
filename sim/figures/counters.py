"""The counters of every request in one step: what it has, what is computed, what is missing, what it gets."""

from collections.abc import Sequence

from .html import element, escape, output
from .moments import Moment
from .timeline import chip, colour, progress
from .words import Words

NAMES = ("known", "before", "missing", "got", "after")


def counters(step: int, line: Sequence[Moment], words: Words) -> str:
    """A table with a row for each request."""
    head = [element("th", {"scope": "col"}, words.html("six-steps.request"))]
    head += [element("th", {"scope": "col", "class": name}, words.html(f"six-steps.{name}")) for name in NAMES]
    head.append(element("th", {"scope": "col", "class": "bar"}, words.html("six-steps.bar")))
    width = max(moment.total for moment in line)
    rows = [_request(moment, width, words) for moment in line]
    title = element("caption", None, words.html("six-steps.counters", step=step))
    body = element("thead", None, element("tr", None, *head)) + element("tbody", None, *rows)
    region: dict[str, object] = {"class": "counters", "data-part": "counters", "tabindex": 0, "role": "region"}
    region["aria-label"] = words.plain("six-steps.counters", step=step)
    return element("div", region, element("table", None, title, body))


def _request(moment: Moment, width: int, words: Words) -> str:
    header = element("th", {"scope": "row"}, chip(moment))
    bar = element("td", {"class": "bar"}, progress(moment, width))
    if moment.status in ("absent", "finished"):
        text = words.html(f"six-steps.{'absent' if moment.status == 'absent' else 'gone'}")
        told = element("td", {"class": "state", "colspan": len(NAMES)}, text)
        return element("tr", {"class": moment.status, "data-request": moment.request_id}, header, told, bar)
    numbers = [element("td", {"class": name}, _number(moment, name)) for name in NAMES]
    data = {"class": f"{moment.status} {colour(moment)}", "data-request": moment.request_id}
    return element("tr", data, header, *numbers, bar)


def _number(moment: Moment, name: str) -> str:
    if name != "after":
        return escape(getattr(moment, name))
    return output("num_computed_tokens", moment.after, moment.told_after, data_request=moment.request_id)
