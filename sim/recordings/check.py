"""A recording may be shown only if the simulator makes the same plan, step by step."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..engine import simulate
from ..errors import ConfigError
from ..parameter import shown
from ..scenario import parse_scenario
from ..trace import StepRecord, Trace
from .recording import Recording, parse_recording


def read_recordings(folder: Path) -> list[Recording]:
    """Every recording of a folder, by name, each checked against the simulator.

    Raises:
        ConfigError: the first that is not as it was recorded, or whose plan is not the simulator's.
    """
    return [read_recording(path) for path in sorted(folder.glob("*.json"))]


def read_recording(path: Path) -> Recording:
    """One recording, checked against the simulator.

    Raises:
        ConfigError: as `read_recordings`; its field begins with the file's name.
    """
    try:
        recording = parse_recording(path.read_bytes())
        check_plan(recording)
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror or error}") from None
    except ConfigError as error:
        raise ConfigError(f"{path.name}: {error.field}" if error.field else path.name, error.problem) from None
    return recording


def check_plan(recording: Recording) -> None:
    """Compare plan, block tables, preemptions, free blocks and who sampled with the simulator.

    Raises:
        ConfigError: the first step that differs, and in what.
    """
    trace = simulate(parse_scenario(recording.head["scenario"]))
    if trace.error is not None:
        raise ConfigError("scenario", f"vLLM refuses it: {trace.error.message}")
    for (record, tables), recorded in zip(with_tables(trace), recording.steps, strict=False):
        sampled = {request_id: recorded.sampled.get(request_id, -1) for request_id in record.generated}
        for key, value in {**expected_step(record, tables), "sampled": sampled}.items():
            found = getattr(recorded, key)
            if _ordered(found) != _ordered(value):
                problem = f"{key} is {shown(found)}, the simulator's is {shown(value)}"
                raise ConfigError(f"step {record.step}", problem)
    recorded_steps, steps = len(recording.steps), len(trace.steps)
    if recorded_steps != steps:
        raise ConfigError(f"step {min(recorded_steps, steps)}", f"{recorded_steps} steps, the simulator has {steps}")


def with_tables(trace: Trace) -> Iterator[tuple[StepRecord, dict[str, tuple[int, ...]]]]:
    """Each step of a trace with the block tables of all requests that hold blocks once it is planned."""
    tables: dict[str, tuple[int, ...]] = {}
    for record in trace.steps:
        for request_id in record.preempted:
            tables.pop(request_id, None)
        for request_id, gained in record.blocks.items():
            tables[request_id] = (*tables.get(request_id, ()), *gained)
        yield record, tables
        for request_id in record.finished:
            tables.pop(request_id, None)


def expected_step(record: StepRecord, tables: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """What the simulator says of a step, in the fields of a recording but for tokens and times."""
    return {
        "step": record.step,
        "plan": {rid: (record.computed[rid] - n, n) for rid, n in record.scheduled.items()},
        "blocks": {rid: tables[rid] for rid in record.scheduled},
        "preempted": list(record.preempted),
        "free_blocks": record.free_blocks,
    }


def _ordered(value: object) -> object:
    return list(value.items()) if isinstance(value, Mapping) else value
