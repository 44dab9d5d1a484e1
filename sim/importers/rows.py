"""What importers of requests share: cells of CSV, times in exact integers, rows in order of arrival."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from ..errors import ConfigError
from ..parameters import MAX_ARRIVAL_US, REQUEST, by_name, shown
from .human import MOST_DIGITS
from .importer import Imported

NS_PER_US = 1_000

CONFIG = {"max_num_batched_tokens": 8192, "max_num_seqs": 256, "max_model_len": 32768, "num_gpu_blocks": 20000}
"""A server for chat on one large GPU; traces do not tell how theirs were set."""

DELIMITERS = (",", ";", "\t", "|")
"""Where the comma is the decimal point, spreadsheets write semicolons between cells."""

_WHOLE = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]+)(?:\.(?P<point>[0-9]*)|,(?P<comma>[0-9]{1,2}|[0-9]{4,}))?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,3}))?",
    re.ASCII,
)
"""Three digits behind a comma could be thousands, and are not read."""

_SECONDS = re.compile(r"([0-9]{1,12})(?:[.,]([0-9]{0,20}))?(?:[eE]([+-]?[0-9]{1,2}))?", re.ASCII)


_REQUEST = by_name(REQUEST)


class Written(float):
    """A number of JSON that is not whole, and its `text`, which is exact."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> Self:
        """Of a text such as `0.25`."""
        number = super().__new__(cls, text)
        number.text = text
        return number


class Row(NamedTuple):
    """A request as a trace has it; `more` are further keys of a scenario's request."""

    ns: int
    prompt_tokens: int
    output_tokens: int
    more: Mapping[str, Any] = {}


def read_rows(
    imported: Imported, lines: Iterable[tuple[int, str]], rows: int | None, parse: Callable[[str], Row], time: str
) -> None:
    """Fill `imported` with requests in order of arrival, the first at 0; rows with the same time in their order.

    Args:
        imported: what is filled.
        lines: the lines of a file with their numbers, those with rows.
        rows: how many rows to read; `None` for all.
        parse: makes a row of a line, or raises `ConfigError`, and then the line is left out.
        time: the name of the field with the time, for messages.

    Raises:
        ConfigError: no row that can be used.
    """
    found: list[tuple[Row, int]] = []
    for number, line in lines:
        if not line.strip():
            continue
        if imported.rows == rows:
            break
        imported.rows += 1
        try:
            found.append((parse(line), number))
        except ConfigError as error:
            imported.leave_out(number, str(error))
    found.sort(key=lambda item: item[0].ns)
    for row, number in found:
        arrival_us = (row.ns - found[0][0].ns) // NS_PER_US
        if arrival_us > MAX_ARRIVAL_US:
            why = f"{time}: {arrival_us} us after the first arrival, must be at most {MAX_ARRIVAL_US}"
            imported.leave_out(number, why)
            continue
        request = {"id": f"r{len(imported.requests)}", "arrival_us": arrival_us}
        request |= {"prompt_tokens": row.prompt_tokens, "output_tokens": row.output_tokens, **row.more}
        imported.requests.append(request)
    if not imported.requests:
        why = f"; line {imported.left_out[0].line}: {imported.left_out[0].why}" if imported.left_out else ""
        raise ConfigError("", f"no row can be used, {imported.rows} were read{why}")


