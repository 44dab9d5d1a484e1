"""A scheduler that somebody has edited: loaded from its text, run beside ours, and held against recorded traces.

The text takes the place of `sim/scheduler.py`. It is run as it is, so only where the one who wrote it wants that: in a
worker of the page that is ended when an edit does not return.
"""

import difflib
from collections.abc import Iterator, Mapping
from importlib.abc import InspectLoader
from importlib.util import module_from_spec, spec_from_loader
from itertools import zip_longest
from types import CodeType, TracebackType
from typing import Any, NamedTuple

from . import scheduler as ours
from .engine import simulate
from .errors import ConfigError
from .scenario import Scenario, parse_scenario
from .scheduler_state import SchedulerState
from .trace import Trace

FILE = "scheduler.py"
MODULE = "sim.scheduler"
CUT_STEPS = 200
"""Recorded steps of a livelock, whose trace is cut there."""

OURS_ONLY = {"order", "start_us", "step_us"}
"""Fields that a step of ours may add to a recorded one."""


class Fault(NamedTuple):
    """Why an edited scheduler could not run: the kind of error, its message, the line in its text if it has one."""

    kind: str
    message: str
    line: int | None


class Broken(Exception):
    """The text is no scheduler, or stopped with an error; `fault` tells where."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(fault.message)


class Parted(NamedTuple):
    """Where a trace leaves the recorded one: the step (`None` for the run as a whole), the field, both values."""

    step: int | None
    field: str
    ours: Any
    recorded: Any


class _Loader(InspectLoader):
    def __init__(self, text: str) -> None:
        self._text = text

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - there is one
        return self._text

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - likewise
        return self.source_to_code(self._text, FILE)

    def is_package(self, fullname: str) -> bool:  # noqa: ARG002 - it is none
        return False


def load(text: str) -> type[ours.Scheduler]:
    """The class `Scheduler` of a text.

    Raises:
        Broken: it cannot be compiled or run, or has no such class.
    """
    spec = spec_from_loader(MODULE, _Loader(text), origin=FILE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise Broken(Fault(type(error).__name__, error.msg, error.lineno)) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything may be wrong with an edit
        raise Broken(_fault(error)) from None
    found = getattr(module, "Scheduler", None)
    if not isinstance(found, type) or not issubclass(found, SchedulerState):
        raise Broken(Fault("NameError", "it must define the class Scheduler(SchedulerState)", None))
    # The run knows vLLM's own assertions by this class.
    vars(module)["VllmAssertion"] = ours.VllmAssertion
    return found  # type: ignore[return-value]


def run(edited: type[ours.Scheduler], scenario: Scenario) -> Trace:
    """The trace of a scenario under an edited scheduler.

    Raises:
        Broken: it stops with an error.
    """
    try:
        trace = simulate(scenario, driver="plain", scheduler=edited)
        # What it left in the steps must be what a trace can hold.
        trace.to_json(explain=True)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - likewise
        raise Broken(_fault(error)) from None
    return trace


def against_recording(edited: type[ours.Scheduler], recording: Mapping[str, Any]) -> Parted | None:
    """Where an edited scheduler leaves a recorded trace, or `None`.

    Args:
        edited: the scheduler.
        recording: `scenario` and `trace`, as the real scheduler ran it.

    Raises:
        Broken: it stops with an error.
    """
    trace = run(edited, parse_scenario(recording["scenario"])).to_json()
    recorded = recording["trace"]
    for field in ("error", "outcome", "unfinished"):
        if trace.get(field) != recorded.get(field) and not (trace.get("steps") and recorded.get("steps")):
            return Parted(None, field, trace.get(field), recorded.get(field))
    steps, recorded_steps = trace.get("steps", []), recorded.get("steps", [])
    if recorded.get("outcome") == "max_steps" and len(recorded_steps) == CUT_STEPS:
        steps = steps[:CUT_STEPS]
    for one, other in zip_longest(steps, recorded_steps):
        if one is None or other is None:
            return Parted(None, "steps", len(steps), len(recorded_steps))
        differs = _field_that_differs(one, other)
        if differs is not None:
            return Parted(other["step"], differs, one.get(differs), other.get(differs))
    if trace.get("outcome") != recorded.get("outcome"):
        return Parted(None, "outcome", trace.get("outcome"), recorded.get("outcome"))
    return None


def _field_that_differs(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    for field, recorded in other.items():
        mine = one.get(field)
        if mine != recorded or (isinstance(recorded, dict) and list(mine or ()) != list(recorded)):
            return field
    return next((field for field in one if field not in other and field not in OURS_ONLY), None)


def diff(before: str, after: str) -> Iterator[str]:
    """The lines of the difference of two texts, three lines around each change, without a head."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
    yield from list(lines)[2:]


def _fault(error: BaseException) -> Fault:
    """What happened, and the innermost line of the edited text that led to it."""
    line = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, ConfigError):
        return Fault("ConfigError", str(error), line)
    text = " ".join(str(error).split())
    return Fault(type(error).__name__, text or "without a message", line)
