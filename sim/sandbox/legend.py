"""What the marks of the timeline mean."""

from collections.abc import Sequence

from ..figures.html import element
from ..figures.words import Words

SIDE = 20
"""Side of a piece, in pixels."""
SOLID = f"M1 1h{SIDE - 2}v{SIDE - 2}h-{SIDE - 2}z"
WAIT = f'<path class="cells wait" d="M3 7h{SIDE - 6}v6h-{SIDE - 6}z"></path>'
MARKS = (
    ("prefill", f'<path class="cells prefill" d="{SOLID}"></path>'),
    (
        "decode",
        f'<path class="cells decode" d="{SOLID}"></path><circle class="inner" cx="10" cy="10" r="3"></circle>',
    ),
    (
        "recompute",
        (
            f'<path class="cells recompute" d="{SOLID}"></path>'
            '<path class="hatch" d="M1 19L7 1M7 19L13 1M13 19L19 1"></path>'
        ),
    ),
    ("wait", WAIT),
    ("cut", f'{WAIT}<path class="slash" d="M1 {SIDE - 1}L{SIDE - 1} 1"></path>'),
    (
        "cached",
        f'<path class="cells prefill" d="{SOLID}"></path><path class="ribbon" d="M1 0h7v10l-3.5 -3l-3.5 3z"></path>',
    ),
    (
        "rejected",
        f'<path class="cells decode" d="{SOLID}"></path><path class="cross" d="M11 2l7 7m-7 0l7 -7"></path>',
    ),
)
"""Each mark with its drawing; they are those of `pieces.py`."""
LONG_MARKS = (
    ("long-prefill", f'<path class="long prefill" d="M1 1h{SIDE - 2}v18h-{SIDE - 2}z"></path>'),
    ("long-decode", f'<path class="long decode" d="M1 5h{SIDE - 2}v10h-{SIDE - 2}z"></path>'),
    (
        "recompute",
        f'<path class="long recompute" d="M1 1h{SIDE - 2}v7h-{SIDE - 2}zM1 12h{SIDE - 2}v7h-{SIDE - 2}z"></path>',
    ),
    ("wait", f'<path class="long waiting" d="M1 8h{SIDE - 2}v4h-{SIDE - 2}z"></path>'),
    ("cut", '<path class="cut-line" d="M10 0v20"></path>'),
)
"""The same where single steps have no room, as `timeline.py` draws them."""


def legend(marks: Sequence[tuple[str, str]], words: Words) -> str:
    """Marks with their words."""
    items = [element("li", None, mark(drawing), words.html(f"sandbox.mark.{name}")) for name, drawing in marks]
    return element("ul", {"class": "key", "data-part": "legend"}, *items)


def mark(drawing: str, x: int = 0, y: int = 0) -> str:
    """A mark as a picture of its own, at a place of the picture in which it stands, if it stands in one."""
    data = {"x": x, "y": y, "width": SIDE, "height": SIDE, "viewBox": f"0 0 {SIDE} {SIDE}", "aria-hidden": "true"}
    return element("svg", data, f'<g class="lane-row r0">{drawing}</g>')
