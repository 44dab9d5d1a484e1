"""The recordings of the site: made on hardware when the build is asked to, checked and packed in every build."""

import json
import os
import subprocess
import sys
from pathlib import Path

from sim.errors import ConfigError
from sim.figures.recorded import NAMES, PACKED, packed
from sim.recordings.check import read_recordings
from sim.recordings.recording import BACKENDS
from sim.recordings.scenarios import SITE_SCENARIOS

ROOT = Path(__file__).resolve().parent.parent
NO_PACKAGE = "needs the package"

__all__ = ["PACKED", "RecordingError", "pack_recordings", "record_site", "run_anew"]


class RecordingError(Exception):
    """A recording cannot be made or shown; told in one line."""


def pack_recordings(folder: Path) -> bytes:
    """What the page needs of the recordings in `folder`, each checked against the simulator.

    Raises:
        RecordingError: one is not as it was recorded, or its plan is not the simulator's.
    """
    try:
        found = read_recordings(folder)
    except ConfigError as error:
        raise RecordingError(f"site/recordings: {error}") from None
    for recording in found:
        if recording.head["name"] not in NAMES:
            raise RecordingError(f"site/recordings: {recording.file_name}: the page has no words for its name")
    documents = [packed(json.loads(recording.to_text())) for recording in found]
    return json.dumps(documents, ensure_ascii=False, separators=(",", ":")).encode()


def record_site(folder: Path, device: str) -> None:
    """Record the site's scenarios with every backend whose package is there.

    They run in a Python of their own: the one that HARDWARE_PYTHON names, or this one.

    Args:
        folder: where the recordings go.
        device: `cpu` or `cuda`.

    Raises:
        RecordingError: no backend is there, or one fails.
    """
    python, missing = os.environ.get("HARDWARE_PYTHON") or sys.executable, []
    for backend in BACKENDS:
        command = [python, "-m", "sim", "record", "--backend", backend, "--device", device]
        sys.stderr.write(f"build.py: recording {len(SITE_SCENARIOS)} scenarios with {backend} on {device}\n")
        done = subprocess.run([*command, "site", "-o", folder], cwd=ROOT, capture_output=True, text=True, check=False)
        told = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("batchloom:")), "failed")
        if done.returncode and NO_PACKAGE not in told:
            raise RecordingError(f"{backend}: {told.removeprefix('batchloom: ')}")
        if done.returncode:
            missing.append(told.removeprefix("batchloom: "))
    if len(missing) == len(BACKENDS):
        raise RecordingError(missing[0])
    for told in missing:
        sys.stderr.write(f"build.py: left as it is: {told}\n")


def run_anew() -> None:
    """Start this program again without `--hardware`: this process has read the recordings that were there before."""
    words = sys.argv[1:]
    place = next(i for i, word in enumerate(words) if word.split("=")[0] == "--hardware")
    rest = words[place + (1 if "=" in words[place] else 2) :]
    os.execv(sys.executable, [sys.executable, sys.argv[0], *words[:place], *rest])  # noqa: S606 - no shell is wanted
