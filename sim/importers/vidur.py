"""Vidur traces: CSV with the tokens of prefill and decode, with or without arrivals in seconds."""

from collections.abc import Iterable, Mapping
from itertools import chain

from .importer import Imported, Importer
from .rows import CONFIG, Row, count_field, header_of, read_csv, seconds_field

ARRIVED = "arrived_at"
PREFILL, DECODE = COLUMNS = ("num_prefill_tokens", "num_decode_tokens")
OTHERS = ("num_total_tokens", "pd_ratio")
"""Columns that follow from the others."""


def detect(head: str) -> bool:
    """Whether this begins with the header of a Vidur trace."""
    return set(COLUMNS) <= set(header_of(head))


def read(lines: Iterable[str], rows: int | None = None) -> Imported:
    """Requests by time of arrival, the first at 0; without arrivals all of them at 0.

    Args:
        lines: the file, header first.
        rows: how many rows to read; `None` for all.

    Raises:
        ConfigError: no header, or no row that can be used.
    """
    imported = Imported("vidur", dict(CONFIG))
    before: list[str] = []
    rest = iter(lines)
    for line in rest:
        before.append(line)
        if line.strip():
            break
    in_time = bool(before) and ARRIVED in header_of(before[-1])
    imported.unit = "s" if in_time else ""
    columns = (ARRIVED, *COLUMNS) if in_time else COLUMNS
    read_csv(imported, chain(before, rest), rows, columns, _row, OTHERS)
    return imported


def _row(row: Mapping[str, str]) -> Row:
    ns = seconds_field(row, ARRIVED) if ARRIVED in row else 0
    return Row(ns, count_field(row, PREFILL, "prompt_tokens"), count_field(row, DECODE, "output_tokens"))


VIDUR = Importer("vidur", "Vidur, with arrivals or lengths only (CSV)", detect, read)
