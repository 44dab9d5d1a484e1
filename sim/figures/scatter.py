"""A chart of spots over two axes with round numbers, a line through some of them, and labels where there is room."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .html import element, escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 32, 40, 56
"""Room for the numbers of the axes and their titles."""
RADIUS = 6
REACH = 12
"""Half the width of what a finger may touch."""
MOST_TICKS = 6
FONT = 12
LETTER = 7
"""Width of a character of a label, rather too large."""


class Scale(NamedTuple):
    """One axis: its title, the values at its two ends, and its ticks with what stands at each."""

    title: str
    low: int
    high: int
    ticks: tuple[tuple[int, str], ...]


class Spot(NamedTuple):
    """One point of the chart.

    Args:
        x, y: its values.
        label: a short text beside it, where there is room.
        name: all that it stands for, in words.
        kind: its class.
        data: more attributes.
    """

    x: int
    y: int
    label: str
    name: str
    kind: str
    data: Mapping[str, object]


class Box(NamedTuple):
    """A rectangle of the drawing."""

    left: int
    top: int
    right: int
    bottom: int

    def meets(self, other: "Box") -> bool:
        """Whether they have a place in common."""
        is_beside = self.right <= other.left or other.right <= self.left
        return not (is_beside or self.bottom <= other.top or other.bottom <= self.top)


def round_scale(title: str, values: Iterable[int], text: Callable[[int], str]) -> Scale:
    """A scale with ticks at round numbers, from zero unless the values are far from it.

    >>> round_scale("", [310, 640], str).ticks
    ((0, '0'), (200, '200'), (400, '400'), (600, '600'), (800, '800'))
    >>> round_scale("", [910, 990], str).ticks
    ((900, '900'), (920, '920'), (940, '940'), (960, '960'), (980, '980'), (1000, '1000'))
    """
    least, most = min(values := list(values)), max(values)
    least = 0 if 2 * least <= most or least == most else least
    step = next(step for step in _round_steps() if -(-most // step) - least // step <= MOST_TICKS)
    low = least // step * step
    high = max(-(-most // step) * step, low + step)
    return Scale(title, low, high, tuple((tick, text(tick)) for tick in range(low, high + 1, step)))


def _round_steps() -> Iterator[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def place_scale(title: str, places: Sequence[str]) -> Scale:
    """A scale of named places, one apart."""
    return Scale(title, 0, max(len(places) - 1, 1), tuple(enumerate(places)))


def scatter(across: Scale, up: Scale, spots: Sequence[Spot], line: Sequence[int], alt: str) -> str:
    """The drawing.

    Args:
        across, up: the two axes.
        spots: in the order in which they are reached by keyboard.
        line: places in `spots`, joined by a line in this order; their labels come first.
        alt: what the drawing shows, in words.
    """
    places = [(_x(spot.x, across), _y(spot.y, up)) for spot in spots]
    path = "L".join(f"{x} {y}" for x, y in (places[place] for place in line))
    data = {"class": "sweep-chart", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "width": WIDTH, "height": HEIGHT}
    return element(
        "svg",
        data | {"role": "group", "aria-label": alt, "font-size": FONT},
        *_axes(across, up),
        element("path", {"class": "sweep-line", "d": f"M{path}"}) if len(line) > 1 else "",
        *_labels(spots, places, line),
        *(_mark(spot, x, y) for spot, (x, y) in zip(spots, places, strict=True)),
    )


def _x(value: int, scale: Scale) -> int:
    return LEFT + (value - scale.low) * (WIDTH - LEFT - RIGHT) // (scale.high - scale.low)


def _y(value: int, scale: Scale) -> int:
    return HEIGHT - BOTTOM - (value - scale.low) * (HEIGHT - TOP - BOTTOM) // (scale.high - scale.low)


def _axes(across: Scale, up: Scale) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    lines, texts = "", []
    for value, text in up.ticks:
        lines += f"M{LEFT} {_y(value, up)}H{right}"
        texts.append(element("text", {"x": LEFT - 8, "y": _y(value, up) + 4, "text-anchor": "end"}, escape(text)))
    every = -(-sum(len(text) + 2 for _, text in across.ticks) * LETTER // (right - LEFT))
    for value, text in across.ticks[::every]:
        lines += f"M{_x(value, across)} {TOP}V{bottom}"
        data = {"x": _x(value, across), "y": bottom + 20, "text-anchor": "middle"}
        texts.append(element("text", data, escape(text)))
    texts.append(element("text", {"class": "sweep-axis", "x": 8, "y": 18}, escape(up.title)))
    data = {"class": "sweep-axis", "x": right, "y": HEIGHT - 10, "text-anchor": "end"}
    yield element("path", {"class": "sweep-grid", "d": lines})
    yield element("g", {"aria-hidden": "true"}, *texts, element("text", data, escape(across.title)))


def _mark(spot: Spot, x: int, y: int) -> str:
    return element(
        "g",
        {"class": f"point {spot.kind}", "aria-label": spot.name, **spot.data},
        element("title", None, escape(spot.name)),
        element("circle", {"class": "sweep-reach", "cx": x, "cy": y, "r": REACH}),
        element("circle", {"class": "sweep-spot", "cx": x, "cy": y, "r": RADIUS}),
    )


def _labels(spots: Sequence[Spot], places: Sequence[tuple[int, int]], line: Sequence[int]) -> Iterator[str]:
    """A label for each spot that has room for it, those of the line first; one for all that stand in one place."""
    taken = [Box(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in places]
    texts = []
    together: dict[tuple[int, int], list[str]] = {}
    for place in dict.fromkeys((*line, *range(len(spots)))):
        together.setdefault(places[place], []).append(spots[place].label)
    for (x, y), (first, *others) in together.items():
        label = f"{first} +{len(others)}" if others else first
        found = next((box for box in _around(x, y, len(label) * LETTER) if _is_free(box, taken)), None)
        if found:
            taken.append(found)
            texts.append(element("text", {"x": found.left + 2, "y": found.bottom - 4}, escape(label)))
    if texts:
        yield element("g", {"class": "sweep-labels", "aria-hidden": "true"}, *texts)


def _around(x: int, y: int, width: int) -> Iterator[Box]:
    """Where a label of this width may stand: above, right, left, below."""
    half, gap = width // 2, RADIUS + 2
    yield Box(x - half, y - gap - 16, x + half, y - gap)
    yield Box(x + gap, y - 8, x + gap + width, y + 8)
    yield Box(x - gap - width, y - 8, x - gap, y + 8)
    yield Box(x - half, y + gap, x + half, y + gap + 16)


def _is_free(box: Box, taken: Iterable[Box]) -> bool:
    is_inside = box.left >= LEFT and box.right <= WIDTH - 4 and box.top >= TOP - 16 and box.bottom <= HEIGHT - BOTTOM
    return is_inside and not any(box.meets(other) for other in taken)
