"""A run as a trace of Chrome's tracing format, which ui.perfetto.dev and chrome://tracing open.

One track for each request, with a slice for each stretch of steps in which it did the same: `prefill`, `decode`, or
waiting, named after the reason. Counters show the tokens of each step, the free blocks and both queues; preemptions
are instants. Without simulated times, a step takes `STEP_US` on the axis.
"""

import json
from collections.abc import Iterator
from typing import Any

from ..scenario import Scenario
from ..trace import StepRecord, Trace

STEP_US = 1_000
"""Length of a step on the axis where the run has no times."""
PID = 1


def perfetto(trace: Trace, scenario: Scenario | None = None) -> str:
    """The trace as JSON, one event a line.

    Args:
        trace: of a run; read back from JSON it has no reasons, and waits are named `waiting` or `nothing`.
        scenario: what was run, for telling decodes from prefills; without it all that was computed is `scheduled`.
    """
    events = [json.dumps(event, separators=(",", ":")) for event in _events(trace, scenario)]
    return '{"displayTimeUnit":"ms","traceEvents":[\n' + ",\n".join(events) + "\n]}\n"


def _events(trace: Trace, scenario: Scenario | None) -> Iterator[dict[str, Any]]:
    tracks: dict[str, int] = {spec.id: index + 1 for index, spec in enumerate(scenario.requests)} if scenario else {}
    prompts = {spec.id: spec.prompt_tokens for spec in scenario.requests} if scenario else {}
    yield {"ph": "M", "pid": PID, "name": "process_name", "args": {"name": trace.name or "run"}}
    open_slices: dict[str, dict[str, Any]] = {}
    for record in trace.steps:
        start, length = _times(record)
        doing = dict(_doing(record, prompts))
        for request_id in [each for each in open_slices if doing.get(each, ("",))[0] != open_slices[each]["name"]]:
            yield open_slices.pop(request_id)
        for request_id, (name, tokens) in doing.items():
            track = tracks.setdefault(request_id, len(tracks) + 1)
            if request_id not in open_slices:
                first = {"first_step": record.step, "steps": 0, "tokens": 0}
                data = {"ph": "X", "pid": PID, "tid": track, "name": name, "ts": start, "dur": 0, "args": first}
                open_slices[request_id] = data
            piece = open_slices[request_id]
            piece["dur"] = start + length - piece["ts"]
            piece["args"]["steps"] += 1
            piece["args"]["tokens"] += tokens
        for request_id in record.preempted:
            instant = {"ph": "i", "pid": PID, "tid": tracks[request_id], "name": "preempted", "ts": start, "s": "t"}
            yield instant | {"args": {"step": record.step}}
        yield from _counters(record, start)
    yield from open_slices.values()
    for request_id, track in tracks.items():
        yield {"ph": "M", "pid": PID, "tid": track, "name": "thread_name", "args": {"name": request_id}}
        yield {"ph": "M", "pid": PID, "tid": track, "name": "thread_sort_index", "args": {"sort_index": track}}


def _times(record: StepRecord) -> tuple[int, int]:
    if record.start_us is None or record.step_us is None:
        return record.step * STEP_US, STEP_US
    return record.start_us, record.step_us


def _doing(record: StepRecord, prompts: dict[str, int]) -> Iterator[tuple[str, tuple[str, int]]]:
    """What each request that is there does in a step: a name, and its tokens."""
    for request_id, num_tokens in record.scheduled.items():
        before = record.computed[request_id] - num_tokens
        kind = "scheduled" if request_id not in prompts else "decode" if before >= prompts[request_id] else "prefill"
        yield request_id, (kind, num_tokens)
    why = record.why()
    for queue, name in ((record.running, "nothing"), (record.waiting, "waiting")):
        for request_id in queue:
            if request_id not in record.scheduled:
                reason = why.get(request_id)
                yield request_id, (f"{name}: {reason['code']}" if reason else name, 0)


def _counters(record: StepRecord, start: int) -> Iterator[dict[str, Any]]:
    values = {
        "scheduled_tokens": sum(record.scheduled.values()),
        "free_blocks": record.free_blocks,
        "sched_running_reqs": len(record.running),
        "sched_waiting_reqs": len(record.waiting),
    }
    for name, value in values.items():
        yield {"ph": "C", "pid": PID, "name": name, "ts": start, "args": {"value": value}}
