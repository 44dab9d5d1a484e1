"""HTML and SVG as text. Attributes are always escaped, children are markup already."""

from collections.abc import Mapping

_VOID = frozenset({"input", "br", "hr", "link"})


def escape(text: object) -> str:
    """`text` for use between tags and in attributes."""
    escaped = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace('"', "&quot;").replace("'", "&#39;")


def element(name: str, attributes: Mapping[str, object] | None = None, *children: str) -> str:
    """An element.

    Args:
        name: of the tag.
        attributes: by name; `True` gives an attribute without a value, `False` and `None` none.
        children: markup, already escaped.
    """
    opening = name + "".join(_attribute(key, value) for key, value in (attributes or {}).items())
    if name in _VOID:
        return f"<{opening}>"
    return f"<{opening}>{''.join(children)}</{name}>"


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(value)}"'


def output(name: str, value: object, shown: str | None = None, **attributes: object) -> str:
    """A number that is a result: `<output name data-value>`; `shown` where the words differ from the value.

    By itself an output is a live region; the sentence of the figure is spoken instead of each number.
    """
    data = {"name": name, "data-value": value, "aria-live": "off"} | {
        key.replace("_", "-"): item for key, item in attributes.items()
    }
    return element("output", data, escape(value if shown is None else shown))


def table(identity: str, summary: str, head: list[str], rows: list[list[object]]) -> str:
    """The numbers of a picture as a table that can be opened. The first cell of a row is its header.

    Args:
        identity: id of the `<details>`; the page keeps it open over redraws.
        summary: the line that opens it.
        head: texts of the column headers.
        rows: texts or numbers.
    """
    heads = "".join(element("th", {"scope": "col"}, escape(text)) for text in head)
    body = "".join(
        element("tr", None, element("th", {"scope": "row"}, escape(first)), *(_cell(item) for item in rest))
        for first, *rest in rows
    )
    inner = element("table", None, element("thead", None, element("tr", None, heads)), element("tbody", None, body))
    region = {"class": "scroll", "id": f"{identity}-scroll", "tabindex": 0, "role": "region", "aria-label": summary}
    return element(
        "details",
        {"id": identity, "data-part": "table"},
        element("summary", None, escape(summary)),
        element("div", region, inner),
    )


def _cell(item: object) -> str:
    return element("td", None, escape(item))
