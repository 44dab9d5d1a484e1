"""Importers: files of others become scenarios. One format a module, pure functions from lines to `Imported`."""

from collections.abc import Iterable
from itertools import chain

from ..errors import ConfigError
from ..parameters import shown
from .azure import AZURE
from .bench_json import BENCH_JSON
from .burstgpt import BURSTGPT
from .importer import Imported, Importer
from .mooncake import MOONCAKE
from .own import SCENARIO, TRACE
from .prometheus import PROMETHEUS
from .serve_command import SERVE_COMMAND
from .sharegpt import SHAREGPT
from .text import HEAD_BYTES
from .vidur import VIDUR
from .vllm_log import VLLM_LOG

_ALL = (
    *(AZURE, BURSTGPT, VIDUR, TRACE, SCENARIO, BENCH_JSON, MOONCAKE, PROMETHEUS, SHAREGPT, VLLM_LOG, SERVE_COMMAND),
)

FORMATS: dict[str, Importer] = {importer.name: importer for importer in _ALL}
"""Every format by its name, in the order in which they are tried: those with the surest marks first."""


def detect(head: str) -> Importer:
    """The importer for a file.

    Args:
        head: its beginning, from the first line that is not empty: a line or more.

    Raises:
        ConfigError: none of the formats.
    """
    for importer in FORMATS.values():
        if importer.detect(head):
            return importer
    line = head.strip().split("\n", 1)[0].strip()
    raise ConfigError("", f"the format of {shown(line)} is not known, must be {' or '.join(FORMATS)}")


def read_file(name: str, lines: Iterable[str], rows: int | None = None) -> Imported:
    """What a file holds.

    Args:
        name: of a format, or `auto`.
        lines: the file.
        rows: how many rows to read; `None` for all.

    Raises:
        ConfigError: nothing can be made of it.
    """
    if name != "auto":
        return FORMATS[name].read(lines, rows)
    rest = iter(lines)
    first: list[str] = []
    size = 0
    for line in rest:
        first.append(line)
        size += len(line)
        if size >= HEAD_BYTES:
            break
    head = "".join(first).lstrip()
    if not head:
        raise ConfigError("", f"is empty, must hold rows of {' or '.join(FORMATS)}")
    return detect(head).read(chain(first, rest), rows)
