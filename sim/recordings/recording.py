"""A recording: what ran, on what, and per step its plan and its times. Integers only, sealed by a checksum.

The file is JSON in one fixed layout, a line for each step. Its last line is the SHA-256 of all that comes before it, so
a changed byte anywhere is noticed.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import ConfigError
from ..parameter import shown
from ..spread import Spread, spread_us

FORMAT = "batchloom recording 1"
BACKENDS = ("torch", "vllm")
DEVICES = ("cpu", "cuda")
HEAD: dict[str, type] = {
    "format": str,
    "name": str,
    "backend": str,
    "device": dict,
    "versions": dict,
    "model": dict,
    "config": dict,
    "scenario": dict,
    "recorded": str,
    "repeats": int,
    "dropped": int,
    "proof": dict,
}
"""Keys of the head and their types; `docs/hardware.md` says what each holds."""
STEP: dict[str, type] = {
    "step": int,
    "plan": dict,
    "blocks": dict,
    "preempted": list,
    "free_blocks": int,
    "sampled": dict,
    "ns": dict,
}


class RecordedStep(NamedTuple):
    """One step of a recording.

    Args:
        step: its index.
        plan: for each request in scheduling order the tokens computed before it, and those that it computes.
        blocks: the block table of each scheduled request, as far as the engine had handed it out.
        preempted: who lost its blocks in this step, sorted.
        free_blocks: blocks of the pool that were free once the step was planned.
        sampled: token ids that came out, by request.
        ns: nanoseconds of each repeat, by clock; empty in a step without work.
    """

    step: int
    plan: Mapping[str, tuple[int, int]]
    blocks: Mapping[str, tuple[int, ...]]
    preempted: Sequence[str]
    free_blocks: int
    sampled: Mapping[str, int]
    ns: Mapping[str, Sequence[int]]

    def spread_us(self, clock: str = "wall") -> Spread:
        """The spread of its times by one clock."""
        return spread_us(self.ns[clock])

    @property
    def batch(self) -> list[tuple[int, int]]:
        """The plan as `CostModel.step_us` takes it."""
        return list(self.plan.values())

    def to_json(self) -> dict[str, Any]:
        """The step as it stands in the file."""
        return {key: _plain(getattr(self, key)) for key in STEP}


@dataclass(frozen=True, slots=True)
class Recording:
    """A whole recording.

    Args:
        head: everything but the steps, by the keys of `HEAD`.
        steps: as many as the simulator's trace has.
    """

    head: Mapping[str, Any]
    steps: Sequence[RecordedStep]

    @property
    def key(self) -> str:
        """Backend and kind of device, such as `torch-cpu`."""
        return f"{self.head['backend']}-{self.head['device']['kind']}"

    @property
    def file_name(self) -> str:
        """What its file is called among the site's recordings."""
        return f"{self.head['name']}.{self.key}.json"

    def to_text(self) -> str:
        """The file."""
        lines = [f"{_dump(key)}: {_dump(self.head[key])},\n" for key in HEAD]
        steps = ",\n".join(_dump(step.to_json()) for step in self.steps)
        body = "{\n" + "".join(lines) + f'"steps": [\n{steps}\n],\n'
        return body + f'"checksum": "{_checksum(body)}"\n}}\n'


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple | list) else value


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def parse_recording(data: bytes) -> Recording:
    """A recording from the bytes of its file.

    Raises:
        ConfigError: what is wrong with it, beginning with the field or the step.
    """
    try:
        text = data.decode()
        document = json.loads(text, parse_float=_no_float, parse_constant=_no_float)
    except ConfigError:
        raise
    except (ValueError, RecursionError) as error:
        raise ConfigError("", f"is no JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ConfigError("format", f"must be {shown(FORMAT)}")
    _need(document, {**HEAD, "steps": list, "checksum": str}, "")
    head = {key: document[key] for key in HEAD}
    _check_head(head)
    steps = [_step(item, index, head["repeats"]) for index, item in enumerate(document["steps"])]
    recording = Recording(head, steps)
    if recording.to_text() != text:
        raise ConfigError("checksum", "does not belong to the file: it is not as it was recorded")
    return recording


def _no_float(text: str) -> None:
    raise ConfigError("", f"{text} is not allowed, a recording holds integers only")


def _need(data: object, keys: Mapping[str, type], path: str) -> None:
    """Check that `data` is an object with exactly these keys, of these types."""
    if not isinstance(data, dict):
        raise ConfigError(path, f"{shown(data)} is not allowed, must be an object")
    for key in data:
        if key not in keys:
            raise ConfigError(f"{path}{key}", f"unknown key, must be one of {', '.join(keys)}")
    for key, kind in keys.items():
        if type(data.get(key)) is not kind:
            given = shown(data[key]) + " is not allowed" if key in data else "missing"
            raise ConfigError(f"{path}{key}", f"{given}, must be of type {kind.__name__}")


def _check_head(head: Mapping[str, Any]) -> None:
    if head["backend"] not in BACKENDS:
        raise ConfigError("backend", f"{shown(head['backend'])} is not allowed, must be {' or '.join(BACKENDS)}")
    kind = head["device"].get("kind")
    if kind not in DEVICES:
        raise ConfigError("device.kind", f"{shown(kind)} is not allowed, must be {' or '.join(DEVICES)}")
    if head["repeats"] < 1:
        raise ConfigError("repeats", f"{head['repeats']} is not allowed, must be an integer from 1")


def _step(data: object, index: int, repeats: int) -> RecordedStep:
    path = f"steps[{index}]."
    _need(data, STEP, path)
    assert isinstance(data, dict)
    plan = {rid: _integers(pair, f"{path}plan.{rid}", 2) for rid, pair in data["plan"].items()}
    blocks = {rid: _integers(table, f"{path}blocks.{rid}") for rid, table in data["blocks"].items()}
    ns = {clock: _integers(times, f"{path}ns.{clock}", repeats) for clock, times in data["ns"].items()}
    if bool(plan) != ("wall" in ns):
        raise ConfigError(f"{path}ns", "must hold the clock wall, where the step has work and only there")
    _integers(list(data["sampled"].values()), f"{path}sampled")
    values = {**data, "plan": plan, "blocks": blocks, "ns": ns}
    return RecordedStep(**values)


def _integers(data: object, path: str, length: int | None = None) -> Any:
    if not isinstance(data, list) or not all(type(item) is int and item >= 0 for item in data):
        raise ConfigError(path, f"{shown(data)} is not allowed, must be a list of integers from 0")
    if length is not None and len(data) != length:
        raise ConfigError(path, f"{len(data)} integers, must be {length}")
    return tuple(data)
