"""The run that the sandbox shows: a scenario put together from the form, its trace, and what is read from it."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import engine
from ..diagnosis import Finding, diagnose
from ..errors import ConfigError
from ..metrics import Summary, summarize
from ..parameter import Value
from ..parameters import CONFIG
from ..residency import FOR_EVER
from ..scenario import Scenario, parse_scenario
from ..trace import Trace
from .lanes import Lanes
from .pool import PoolWatch
from .reading import read_lanes

KEPT_RUNS = 4


class RefusedRun(ConfigError):
    """A configuration that vLLM refuses; `finding` says what to change."""

    def __init__(self, field: str, problem: str, finding: Finding) -> None:
        self.finding = finding
        super().__init__(field, problem)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A scenario and all that is known of its run. `watch` goes along to where somebody looks at the blocks.

    A run is equal to itself alone: pictures of it are kept by it.
    """

    scenario: Scenario
    trace: Trace
    lanes: Lanes
    summary: Summary
    watch: PoolWatch

    @property
    def budget(self) -> int:
        """Tokens that a step may give out."""
        return self.scenario.config.token_budget

    @property
    def usable_blocks(self) -> int:
        """Blocks of the pool without the one that vLLM keeps for itself."""
        return self.scenario.config.num_gpu_blocks - 1

    @property
    def num_steps(self) -> int:
        """Steps of the run."""
        return len(self.trace.steps)


def document(values: Mapping[str, Value]) -> dict[str, Any]:
    """The scenario that the form describes, in the form of the contract; keys that are as the table has them left out.

    Raises:
        ConfigError: the requests are no JSON.
    """
    return {"name": str(values["name"]), "config": config_of(values), "requests": _requests(str(values["requests"]))}


def config_of(values: Mapping[str, Value]) -> dict[str, Value]:
    """The configuration that the form describes; keys that are as the table has them left out."""
    return {row.name: values[row.name] for row in CONFIG if values[row.name] != row.default}


def _requests(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError("requests", f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise ConfigError("requests", "too many brackets inside each other") from error


Key = tuple[str, str, str]
"""What a run depends on: the name, the configuration as JSON, the requests as JSON."""


class Runs:
    """The latest runs, so that another look at one costs nothing, and the one that is under way.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Key, Run] = OrderedDict()
        self._under_way: tuple[Key, Scenario, engine.Run] | None = None

    def advance(self, key: Key, num_requests: int) -> engine.Progress | None:
        """Take a run further, from the start if it is not the one under way, which is then given up.

        Returns:
            How far it is; `None` when it is there.

        Raises:
            ConfigError: no scenario, or one that vLLM refuses.
        """
        if key in self._kept:
            self._kept.move_to_end(key)
            return None
        if self._under_way is None or self._under_way[0] != key:
            name, config, requests = key
            scenario = parse_scenario({"name": name, "config": json.loads(config), "requests": _requests(requests)})
            self._under_way = key, scenario, engine.Run(scenario)
        _, scenario, run = self._under_way
        if not run.advance(num_requests):
            return run.progress
        self._under_way = None
        self._kept[key] = _finished(scenario, run.trace)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return None

    def get(self, key: Key) -> Run:
        """A run, taken to its end; raises as `advance`."""
        self.advance(key, FOR_EVER)
        return self._kept[key]


def _finished(scenario: Scenario, trace: Trace) -> Run:
    if trace.error is not None:
        [finding] = diagnose(scenario, trace)
        raise RefusedRun(trace.error.field, trace.error.reason, finding)
    return Run(scenario, trace, read_lanes(scenario, trace), summarize(trace, scenario), PoolWatch(scenario))


RUNS = Runs(KEPT_RUNS)


def key_of(values: Mapping[str, Value], config: str | None = None) -> Key:
    """What the run of the form depends on; with its requests under another configuration, if one is given as JSON."""
    return str(values["name"]), json.dumps(config_of(values)) if config is None else config, str(values["requests"])


def run_of(values: Mapping[str, Value]) -> Run:
    """The run for the values of the form.

    Raises:
        ConfigError: no scenario, or one that vLLM refuses.
    """
    return RUNS.get(key_of(values))
