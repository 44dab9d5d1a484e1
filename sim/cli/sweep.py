"""`sweep`: one scenario under many settings."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from ..errors import ConfigError
from ..exporters import sweep_html
from ..parameter import shown
from ..points import Point, Result, parse_axes, points_of
from ..scenario import parse_scenario
from .catalog import english_words, read_site
from .documents import read_values

BAR_WIDTH = 30
MOST_DRAWN = 1000
"""Points in a picture."""
SUFFIXES = (".csv", ".parquet")


def sweep(options: argparse.Namespace, imported: Callable[[str], dict[str, Any] | None]) -> None:
    """Run every point, print or write the table.

    Args:
        options: `file`, `vary`, `replicas`, `jobs`, `dask`, `output`, `html`.
        imported: makes a scenario of a file of another tool; `None` if the file is none.

    Raises:
        ConfigError: something about these, or a package that is needed is missing.
    """
    try:
        from ..sweep import points, progress, run, table  # noqa: PLC0415 - the only command that needs packages
    except ImportError as error:
        raise ConfigError("sweep", f"needs the package {error.name}: pip install joblib numpy") from None
    output = None if options.output is None else Path(options.output)
    if output is not None and output.suffix not in SUFFIXES:
        raise ConfigError("-o", f"{shown(output.name)} is not allowed, must end in {' or '.join(SUFFIXES)}")
    if output is not None and output.suffix == ".parquet":
        table.need_parquet()
    todo = points_of([*parse_axes(options.vary), points.replicas(options.replicas)])
    draw = None if options.html is None else _drawer(options.html, todo)
    document = _document(options.file, imported)
    path = None if output is None else output.with_name(output.name + ".progress")
    kept = progress.Progress(path, points.key_of(document, todo))
    bar = _bar(sys.stderr) if sys.stderr is not None and sys.stderr.isatty() else None
    results = run.sweep(document, todo, kept, jobs=options.jobs, dask=options.dask, report=bar)
    array = table.to_array(todo, results)
    if output is None:
        print(table.to_csv(array), end="")
    elif output.suffix == ".csv":
        output.write_text(table.to_csv(array), encoding="utf-8", newline="")
    else:
        table.write_parquet(array, output)
    if draw is not None:
        draw(document, results)
    kept.remove()


def _drawer(file: str, todo: Sequence[Point]) -> Callable[[dict[str, Any], Sequence[Result]], None]:
    """What writes the pictures; all that it needs but results is asked for before anything is run."""
    if len(todo) > MOST_DRAWN:
        raise ConfigError("--html", f"{len(todo)} points are too many to draw, at most {MOST_DRAWN} are allowed")
    words, style = english_words("--html"), read_site("assets/sweep.css", "--html")
    has_replicas = any(point["replica"] for point in todo)
    points = [{key: value for key, value in point.items() if has_replicas or key != "replica"} for point in todo]

    def draw(document: dict[str, Any], results: Sequence[Result]) -> None:
        text = sweep_html(document, points, results, words, style)
        # Half of a surrogate pair has no UTF-8.
        Path(file).write_text(text, encoding="utf-8", errors="backslashreplace")

    return draw


def _document(file: str, imported: Callable[[str], dict[str, Any] | None]) -> dict[str, Any]:
    """The one scenario of a file, as it stands there."""
    found = imported(file)
    if found is not None:
        return found
    values: Iterator[Any] = read_values(file)
    place, value = next(values)
    place.parse(parse_scenario, value)
    for other, _ in values:
        raise other.fault(ConfigError("", "a second scenario, a sweep is of one"))
    assert isinstance(value, dict)
    return value


def _bar(stream: TextIO) -> Callable[[int, int], None]:
    """Draws how far it is, on one line of a terminal."""

    def draw(done: int, count: int) -> None:
        full = BAR_WIDTH * done // count
        end = "\n" if done == count else ""
        print(f"\r[{'#' * full}{'.' * (BAR_WIDTH - full)}] {done} of {count}", end=end, file=stream, flush=True)

    return draw
