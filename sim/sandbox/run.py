"""The run that the sandbox shows: a scenario put together from the form, its trace, and what is read from it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..engine import simulate
from ..errors import ConfigError
from ..metrics import Summary, summarize
from ..parameter import Value
from ..parameters import CONFIG
from ..scenario import Scenario, parse_scenario
from ..trace import Trace
from .lanes import Lanes
from .pool import PoolWatch
from .reading import read_lanes

CONFIG_NAMES = tuple(parameter.name for parameter in CONFIG)
KEPT_RUNS = 4


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


def run_of(values: Mapping[str, Value]) -> Run:
    """The run for the values of the form.

    Raises:
        ConfigError: no scenario, or one that vLLM refuses.
    """
    return run_under(values, json.dumps(config_of(values)))


def run_under(values: Mapping[str, Value], config: str) -> Run:
    """The run of the form's requests under another configuration, as JSON.

    The latest few runs are kept, so that another look at one costs nothing.

    Raises:
        ConfigError: no scenario, or one that vLLM refuses.
    """
    return _run(str(values["name"]), config, str(values["requests"]))


@lru_cache(maxsize=KEPT_RUNS)
def _run(name: str, config: str, requests: str) -> Run:
    scenario = parse_scenario({"name": name, "config": json.loads(config), "requests": _requests(requests)})
    trace = simulate(scenario)
    if trace.error is not None:
        raise ConfigError(trace.error.field, trace.error.message.removeprefix("Value error, "))
    return Run(scenario, trace, read_lanes(scenario, trace), summarize(trace, scenario), PoolWatch(scenario))
