"""What every importer is and gives: a scenario in the making, and an account of what was left out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .notes import Note

MAX_LISTED = 20
"""So many of the lines that were left out are told one by one; the others are counted."""


class LeftOut(NamedTuple):
    """A line that could not be used, counted from 1, and why."""

    line: int
    why: str


@dataclass(slots=True)
class Imported:
    """What an importer made of its input; it is filled while the input is read.

    Args:
        format: name of the format.
        config: keys of `parameters.CONFIG` that the scenario gets.
        requests: requests of the scenario, in order.
        rows: rows read, good or not.
        left_out: the first rows that could not be used, at most `MAX_LISTED`.
        left_out_total: how many could not be used.
        unknown: columns, fields or flags that are not understood.
        removed: flags that vLLM no longer has.
        series: numbers over time, by name: pairs of a time in us from the first, and a number.
        unit: how the file tells times: `s`, `ms`, `us`, `ns`, `clock`; empty if it tells none.
        found: what else the file tells, by name, such as the model.
        notes: what was taken for granted, and what of the file is not simulated.
    """

    format: str
    config: dict[str, Any]
    requests: list[dict[str, Any]] = field(default_factory=list)
    rows: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    left_out_total: int = 0
    unknown: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    series: dict[str, list[Any]] = field(default_factory=dict)
    unit: str = ""
    found: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def point(self, name: str, time: int, value: float) -> None:
        """Add a number to a series."""
        self.series.setdefault(name, []).append([time, value])

    def note(self, code: str, **values: object) -> None:
        """Tell, once, what was taken for granted, or is not simulated; see `NOTES`."""
        note = Note(code, **values)
        if note not in self.notes:
            self.notes.append(note)

    def leave_out(self, line: int, why: str) -> None:
        """Count a row that cannot be used."""
        self.left_out_total += 1
        if len(self.left_out) < MAX_LISTED:
            self.left_out.append(LeftOut(line, why))

    def to_scenario(self, name: str) -> dict[str, Any]:
        """A scenario in the form of the contract, with the account under `imported`."""
        account: dict[str, Any] = {
            "format": self.format,
            "rows": self.rows,
            "left_out": [item._asdict() for item in self.left_out],
            "left_out_total": self.left_out_total,
            "unknown": self.unknown,
            "removed": self.removed,
            "series": self.series,
        }
        account |= {key: value for key in ("unit", "found", "notes") if (value := getattr(self, key))}
        return {"name": name, "config": self.config, "requests": self.requests, "imported": account}


@dataclass(frozen=True, slots=True)
class Importer:
    """One format.

    Args:
        name: as on the command line.
        help: the format in a few words.
        detect: whether a file that begins with this text has the format.
        read: the lines of a file, from the first on, and how many rows to read at most (`None` for all). It raises
            `ConfigError` when nothing can be made of the input; its field is the number of a line, or empty.
    """

    name: str
    help: str
    detect: Callable[[str], bool]
    read: Callable[[Iterable[str], int | None], Imported]
