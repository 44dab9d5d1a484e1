"""`diff`: each scenario under its own configuration and under a changed one."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..compare import DECISIONS, Difference, first_difference
from ..engine import simulate
from ..errors import ConfigError
from ..parameter import Value, shown, value_of
from ..parameters import CONFIG, by_name
from ..scenario import parse_scenario
from ..trace import Trace
from .documents import Place
from .tables import INDENT, one_line
from .words import sentence

OPTION = "--config"
GIVEN = "as given"


def parse_settings(texts: list[str]) -> dict[str, Value]:
    """Keys of a configuration with their values, each from `KEY=VALUE`.

    Raises:
        ConfigError: no such key, a key twice, a value that its parameter does not accept.
    """
    rows = by_name(CONFIG)
    settings: dict[str, Value] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(OPTION, f"{shown(text)} is not allowed, must be KEY=VALUE")
        if key not in rows:
            raise ConfigError(f"{OPTION} {key}", f"unknown key, must be one of {', '.join(rows)}")
        if key in settings:
            raise ConfigError(f"{OPTION} {key}", "given twice, must be given once")
        settings[key] = rows[key].check(value_of(value), f"{OPTION} {key}")
    return settings


class Comparison:
    """One scenario, run twice: `left` as it is given, `right` with the changed configuration.

    Args:
        place: where it stands.
        value: the scenario as it was read.
        settings: what is changed in its configuration.
    """

    def __init__(self, place: Place, value: Any, settings: Mapping[str, Value]) -> None:
        scenario = place.parse(parse_scenario, value)
        changed = {**value, "config": {**value.get("config", {}), **settings}}
        self.name = scenario.name
        self.settings = settings
        self.left = simulate(scenario)
        self.right = simulate(place.parse(parse_scenario, changed))
        self.difference = first_difference(self.left, self.right)
        self.decision = first_difference(self.left, self.right, DECISIONS)

    def to_json(self) -> dict[str, Any]:
        """All of it, by name; `decision` is the first difference in what was decided, block ids and counts left out."""
        return {
            "name": self.name,
            "config": dict(self.settings),
            "refused": {"left": _refusal(self.left), "right": _refusal(self.right)},
            "difference": self.difference.to_json() if self.difference else None,
            "decision": self.decision.to_json() if self.decision else None,
        }

    def text(self) -> str:
        """All of it in lines to be read."""
        return "\n".join([one_line(self.name or "(no name)"), *(INDENT + line for line in self._lines()), ""])

    def _lines(self) -> Iterator[str]:
        changed = ", ".join(f"{key}={shown(value)}" for key, value in self.settings.items())
        width = max(len(GIVEN), len(changed)) + len(INDENT)
        names = (f"{GIVEN:<{width}}", f"{changed:<{width}}")
        if self.difference is None:
            yield f"no difference, {_outcome(self.left)}"
        elif self.difference.field == "error":
            yield from (name + _outcome(trace) for name, trace in zip(names, (self.left, self.right), strict=True))
        else:
            yield from _difference(self.difference, names)
            if self.decision is None:
                yield "no decision differs"
            elif self.decision != self.difference:
                yield from _difference(self.decision, names)


def _refusal(trace: Trace) -> dict[str, str] | None:
    return None if trace.error is None else trace.error._asdict()


def _outcome(trace: Trace) -> str:
    if trace.error is not None:
        return f"refused ({trace.error.error}): {trace.error.message}"
    return f"{len(trace.steps)} steps, {trace.outcome}"


def _difference(difference: Difference, names: tuple[str, str]) -> Iterator[str]:
    yield _headline(difference)
    sides = ((difference.left, difference.why_left), (difference.right, difference.why_right))
    for name, (value, _) in zip(names, sides, strict=True):
        yield name + (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    for name, (_, why) in zip(names, sides, strict=True):
        yield from (f"{name}{request_id}: {sentence(reason)}" for request_id, reason in why.items())


def _headline(difference: Difference) -> str:
    match difference.field:
        case "steps":
            return f"the same for {difference.step} steps, then one has ended; steps in all:"
        case "outcome":
            return f"the same for all {difference.step} steps, another outcome:"
        case field:
            return f"step {difference.step} is the first that differs in {field}:"
