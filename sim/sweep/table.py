"""Results of a sweep as a numpy structured array, as CSV, as Parquet."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from ..parameter import Value
from ..points import METRICS, Point, Result

NULL = "null"


def to_array(points: Sequence[Point], results: Sequence[Result]) -> NDArray[np.void]:
    """One record a point: its settings, then `outcome` and the numbers of `METRICS`."""
    columns: list[tuple[str, Any]] = [(name, _kind([point[name] for point in points])) for name in points[0]]
    columns += [("outcome", "U9"), *((name, np.int64) for name in METRICS)]
    rows = [
        (*(NULL if value is None else value for value in point.values()), *map(result.get, ("outcome", *METRICS)))
        for point, result in zip(points, results, strict=True)
    ]
    return np.array(rows, dtype=columns)


def _kind(values: Sequence[Value]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "?"
    if all(isinstance(value, int) for value in values):
        return "i8"
    if all(isinstance(value, int | float) for value in values):
        return "f8"
    return f"U{max(len(str(value)) for value in values)}"


def to_csv(array: NDArray[np.void]) -> str:
    """The array with a header, lines ended by LF, `true` and `false` as in JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(array.dtype.names or ())
    for record in array.tolist():
        writer.writerow(str(value).lower() if isinstance(value, bool) else value for value in record)
    return text.getvalue()


def write_parquet(array: NDArray[np.void], path: Path) -> None:
    """Write the array as Parquet.

    Raises:
        ConfigError: see `need_parquet`.
    """
    arrow, parquet = need_parquet()
    names = array.dtype.names or ()
    parquet.write_table(arrow.table({name: array[name].tolist() for name in names}), path)


def need_parquet() -> tuple[Any, Any]:
    """The modules that write Parquet.

    Raises:
        ConfigError: they are not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - large, and only needed here
        from pyarrow import parquet  # noqa: PLC0415 - likewise
    except ImportError:
        raise ConfigError("-o", "Parquet needs the package pyarrow: pip install pyarrow") from None
    return pa, parquet
