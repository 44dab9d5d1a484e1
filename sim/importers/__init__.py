"""Importers: files of others become scenarios. One format a module, pure functions from lines to `Imported`."""

from ..errors import ConfigError
from ..parameters import shown
from .azure import AZURE
from .burstgpt import BURSTGPT
from .importer import Importer
from .mooncake import MOONCAKE
from .vidur import VIDUR

FORMATS: dict[str, Importer] = {importer.name: importer for importer in (AZURE, MOONCAKE, BURSTGPT, VIDUR)}
"""Every format by its name, in the order in which they are tried."""


def detect(line: str) -> Importer:
    """The importer for a file.

    Args:
        line: its first line that is not empty.

    Raises:
        ConfigError: none of the formats.
    """
    for importer in FORMATS.values():
        if importer.detect(line):
            return importer
    raise ConfigError("", f"the format of {shown(line.strip())} is not known, must be {' or '.join(FORMATS)}")
