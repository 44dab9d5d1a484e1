"""A trace read back from JSON, checked as far as a summary needs it."""

from collections.abc import Callable, Mapping
from typing import Any

from ..config import Refusal
from ..errors import ConfigError
from ..parameters import shown
from ..trace import StepRecord, Trace

MOST = 10**18
"""Larger counts are no counts."""


def is_trace(value: object) -> bool:
    """Whether a JSON value is meant as a trace rather than as a scenario."""
    return isinstance(value, Mapping) and ("steps" in value or "error" in value)


def parse_trace(data: Mapping[str, Any]) -> Trace:
    """A `Trace` from decoded JSON in the form of the contract; keys beyond it are left alone, `why` among them.

    Args:
        data: an object for which `is_trace` holds.

    Raises:
        ConfigError: the first field that is missing or wrong, by its path.
    """
    name = data.get("name")
    if name is not None and not isinstance(name, str):
        raise ConfigError("name", f"{shown(name)} is not allowed, must be a string")
    warnings = _ids(data.get("warnings", []), "warnings")
    if "error" in data:
        # Which field it is about, a refusal that was recorded elsewhere need not know.
        named = {"field": ""} | {key: value for key, value in data.items() if value is not None}
        refusal = Refusal(*(_string(named.get(key), key) for key in Refusal._fields))
        return Trace(name, "", (), (), tuple(warnings), refusal)
    outcome = _string(data.get("outcome"), "outcome")
    unfinished = _ids(data.get("unfinished"), "unfinished")
    steps = _list(data["steps"], "steps")
    records = tuple(_record(step, f"steps[{index}]") for index, step in enumerate(steps))
    for index, record in enumerate(records):
        if index and record.step <= records[index - 1].step:
            raise ConfigError(f"steps[{index}].step", f"{record.step} is not after {records[index - 1].step}")
    return Trace(name, outcome, tuple(unfinished), records, tuple(warnings))


def _record(data: object, path: str) -> StepRecord:
    if not isinstance(data, Mapping):
        raise ConfigError(path, f"{shown(data)} is not allowed, must be an object")
    fields = {}
    for name, check in _FIELDS.items():
        if name not in data:
            raise ConfigError(f"{path}.{name}", "missing, a step of a trace has this field")
        fields[name] = check(data[name], f"{path}.{name}")
    for name in ("start_us", "step_us"):
        if name in data:
            fields[name] = _count(data[name], f"{path}.{name}")
    absent = [request_id for request_id in fields["scheduled"] if request_id not in fields["computed"]]
    if absent:
        raise ConfigError(f"{path}.computed", f"{shown(absent[0])} is missing, it is in scheduled")
    return StepRecord(**fields, skipped={}, running_stop=None, waiting_stop=None, capped={})


def _count(value: object, path: str) -> int:
    if type(value) is int and 0 <= value <= MOST:
        return value
    raise ConfigError(path, f"{shown(value)} is not allowed, must be an integer from 0 to {MOST}")


def _string(value: object, path: str) -> str:
    if isinstance(value, str):
        return value
    raise ConfigError(path, f"{shown(value)} is not allowed, must be a string")


def _list(value: object, path: str) -> list[Any]:
    if isinstance(value, list):
        return value
    raise ConfigError(path, f"{shown(value)} is not allowed, must be a list")


def _ids(value: object, path: str) -> list[str]:
    return [_string(item, f"{path}[{index}]") for index, item in enumerate(_list(value, path))]


def _by_id(check: Callable[[object, str], Any]) -> Callable[[object, str], dict[str, Any]]:
    def checked(value: object, path: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ConfigError(path, f"{shown(value)} is not allowed, must be an object by request id")
        return {request_id: check(item, f"{path}.{request_id}") for request_id, item in value.items()}

    return checked


def _counts(value: object, path: str) -> list[int]:
    return [_count(item, f"{path}[{index}]") for index, item in enumerate(_list(value, path))]


_FIELDS: dict[str, Callable[[object, str], Any]] = {
    "step": _count,
    "scheduled": _by_id(_count),
    "new": _ids,
    "resumed": _ids,
    "preempted": _ids,
    "cached": _by_id(_count),
    "encoder": _by_id(_counts),
    "blocks": _by_id(_counts),
    "running": _ids,
    "waiting": _ids,
    "computed": _by_id(_count),
    "spec": _by_id(_count),
    "free_blocks": _count,
    "generated": _by_id(_count),
    "finished": _ids,
}
"""The fields of a step and what they hold."""
