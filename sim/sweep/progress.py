"""Finished points of a sweep, kept in a file as they come, so that a killed sweep goes on where it was."""

import json
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..points import Result


class Progress:
    """Points that are done, by index.

    Args:
        path: one JSON object a line; the first says which sweep it belongs to. `None` to keep nothing.
        key: of this sweep, see `key_of`.

    Raises:
        ConfigError: the file belongs to another sweep, or is none of ours.
    """

    def __init__(self, path: Path | None, key: str = "") -> None:
        self.path = path
        self.done: dict[int, Result] = {}
        if path is None:
            return
        head = {"sweep": key}
        lines = _lines(path)
        if lines and _record(path, 1, lines[0]) != head:
            raise ConfigError(str(path), "holds points of another sweep, remove it or write to another file")
        for number, line in enumerate(lines[1:], 2):
            record = _record(path, number, line)
            if not {"index", "result"} <= record.keys():
                raise ConfigError(f"{path}:{number}", "is no finished point, remove it")
            self.done[record["index"]] = record["result"]
        # What a kill cut off is run again.
        path.write_text("".join(lines) or json.dumps(head) + "\n", encoding="utf-8")

    def add(self, index: int, result: Result) -> None:
        """Point `index` is finished."""
        self.done[index] = result
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"index": index, "result": result}) + "\n")

    def remove(self) -> None:
        """Everything is done and stands elsewhere."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _lines(path: Path) -> list[str]:
    """The lines that were written to their end."""
    if not path.exists():
        return []
    lines = path.read_text("utf-8", errors="replace").splitlines(keepends=True)
    return [line for line in lines if line.endswith("\n")]


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise ConfigError(f"{path}:{number}", "is no finished point, remove it")
    return record
