"""The recordings that the page shows: what the build packed of them, or in a checkout the files themselves.

The build has compared each plan with the simulator's. So what is kept of a step is only how long it took.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from ..engine import simulate
from ..scenario import Scenario, parse_scenario
from ..spread import Spread, spread_us
from ..trace import Trace
from .moments import Moment, moments
from .run import Run

PACKED = "recordings.json"
KEPT = ("name", "backend", "device", "versions", "model", "scenario", "recorded", "repeats", "dropped", "proof")
NAMES = (
    *("six-steps", "group-a", "group-b", "preemption", "prefix-cache"),
    *("long-128", "long-512", "long-2048"),
)
"""The scenarios of the site's recordings, in the order of the page."""
BACKENDS = ("torch-cpu", "vllm-cpu", "torch-cuda", "vllm-cuda")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording beside the simulator's run of its scenario.

    Args:
        head: the keys of `KEPT` as in the recording.
        scenario, trace: what was run, and the simulator's run of it, which has the same plan.
        moments: per step its requests.
        spreads: per step how long it took; `None` in a step without work.
    """

    head: Mapping[str, Any]
    scenario: Scenario
    trace: Trace
    moments: list[list[Moment]]
    spreads: tuple[Spread | None, ...]

    def work(self, step: int) -> list[Moment]:
        """The requests that got tokens, in scheduling order."""
        by_id = {moment.request_id: moment for moment in self.moments[step]}
        return [by_id[request_id] for request_id in self.trace.steps[step].scheduled]

    def run(self) -> Run:
        """The simulator's run, without its blocks."""
        return Run(self.scenario, self.trace, self.moments, [], len(self.trace.steps))

    def batch(self, step: int) -> list[tuple[int, int]]:
        """The step as `CostModel.step_us` takes it."""
        return [(moment.before, moment.got) for moment in self.work(step)]


def packed(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the page needs of a recording.

    Args:
        document: a recording as its file has it, checked.
    """
    walls = [step["ns"].get("wall") for step in document["steps"]]
    return {key: document[key] for key in KEPT} | {"us": [wall and spread_us(wall) for wall in walls]}


@lru_cache(maxsize=1)
def recordings() -> dict[tuple[str, str], Recorded]:
    """Every recording by name, and backend with kind of device."""
    found = [_recorded(document) for document in _documents()]
    return {(item.head["name"], f"{item.head['backend']}-{item.head['device']['kind']}"): item for item in found}


def _documents() -> list[dict[str, Any]]:
    data = resources.files("sim.figures") / PACKED
    if data.is_file():
        documents: list[dict[str, Any]] = json.loads(data.read_text("utf-8"))
        return documents
    folder = resources.files("sim") / ".." / "site" / "recordings"
    if not folder.is_dir():
        return []
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda file: file.name)
    return [packed(json.loads(file.read_text("utf-8"))) for file in files]


def _recorded(document: dict[str, Any]) -> Recorded:
    scenario = parse_scenario(document["scenario"])
    trace = simulate(scenario)
    spreads = tuple(None if us is None else Spread(*us) for us in document["us"])
    return Recorded(document, scenario, trace, moments(trace, scenario.requests), spreads)
