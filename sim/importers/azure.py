"""Azure LLM inference traces: `TIMESTAMP,ContextTokens,GeneratedTokens`, one request a row."""

import csv
import re
from collections.abc import Iterable
from datetime import date

from ..errors import ConfigError
from ..parameters import MAX_ARRIVAL_US, shown
from .importer import Imported, Importer, count_field

TIMESTAMP, CONTEXT, GENERATED = COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")

CONFIG = {"max_num_batched_tokens": 8192, "max_num_seqs": 256, "max_model_len": 32768, "num_gpu_blocks": 20000}
"""A server for chat on one large GPU; the traces themselves do not tell how theirs were set."""

NS_PER_US = 1_000
NS_PER_MINUTE = 60 * 10**9

_TIME = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[ T](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"(?:\.(?P<fraction>\d{1,9}))?(?:Z|(?P<sign>[+-])(?P<off_hour>[01]\d|2[0-3]):(?P<off_minute>[0-5]\d))?",
    re.ASCII,
)


def detect(line: str) -> bool:
    """Whether this is the header of an Azure trace."""
    return set(COLUMNS) <= set(_cells(line) or ())


def read(lines: Iterable[str], rows: int | None = None) -> Imported:
    """Requests by time of arrival, the first at 0; rows with the same time in their order.

    Args:
        lines: the file, header first.
        rows: how many rows to read; `None` for all.

    Raises:
        ConfigError: no header, or no row that can be used.
    """
    imported = Imported("azure", dict(CONFIG))
    header: list[str] = []
    found: list[tuple[int, int, int, int]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not header:
            header = _header(line, number)
            imported.unknown = [name for name in header if name not in COLUMNS]
            continue
        if imported.rows == rows:
            break
        imported.rows += 1
        try:
            found.append((*_row(line, header), number))
        except ConfigError as error:
            imported.leave_out(number, str(error))
    if not header:
        raise ConfigError("", f"is empty, must begin with {','.join(COLUMNS)}")
    _add_requests(imported, found)
    if not imported.requests:
        why = f"; line {imported.left_out[0].line}: {imported.left_out[0].why}" if imported.left_out else ""
        raise ConfigError("", f"no row can be used, {imported.rows} were read{why}")
    return imported


def _add_requests(imported: Imported, found: list[tuple[int, int, int, int]]) -> None:
    found.sort(key=lambda row: row[0])
    for ns, prompt_tokens, output_tokens, number in found:
        arrival_us = (ns - found[0][0]) // NS_PER_US
        if arrival_us > MAX_ARRIVAL_US:
            why = f"{TIMESTAMP}: {arrival_us} us after the first arrival, must be at most {MAX_ARRIVAL_US}"
            imported.leave_out(number, why)
            continue
        imported.requests.append(
            {
                "id": f"r{len(imported.requests)}",
                "arrival_us": arrival_us,
                "prompt_tokens": prompt_tokens,
                "output_tokens": output_tokens,
            }
        )


def _header(line: str, number: int) -> list[str]:
    header = _cells(line) or []
    for name in COLUMNS:
        if header.count(name) != 1:
            problem = f"{shown(line.strip())} is no header, must name {', '.join(COLUMNS)} once each"
            raise ConfigError(str(number), problem)
    return header


def _row(line: str, header: list[str]) -> tuple[int, int, int]:
    cells = _cells(line)
    if cells is None:
        raise ConfigError("", f"{shown(line.strip())} is not CSV")
    if len(cells) != len(header):
        raise ConfigError("", f"{len(cells)} columns in {shown(line.strip())}, must be {len(header)}")
    row = dict(zip(header, cells, strict=True))
    return (
        _ns(row[TIMESTAMP]),
        count_field(row, CONTEXT, "prompt_tokens"),
        count_field(row, GENERATED, "output_tokens"),
    )


def _cells(line: str) -> list[str] | None:
    try:
        rows = list(csv.reader([line.rstrip("\r\n")], strict=True))
    except csv.Error:
        return None
    return [cell.strip() for cell in rows[0]] if rows else []


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
    try:
        day = date(int(match["year"]), int(match["month"]), int(match["day"])).toordinal()
    except ValueError:
        raise ConfigError(TIMESTAMP, problem) from None
    if hour > 23 or minute > 59 or second > 59:
        raise ConfigError(TIMESTAMP, problem)
    minutes = (day * 24 + hour) * 60 + minute - offset
    return minutes * NS_PER_MINUTE + second * 10**9 + int((match["fraction"] or "").ljust(9, "0"))


AZURE = Importer("azure", "Azure LLM inference trace 2023 (CSV)", detect, read)
