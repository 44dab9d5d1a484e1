"""What the marks of the timeline mean."""

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


def legend(words: Words) -> str:
    """The marks with their words."""
    data = {"width": SIDE, "height": SIDE, "viewBox": f"0 0 {SIDE} {SIDE}", "aria-hidden": "true"}
    marks = ((name, element("svg", data, f'<g class="lane-row r0">{drawing}</g>')) for name, drawing in MARKS)
    items = [element("li", None, mark, words.html(f"sandbox.mark.{name}")) for name, mark in marks]
    return element("ul", {"class": "key", "data-part": "legend"}, *items)
