"""A small line chart: a few values over a few named places, one place lit up."""

from collections.abc import Sequence
from typing import NamedTuple

from .html import element, escape
from .svg import lane

WIDTH, HEIGHT = 300, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 14, 30
"""Room for the numbers of the axis, and for the names below."""
ROUND = (1, 2, 3, 4, 6, 8, 10)


class Series(NamedTuple):
    """One line: its class, and a value for each place."""

    name: str
    values: tuple[int, ...]


def ceiling(value: int) -> int:
    """The smallest round number that is not below `value`: one digit of `ROUND`, and zeros.

    >>> [ceiling(value) for value in (0, 3, 100, 159, 2056)]
    [1, 3, 100, 200, 3000]
    """
    power = 1
    while power * 10 < value:
        power *= 10
    return next(power * digit for digit in ROUND if power * digit >= value)


def chart(lines: Sequence[Series], places: Sequence[str], lit: int) -> str:
    """The drawing. The axis begins at zero.

    Args:
        lines: the series, all as long as `places`.
        places: what stands below the axis.
        lit: the place whose points are full; the others are hollow.
    """
    top = ceiling(max(max(line.values) for line in lines))
    step = (WIDTH - LEFT - RIGHT) // (len(places) - 1)
    band = {"class": "selected", "x": LEFT + lit * step - 18, "y": 0, "width": 36, "height": HEIGHT - 2, "rx": 5}
    return lane(
        element("rect", band),
        _axis(top),
        *(_name(LEFT + place * step, text, is_lit=place == lit) for place, text in enumerate(places)),
        *(_line(line, top, step, lit) for line in lines),
        width=WIDTH,
        height=HEIGHT,
        kind="chart",
    )


def _height(value: int, top: int) -> int:
    """Where a value stands, from above."""
    room = HEIGHT - TOP - BOTTOM
    return TOP + room - value * room // top


def _axis(top: int) -> str:
    rules = []
    for value in (0, top // 2, top) if top > 1 else (0, top):
        y = _height(value, top)
        rules.append(element("path", {"class": "grid-line", "d": f"M{LEFT - 20} {y}H{WIDTH - RIGHT + 18}"}))
        rules.append(element("text", {"x": LEFT - 24, "y": y + 4, "text-anchor": "end"}, str(value)))
    return element("g", {"class": "axis", "font-size": 12}, *rules)


def _name(x: int, text: str, *, is_lit: bool) -> str:
    data = {"class": "place lit" if is_lit else "place", "x": x, "y": HEIGHT - 10, "font-size": 12}
    return element("text", data | {"text-anchor": "middle"}, escape(text))


def _line(line: Series, top: int, step: int, lit: int) -> str:
    spots = [(LEFT + place * step, _height(value, top)) for place, value in enumerate(line.values)]
    path = "M" + "L".join(f"{x} {y}" for x, y in spots)
    dots = [
        element(
            "circle", {"class": "spot lit" if place == lit else "spot", "cx": x, "cy": y, "r": 6 if place == lit else 4}
        )
        for place, (x, y) in enumerate(spots)
    ]
    return element("g", {"class": f"series {line.name}"}, element("path", {"class": "line", "d": path}), *dots)
