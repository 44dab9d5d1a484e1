"""Choices about what was imported: some of the requests, or another unit of time than was taken for granted."""

from ..errors import ConfigError
from ..parameters import MAX_ARRIVAL_US, shown
from .importer import Imported

UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Units of time, in ns."""


def sample(imported: Imported, count: int) -> None:
    """Keep `count` requests, evenly spread over all of them, with their arrivals.

    The same file gives the same sample: no chance is involved.
    """
    total = len(imported.requests)
    if total <= count:
        return
    imported.requests = [imported.requests[index * total // count] for index in range(count)]
    imported.note("sample", n=count, total=total)


def rescale(imported: Imported, unit: str) -> None:
    """Take times for another unit than the importer did.

    Args:
        imported: its arrivals are changed.
        unit: one of `UNITS`.

    Raises:
        ConfigError: the file has no times in a unit, or they become too late.
    """
    if imported.unit == unit:
        return
    if imported.unit not in UNITS:
        raise ConfigError("--unit", f"{shown(unit)} is not allowed, {imported.format} here has no times in a unit")
    for request in imported.requests:
        request["arrival_us"] = request["arrival_us"] * UNITS[unit] // UNITS[imported.unit]
        if request["arrival_us"] > MAX_ARRIVAL_US:
            raise ConfigError("--unit", f"in {unit} the last request arrives after {MAX_ARRIVAL_US} us")
    imported.unit = unit