def read_csv(
    imported: Imported,
    lines: Iterable[str],
    rows: int | None,
    columns: Sequence[str],
    parse: Callable[[Mapping[str, str]], Row],
    others: Sequence[str] = (),
) -> None:
    """Fill `imported` from CSV with a header.

    Args:
        imported: what is filled.
        lines: the file, header first.
        rows: how many rows to read; `None` for all.
        columns: those that the header must name, the one with the time first.
        parse: makes a row of the texts by column.
        others: columns that are understood and not needed.

    Raises:
        ConfigError: no header, or no row that can be used.
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    number, line = next(numbered, (0, ""))
    if not number:
        raise ConfigError("", f"is empty, must begin with {','.join(columns)}")
    delimiter = delimiter_of(line)
    header = cells(line, delimiter) or []
    for name in columns:
        if header.count(name) != 1:
            problem = f"{shown(line.strip())} is no header, must name {', '.join(columns)} once each"
            raise ConfigError(str(number), problem)
    # A column without a name numbers the rows.
    imported.unknown = [name for name in header if name and name not in columns and name not in others]
    read_rows(imported, numbered, rows, lambda text: parse(_by_column(text, header, delimiter)), columns[0])


def _by_column(line: str, header: list[str], delimiter: str) -> dict[str, str]:
    found = cells(line, delimiter)
    if found is None:
        raise ConfigError("", f"{shown(line.strip())} is not CSV")
    if len(found) != len(header):
        raise ConfigError("", f"{len(found)} columns in {shown(line.strip())}, must be {len(header)}")
    return dict(zip(header, found, strict=True))


def header_of(head: str) -> list[str]:
    """The cells of the first line of a file that is not empty."""
    line = head.lstrip().split("\n", 1)[0]
    return cells(line, delimiter_of(line)) or []


def delimiter_of(header: str) -> str:
    """What stands between the cells: the comma, unless a header has none and has another; the first of `DELIMITERS`."""
    return next((mark for mark in DELIMITERS if mark in header), ",")


def cells(line: str, delimiter: str = ",") -> list[str] | None:
    """The cells of a line of CSV without the space around them; `None` if it is none."""
    try:
        rows = list(csv.reader([line.rstrip("\r\n")], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return [cell.strip() for cell in rows[0]] if rows else []


def whole(text: str) -> int | None:
    """The integer that a text is, exactly, or `None`: `5`, and `5.0` or `5e3`, as tables with gaps have integers."""
    match = _WHOLE.fullmatch(text)
    if match is None:
        return None
    fraction = match["point"] or match["comma"] or ""
    digits, power = match["digits"] + fraction, int(match["exponent"] or 0) - len(fraction)
    if power < 0:
        if digits[power:].strip("0"):
            return None
        digits = digits[:power] or "0"
    return int(match["sign"] + (digits + "0" * power)[:MOST_DIGITS])


def number_of_json(text: str) -> int | Written:
    """What a number of JSON that has a point or an exponent stands for: an integer, if it is whole."""
    number = whole(text)
    return Written(text) if number is None else number


def count_field(row: Mapping[str, str], column: str, key: str) -> int:
    """The integer in a column of a row.

    Args:
        row: texts by column.
        column: the name of the column, for the message.
        key: the row of `parameters.REQUEST` that says what is allowed.

    Raises:
        ConfigError: no integer, or out of range.
    """
    text = row[column].strip()
    number = whole(text)
    return count_value(text if number is None else number, column, key)


def count_value(value: object, field: str, key: str) -> int:
    """The integer that a value of JSON is; likewise."""
    checked = _REQUEST[key].check(plain(value), field)
    assert isinstance(checked, int)
    return checked


def plain(value: Any) -> Any:
    """A value of JSON; a whole number that has a point or an exponent as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def seconds_field(row: Mapping[str, str], column: str) -> int:
    """A time in seconds as ns, cut to whole ones, without going through floating point.

    Raises:
        ConfigError: no such number.
    """
    ns = seconds_to_ns(row[column])
    if ns is None:
        raise ConfigError(column, f"{shown(row[column])} is not allowed, must be seconds such as 4.314579")
    return ns


def seconds_to_ns(text: str) -> int | None:
    """Seconds, with a point or a comma, as whole ns; `None` if the text is no such number."""
    match = _SECONDS.fullmatch(text)
    if match is None:
        return None
    whole, fraction, exponent = match[1], match[2] or "", int(match[3] or 0)
    power = 9 + exponent - len(fraction)
    digits = int(whole + fraction)
    scale: int = 10 ** abs(power)
    return digits * scale if power >= 0 else digits // scale
