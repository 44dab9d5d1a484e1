"""How the cost grows: time and memory against requests, running requests and steps.

python -m benchmarks.growth [--svg FILE] > growth.csv
"""

import argparse
import csv
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.once import in_own_process
from benchmarks.workloads import saturated

REQUESTS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
RUNNING = (8, 16, 32, 64, 128, 256, 512)
MOST_AWAKE = 3_000
"""Without sleep larger runs take minutes."""
OUTPUTS = (10, 30, 100, 300, 1_000, 3_000)
"""Output tokens of each of 50 requests; the steps of the run grow with them."""


class Measured(NamedTuple):
    """One run. `axis` says what grows, `value` how large it is."""

    axis: str
    value: int
    driver: str
    steps: int
    us: int
    kilobytes: int


def scenarios() -> Iterator[tuple[str, int, dict[str, Any]]]:
    """What is measured: the axis, the value on it, the scenario."""
    for number in REQUESTS:
        yield "requests", number, saturated(number)
    for number in RUNNING:
        yield "running", number, saturated(500, number)
    for number in OUTPUTS:
        yield "steps", number, saturated(50, 50, (number, number))


def measure() -> Iterator[Measured]:
    """Run all of them."""
    for axis, value, scenario in scenarios():
        for driver in ("fast", "awake"):
            if driver == "awake" and len(scenario["requests"]) > MOST_AWAKE:
                continue
            found = in_own_process(scenario, driver)
            grown = found["steps"] if axis == "steps" else value
            us = round(found["seconds"] * 1e6)
            kilobytes = in_own_process(scenario, driver, "memory")["bytes"] // 1024
            yield Measured(axis, grown, driver, found["steps"], us, kilobytes)


# ---------------------------------------------------------------- the picture

WIDTH, HEIGHT, MARGIN, GAP = 260, 200, 50, 20
COLOURS = {"fast": "#1b6ca8", "awake": "#c8641e"}
QUANTITIES = (("us", "time, us"), ("kilobytes", "memory, kB"))


def picture(rows: Sequence[Measured]) -> str:
    """Both quantities over each axis, on logarithmic scales."""
    axes = list(dict.fromkeys(row.axis for row in rows))
    width, height = len(axes) * (WIDTH + MARGIN) + GAP, len(QUANTITIES) * (HEIGHT + MARGIN) + GAP
    box = f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {box}><rect width="{width}" height="{height}" fill="#fff"/>']
    for column, axis in enumerate(axes):
        for line, (field, title) in enumerate(QUANTITIES):
            x, y = MARGIN + column * (WIDTH + MARGIN), GAP + line * (HEIGHT + MARGIN)
            parts.append(f'<g transform="translate({x} {y})">')
            parts += _panel([row for row in rows if row.axis == axis], axis, field, title)
            parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _panel(rows: Sequence[Measured], axis: str, field: str, title: str) -> Iterator[str]:
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>'
    yield f'<text x="{WIDTH // 2}" y="{HEIGHT + 28}" text-anchor="middle">{axis}</text>'
    yield f'<text x="4" y="-5">{title}</text>'
    x_scale = _scale([row.value for row in rows], WIDTH)
    y_scale = _scale([max(getattr(row, field), 1) for row in rows], HEIGHT)
    for exponent in range(*x_scale.decades):
        x = x_scale.place(10**exponent)
        yield f'<path d="M{x:.1f} 0V{HEIGHT}" stroke="#ddd"/>'
        yield f'<text x="{x:.1f}" y="{HEIGHT + 14}" text-anchor="middle">{10**exponent:,}</text>'
    for exponent in range(*y_scale.decades):
        y = HEIGHT - y_scale.place(10**exponent)
        yield f'<path d="M0 {y:.1f}H{WIDTH}" stroke="#ddd"/><text x="3" y="{y - 2:.1f}">{10**exponent:,}</text>'
    for driver, colour in COLOURS.items():
        points = [
            (x_scale.place(row.value), HEIGHT - y_scale.place(max(getattr(row, field), 1)))
            for row in rows
            if row.driver == driver
        ]
        if points:
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
            yield f'<text x="{points[-1][0] - 34:.1f}" y="{points[-1][1] - 6:.1f}" fill="{colour}">{driver}</text>'


class _Scale(NamedTuple):
    low: float
    high: float
    length: int

    @property
    def decades(self) -> tuple[int, int]:
        return math.ceil(self.low), math.floor(self.high) + 1

    def place(self, value: float) -> float:
        return (math.log10(value) - self.low) / (self.high - self.low) * self.length


def _scale(values: Sequence[int], length: int) -> _Scale:
    low, high = math.log10(min(values)), math.log10(max(values))
    room = max((high - low) * 0.06, 0.05)
    return _Scale(low - room, high + room, length)


def main() -> None:
    """Measure, print as CSV, draw if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__.partition("\n")[0])
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw it, too")
    options = parser.parse_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(Measured._fields)
    rows = []
    for row in measure():
        rows.append(row)
        writer.writerow(row)
        sys.stdout.flush()
    if options.svg:
        options.svg.write_text(picture(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
