"""The spread of repeated measurements in five numbers."""

from collections.abc import Sequence
from typing import NamedTuple


class Spread(NamedTuple):
    """Smallest value, quartiles by nearest rank, largest value; in us."""

    min: int
    q1: int
    median: int
    q3: int
    max: int


def spread_us(ns: Sequence[int]) -> Spread:
    """The spread of times in ns, in us, each rounded.

    >>> spread_us([4_000_000, 1_000_000, 2_000_400, 3_000_500, 9_000_000])
    Spread(min=1000, q1=2000, median=3001, q3=4000, max=9000)
    """
    ordered = sorted(ns)
    last = len(ordered) - 1
    return Spread(*((ordered[(place * last + 2) // 4] + 500) // 1000 for place in range(len(Spread._fields))))
