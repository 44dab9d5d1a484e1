"""Azure LLM inference traces: `TIMESTAMP,ContextTokens,GeneratedTokens`, one request a row."""

import re
from collections.abc import Iterable, Mapping

from ..errors import ConfigError
from ..parameters import shown
from .dates import day_number
from .importer import Imported, Importer
from .rows import CONFIG, Row, count_field, header_of, read_csv

TIMESTAMP, CONTEXT, GENERATED = COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")

NS_PER_MINUTE = 60 * 10**9

_TIME = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[ T](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"(?:[.,](?P<fraction>\d{1,9}))?(?:Z|(?P<sign>[+-])(?P<off_hour>[01]\d|2[0-3]):(?P<off_minute>[0-5]\d))?",
    re.ASCII,
)


def detect(head: str) -> bool:
    """Whether this begins with the header of an Azure trace."""
    return set(COLUMNS) <= set(header_of(head))


def read(lines: Iterable[str], rows: int | None = None) -> Imported:
    """Requests by time of arrival, the first at 0; rows with the same time in their order.

    Args:
        lines: the file, header first.
        rows: how many rows to read; `None` for all.

    Raises:
        ConfigError: no header, or no row that can be used.
    """
    imported = Imported("azure", dict(CONFIG))
    read_csv(imported, lines, rows, COLUMNS, _row)
    return imported


def _row(row: Mapping[str, str]) -> Row:
    ns = _ns(row[TIMESTAMP])
    return Row(ns, count_field(row, CONTEXT, "prompt_tokens"), count_field(row, GENERATED, "output_tokens"))


def _ns(text: str) -> int:
    """A time of day and date in ns, exactly; a time without zone counts as UTC."""
    problem = f"{shown(text)} is not allowed, must be a time such as 2023-11-16 18:15:46.6805900"
    match = _TIME.fullmatch(text)
    if match is None:
        raise ConfigError(TIMESTAMP, problem)
    hour, minute, second = (int(match[part]) for part in ("hour", "minute", "second"))
    offset = int(match["off_hour"] or 0) * 60 + int(match["off_minute"] or 0)
    if match["sign"] == "-":
        offset = -offset
    day = day_number(int(match["year"]), int(match["month"]), int(match["day"]))
    if day is None or hour > 23 or minute > 59 or second > 59:
        raise ConfigError(TIMESTAMP, problem)
    minutes = (day * 24 + hour) * 60 + minute - offset
    return minutes * NS_PER_MINUTE + second * 10**9 + int((match["fraction"] or "").ljust(9, "0"))


AZURE = Importer("azure", "Azure LLM inference trace 2023 (CSV)", detect, read)
