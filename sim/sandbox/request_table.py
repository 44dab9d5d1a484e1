"""The table of the requests. The build fills it; from then on a script keeps it and the JSON beside it in step."""

import json
from collections.abc import Mapping
from typing import Any

from ..figures.html import element, escape
from ..figures.words import Words
from ..parameters import REQUEST, by_name
from .controls import REQUEST_LIST

PER_PAGE = 50
"""Rows that are seen at once."""
LISTS = {"prefix": '[["system", 8]]', "accepts": "[2, 0]", "images": '[{"offset": 0, "length": 4}]'}
"""Columns that hold JSON, each with an example."""
COLUMNS = ("id", "arrival_step", "prompt_tokens", "output_tokens", "priority", *LISTS, "lora", "abort_step")
ACTS = (("copy", "⧉"), ("up", "↑"), ("down", "↓"), ("remove", "×"))


def request_table(text: str, words: Words) -> str:
    """The table with its buttons, and the JSON.

    Args:
        text: the list of requests as JSON; they arrive by step.
        words: of the page's language.
    """
    requests = json.loads(text)
    heads = [element("th", {"scope": "col"}, element("code", {"translate": "no"}, key)) for key in COLUMNS]
    head = element("tr", None, *heads, element("th", None, element("span", {"class": "spoken"}, words("sandbox.edit"))))
    template = element("template", {"data-row": True}, _row(words))
    rows = [_row(words, index, request) for index, request in enumerate(requests[:PER_PAGE])]
    body = element("tbody", {"data-rows": True, "data-per-page": PER_PAGE}, *rows)
    table = element("table", {"class": "edit-table"}, element("thead", None, head), body)
    region = {"class": "scroll", "id": "sandbox-requests-scroll", "tabindex": 0, "role": "region"}
    region["aria-label"] = words("sandbox.requests")
    add = element("button", {"type": "button", "data-add": True}, words.html("sandbox.add"))
    pages = element("p", {"class": "pages", "data-pages": True, "hidden": True})
    json_data = {"name": REQUEST_LIST.name, "hidden": True, "autocomplete": "off"}
    hidden = element("textarea", json_data, escape(text))
    count = element("span", {"data-count": True}, f"({len(requests)})")
    data = {"class": "group", "id": "sandbox-group-requests", "open": True}
    data |= {"data-control": REQUEST_LIST.name, "data-tells": True}
    summary = element("summary", None, words.html("sandbox.requests"), " ", count)
    parts = (template, element("div", region, table), pages, element("p", {"class": "buttons"}, add), hidden)
    return element("details", data, summary, *parts)


def _row(words: Words, index: int | None = None, request: Mapping[str, Any] = {}) -> str:
    """The row of a request; without `index` the one that the script copies."""
    ranges, cells = by_name(REQUEST), []
    for key in COLUMNS:
        data: dict[str, object] = {"data-key": key, "autocomplete": "off"}
        if key in ranges:
            data |= {"type": "number", "step": 1, "min": ranges[key].minimum, "max": ranges[key].maximum}
        else:
            data |= {"type": "text", "spellcheck": "false", "placeholder": LISTS.get(key)}
        if index is not None:
            data |= {"value": _shown(request.get(key)), "aria-label": f"{key} {request['id']}"}
        cells.append(element("td", None, element("input", data)))
    buttons = [
        element("button", {"type": "button", "data-act": act, "title": words(f"sandbox.act.{act}")}, sign)
        for act, sign in ACTS
    ]
    return element("tr", {"data-index": index}, *cells, element("td", {"class": "acts"}, *buttons))


def _shown(value: object) -> object:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list) else value
