"""A run as two tables: one row a step, one row a request. Commas, lines end in LF, names of columns have units."""

import csv
import io
from collections.abc import Iterable, Sequence

from ..scenario import Scenario
from ..tally import Tally
from ..trace import Trace

STEP_COLUMNS = (
    *("step", "start_us", "step_us", "scheduled_tokens", "scheduled_requests", "running", "waiting"),
    *("free_blocks", "generated_tokens", "new", "resumed", "preempted", "finished"),
)
REQUEST_COLUMNS = (
    *("id", "arrival_step", "arrival_us", "prompt_tokens", "output_tokens", "generated_tokens"),
    *("first_token_step", "finish_step", "first_token_us", "finish_us", "cached_tokens", "preemptions"),
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings that a spreadsheet would take for a formula."""


def steps_csv(trace: Trace) -> str:
    """One row for each step: times, tokens, both queues after `schedule()`, free blocks, who is concerned."""
    rows = (
        (
            *(record.step, record.start_us, record.step_us, sum(record.scheduled.values()), len(record.scheduled)),
            *(len(record.running), len(record.waiting), record.free_blocks, sum(record.generated.values())),
            *(" ".join(ids) for ids in (record.new, record.resumed, record.preempted, record.finished)),
        )
        for record in trace.steps
    )
    return _table(STEP_COLUMNS, rows)


def requests_csv(trace: Trace, scenario: Scenario | None = None) -> str:
    """One row for each request: what was asked for, when its first and last token came, hits, preemptions.

    Args:
        trace: of a run.
        scenario: what was run; without it the columns of what was asked for are empty.
    """
    tally = Tally()
    cached: dict[str, int] = {}
    preemptions: dict[str, int] = {}
    for record in trace.steps:
        tally.add(record)
        for request_id, num_tokens in record.cached.items():
            cached[request_id] = cached.get(request_id, 0) + num_tokens
        for request_id in record.preempted:
            preemptions[request_id] = preemptions.get(request_id, 0) + 1
    specs = {spec.id: spec for spec in scenario.requests} if scenario else {}
    in_time = any(record.start_us is not None for record in trace.steps[:1])
    rows = []
    for request_id in specs or tally.requests:
        spec, progress = specs.get(request_id), tally.requests.get(request_id)
        asked = (spec.arrival_step, spec.arrival_us, spec.prompt_tokens, spec.output_tokens) if spec else (None,) * 4
        moments = (progress.first_token, progress.finished) if progress else (None, None)
        steps = [moment and moment.step for moment in moments]
        times = [moment.end_us if moment and in_time else None for moment in moments]
        if spec and spec.arrival_us is not None:
            asked = (None, *asked[1:])
        counts = (cached.get(request_id, 0), preemptions.get(request_id, 0))
        rows.append((request_id, *asked, progress.num_outputs if progress else 0, *steps, *times, *counts))
    return _table(REQUEST_COLUMNS, rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return file.getvalue()


def _cell(value: object) -> object:
    """A text that would start a formula gets an apostrophe in front."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
