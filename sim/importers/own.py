"""Our own files: a scenario as it is, and a trace as the requests that it shows."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import ConfigError
from ..parameters import shown
from ..scenario import parse_scenario
from .importer import Imported, Importer
from .json_items import Item, items


def detect_scenario(head: str) -> bool:
    """Whether this is a scenario, or several of them."""
    return head.lstrip()[:1] in {"{", "["} and '"requests"' in head and '"steps"' not in head


def detect_trace(head: str) -> bool:
    """Whether this is a trace, or several of them."""
    return head.lstrip()[:1] in {"{", "["} and '"steps"' in head and '"scheduled"' in head


def read_scenario(lines: Iterable[str], rows: int | None = None) -> Imported:
    """The first scenario of a file, its first requests.

    Raises:
        ConfigError: none, or one with a fault.
    """
    item, imported = _first(lines, "scenario", "requests")
    parse_scenario(item.value)
    imported.config = dict(item.value.get("config") or {})
    imported.requests = list(item.value["requests"])[:rows]
    imported.rows = len(imported.requests)
    if isinstance(item.value.get("name"), str):
        imported.found["name"] = item.value["name"]
    return imported


def read_trace(lines: Iterable[str], rows: int | None = None) -> Imported:
    """The requests that a trace shows: when they came, what was computed before their first token, what they generated.

    Its configuration is not in a trace.

    Raises:
        ConfigError: no trace.
    """
    item, imported = _first(lines, "trace", "steps")
    steps = item.value["steps"]
    if not isinstance(steps, list) or any(not isinstance(step, dict) for step in steps):
        raise ConfigError("steps", f"{shown(steps)} is not allowed, must be a list of steps")
    shown_first: dict[str, dict[str, Any]] = {}
    for index, step in enumerate(steps):
        try:
            _follow(shown_first, step, step.get("step", index))
        except (TypeError, AttributeError, ValueError):
            raise ConfigError(f"steps[{index}]", f"{shown(step)} is not allowed, must be a step of a trace") from None
    for request_id, request in list(shown_first.items())[:rows]:
        imported.rows += 1
        if request["prompt_tokens"] and request["output_tokens"]:
            imported.requests.append({"id": request_id, **request})
        else:
            imported.leave_out(item.line, f"request {shown(request_id)} has generated nothing: its length is not known")
    if not imported.requests:
        raise ConfigError("steps", "no request has generated a token, their lengths are not known")
    for index, step in enumerate(steps):
        time = step.get("start_us", step.get("step", index))
        for name, key in (("num_requests_running", "running"), ("num_requests_waiting", "waiting")):
            imported.point(name, time, len(step.get(key, ())))
    imported.note("no_config")
    return imported


def _follow(found: dict[str, dict[str, Any]], step: Mapping[str, Any], number: int) -> None:
    for request_id in (*step.get("running", ()), *step.get("waiting", ()), *step.get("scheduled", {})):
        start = {"arrival_us": step["start_us"]} if "start_us" in step else {"arrival_step": number}
        found.setdefault(request_id, start | {"prompt_tokens": 0, "output_tokens": 0})
    for request_id, tokens in step.get("generated", {}).items():
        request = found.get(request_id)
        if request is None or not tokens:
            continue
        if not request["output_tokens"]:
            request["prompt_tokens"] = int(step["computed"].get(request_id, 0))
        request["output_tokens"] += int(tokens)


def _first(lines: Iterable[str], what: str, key: str) -> tuple[Item, Imported]:
    imported = Imported(what, {})
    found: Item | None = None
    for item in items(lines):
        if found is not None:
            imported.leave_out(item.line, f"another {what}, only the first is read")
        elif item.why:
            raise ConfigError(str(item.line), item.why)
        elif not isinstance(item.value, dict) or key not in item.value:
            raise ConfigError(str(item.line), f"{shown(item.value)} is no {what}, must be an object with {key}")
        else:
            found = item
    if found is None:
        raise ConfigError("", f"is empty, must hold a {what}")
    return found, imported


SCENARIO = Importer("scenario", "a scenario of ours (JSON)", detect_scenario, read_scenario)
TRACE = Importer("trace", "a trace of ours: the requests that it shows (JSON)", detect_trace, read_trace)
