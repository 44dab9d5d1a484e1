"""Recordings of the real scheduler, and how a trace of ours is held against one."""

import gzip
import json
import os
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
RECORDED_STEPS_OF_A_LIVELOCK = 200
OURS_ONLY = {"order", "start_us", "step_us"}
"""Fields that a step of ours may add."""


class Recording(NamedTuple):
    """A scenario and what the real scheduler made of it; `title` and `source` tell where a reported case is from."""

    scenario: dict[str, Any]
    trace: dict[str, Any]
    title: str = ""
    source: str = ""

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.scenario["name"])


def files() -> list[Path]:
    """The recordings of the project; with `GOLDEN=folder` also those of a folder outside, `vllm-0.33.0-*.jsonl.gz`."""
    outside = os.environ.get("GOLDEN")
    return sorted(HERE.glob("*.jsonl.gz")) + (sorted(Path(outside).glob("vllm-0.33.0-*.jsonl.gz")) if outside else [])


def read(path: Path) -> Iterator[Recording]:
    """The recordings of one file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield Recording(**json.loads(line))


def by_family() -> dict[str, list[Recording]]:
    """All recordings, each once, under the first part of their names; the reported cases are a family too."""
    families: dict[str, list[Recording]] = {}
    seen: set[str] = set()
    for path in files():
        for recording in read(path):
            if recording.name not in seen:
                seen.add(recording.name)
                family = "cases" if recording.source else recording.name.split("-")[0]
                families.setdefault(family, []).append(recording)
    return families


def first_difference(ours: dict[str, Any], theirs: dict[str, Any], livelock_steps: int = 1500) -> str | None:
    """Where a trace of ours leaves the recorded one, in words; `None` if it never does.

    Args:
        ours: a trace in the form of the contract.
        theirs: the recorded one; that of a livelock may be cut.
        livelock_steps: how long ours records a livelock.
    """
    # A configuration is refused in vLLM's words, a failed assertion has none.
    told = ("message",) if theirs.get("error") == "ValidationError" else ()
    for field in ("name", "engine", "error", *told):
        if ours.get(field) != theirs.get(field):
            return f"{field}: {ours.get(field)!r}, recorded {theirs.get(field)!r}"
    if "error" in theirs:
        return None
    our_steps, their_steps = ours["steps"], theirs["steps"]
    cut = theirs["outcome"] == "max_steps" and len(their_steps) == RECORDED_STEPS_OF_A_LIVELOCK
    pairs = zip_longest(our_steps[: len(their_steps)] if cut else our_steps, their_steps)
    for number, (our_step, their_step) in enumerate(pairs):
        if our_step is None or their_step is None:
            return f"{len(our_steps)} steps, recorded {len(their_steps)}"
        if difference := _field_that_differs(our_step, their_step):
            return f"step {number}, {difference}"
    for field in ("outcome", "unfinished"):
        if ours[field] != theirs[field]:
            return f"{field}: {ours[field]!r}, recorded {theirs[field]!r}"
    if cut and len(our_steps) != livelock_steps:
        return f"a livelock of {len(our_steps)} steps, expected {livelock_steps}"
    return None


def _field_that_differs(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    for field, recorded in theirs.items():
        mine = ours.get(field)
        if mine != recorded or (isinstance(recorded, dict) and list(mine) != list(recorded)):
            return f"{field}: {mine!r}, recorded {recorded!r}"
    added = set(ours) - set(theirs) - OURS_ONLY
    return f"fields added: {sorted(added)}" if added else None
