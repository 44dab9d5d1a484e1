"""HTML and SVG as text. Attributes are always escaped, children are markup already."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_VOID = frozenset({"input", "br", "hr", "link"})
_EMPTY = frozenset({"path", "rect", "circle", "line"})
_has_special = re.compile("[&<>\"']").search


def escape(text: object) -> str:
    """`text` for use between tags and in attributes."""
    text = str(text)
    if not _has_special(text):
        return text
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace('"', "&quot;").replace("'", "&#39;")


def element(name: str, attributes: Mapping[str, object] | None = None, *children: str) -> str:
    """An element.

    Args:
        name: of the tag.
        attributes: by name; `True` gives an attribute without a value, `False` and `None` none.
        children: markup, already escaped.
    """
    opening = f"<{name}"
    for key, value in (attributes or {}).items():
        if value is True:
            opening += f" {key}"
        elif value is not None and value is not False:
            opening += f' {key}="{escape(value)}"'
    if name in _VOID:
        return f"{opening}>"
    if name in _EMPTY and not children:
        return f"{opening}/>"
    return f"{opening}>{''.join(children)}</{name}>"


def output(name: str, value: object, shown: str | None = None, **attributes: object) -> str:
    """A number that is a result: `<output name data-value>`; `shown` where the words differ from the value.

    By itself an output is a live region; the sentence of the figure is spoken instead of each number.
    """
    data = {"name": name, "data-value": value, "aria-live": "off"} | {
        key.replace("_", "-"): item for key, item in attributes.items()
    }
    return element("output", data, escape(value if shown is None else shown))


class Cell(NamedTuple):
    """A cell of a table that is about one request, which then lights up with it."""

    text: object
    request: str


def table(identity: str, summary: str, head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """The numbers of a picture as a table that can be opened. The first cell of a row is its header.

    Args:
        identity: id of the `<details>`; the page keeps it open over redraws.
        summary: the line that opens it.
        head: texts of the column headers, or `Cell`s.
        rows: texts or numbers, or `Cell`s.
    """
    heads = [_cell('th scope="col"', "th", item) for item in head]
    body = []
    for first, *rest in rows:
        body += ["<tr>", _cell('th scope="row"', "th", first), *[_cell("td", "td", item) for item in rest], "</tr>"]
    inner = element("table", None, element("thead", None, element("tr", None, *heads)), element("tbody", None, *body))
    region = {"class": "scroll", "id": f"{identity}-scroll", "tabindex": 0, "role": "region", "aria-label": summary}
    return element(
        "details",
        {"id": identity, "data-part": "table"},
        element("summary", None, escape(summary)),
        element("div", region, inner),
    )


def _cell(opening: str, name: str, item: object) -> str:
    if isinstance(item, Cell):
        return f'<{opening} data-request="{escape(item.request)}">{escape(item.text)}</{name}>'
    return f"<{opening}>{escape(item)}</{name}>"
