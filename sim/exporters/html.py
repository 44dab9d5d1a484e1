"""A run as one HTML file that needs nothing else: picture, numbers, both tables, and the scenario to run it again."""

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

from ..figures.html import element, escape
from ..metrics import summarize
from ..scenario import Scenario
from ..trace import Trace
from .csv_tables import requests_csv, steps_csv
from .svg import svg

STYLE = """body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem}
h1{font-size:1.4rem}.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #ccc;vertical-align:top}pre{white-space:pre-wrap}"""


def html(trace: Trace, scenario: Scenario | None = None, document: Any = None) -> str:
    """The file.

    Args:
        trace: of a run.
        scenario: what was run, for the picture and the numbers.
        document: the same as JSON, which is put into the file.
    """
    title = f"{trace.name or 'run'} · Batchloom"
    numbers = {key: value for key, value in summarize(trace, scenario).to_json().items() if value is not None}
    rows = [[key, value if isinstance(value, str | int) else json.dumps(value)] for key, value in numbers.items()]
    parts = [
        element("h1", None, escape(title)),
        element("div", {"class": "scroll"}, svg(trace, scenario)),
        part("Numbers", _table([["", ""], *rows]), is_open=True),
        part("Requests", _table(_read(requests_csv(trace, scenario)))),
        part("Steps", _table(_read(steps_csv(trace)))),
    ]
    if document is not None:
        parts.append(part("Scenario", element("pre", None, escape(json.dumps(document, indent=1)))))
    return page(title, STYLE, parts)


def page(title: str, style: str, parts: Iterable[str]) -> str:
    """A file of its own: its title, its style sheet, and the markup of its parts."""
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"{meta}<title>{escape(title)}</title><style>{style}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n{element("body", None, *parts)}</html>\n'


def part(title: str, content: str, *, is_open: bool = False) -> str:
    """A part that can be opened."""
    inner = element("div", {"class": "scroll", "tabindex": 0, "role": "region", "aria-label": title}, content)
    return element("details", {"open": is_open}, element("summary", None, title), inner)


def _read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def _table(rows: list[list[Any]]) -> str:
    """The first row is the head."""
    head, *body = rows
    lines = [element("tr", None, *(element("td", None, escape(cell)) for cell in row)) for row in body]
    heads = "".join(element("th", {"scope": "col"}, escape(cell)) for cell in head)
    return element("table", None, element("thead", None, f"<tr>{heads}</tr>"), element("tbody", None, *lines))
