"""BurstGPT traces: CSV in seconds with the tokens of requests and responses, with or without sessions."""

from collections.abc import Iterable, Mapping

from ..errors import ConfigError
from .importer import Imported, Importer
from .rows import CONFIG, Row, count_field, header_of, read_csv, seconds_field, whole

TIMESTAMP, REQUEST, RESPONSE = COLUMNS = ("Timestamp", "Request tokens", "Response tokens")
OTHERS = ("Session ID", "Elapsed time", "Model", "Total tokens", "Log Type")
"""Columns that are not needed; the first two are in `BurstGPT_3` alone."""


def detect(head: str) -> bool:
    """Whether this begins with the header of a BurstGPT trace."""
    return set(COLUMNS) <= set(header_of(head))


def read(lines: Iterable[str], rows: int | None = None) -> Imported:
    """Requests by time of arrival, the first at 0; requests that failed, with no response, are left out.

    Args:
        lines: the file, header first.
        rows: how many rows to read; `None` for all.

    Raises:
        ConfigError: no header, or no row that can be used.
    """
    imported = Imported("burstgpt", dict(CONFIG), unit="s")
    read_csv(imported, lines, rows, COLUMNS, _row, OTHERS)
    return imported


def _row(row: Mapping[str, str]) -> Row:
    ns = seconds_field(row, TIMESTAMP)
    prompt_tokens = count_field(row, REQUEST, "prompt_tokens")
    if whole(row[RESPONSE]) == 0:
        raise ConfigError(RESPONSE, "0, the request failed")
    return Row(ns, prompt_tokens, count_field(row, RESPONSE, "output_tokens"))


BURSTGPT = Importer("burstgpt", "BurstGPT 1, 2 or 3 (CSV)", detect, read)
