"""The memory of a Python with the simulator loaded, for `build.py`; and the program that makes it, Node.js."""

import shutil
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
NAME = "app.snap.gz"


class SnapshotError(Exception):
    """There is no snapshot; told in one line."""


class Snapshot(NamedTuple):
    """What the page has to know of the snapshot: its file and the checksum at that file's end."""

    name: str
    crc32: int


def make_snapshot(packages: Path, folder: Path) -> Snapshot:
    """Write the snapshot of the Pyodide in `packages` with the simulator of `folder/sim.zip` beside it."""
    target = folder / NAME
    script = ROOT / "scripts" / "make_snapshot.mjs"
    run_node(script, packages, folder / "sim.zip", target)
    (crc32,) = struct.unpack("<I", target.read_bytes()[-8:-4])
    return Snapshot(NAME, crc32)


def run_node(*command: str | Path) -> None:
    """Run a script with the Node.js that `make setup` found.

    Raises:
        SnapshotError: there is no Node.js, or the script failed.
    """
    own = ROOT / ".venv" / "bin" / "node"
    node = str(own) if own.is_file() else shutil.which("node")
    if node is None:
        raise SnapshotError("there is no Node.js: run `make setup` first")
    done = subprocess.run([node, *command], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.splitlines() or ["failed"]
        raise SnapshotError(f"{Path(command[0]).name}: {lines[-1]}")
