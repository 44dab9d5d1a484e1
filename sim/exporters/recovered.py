"""What a trace alone tells of its requests, as far as a picture needs it."""

from dataclasses import replace

from ..config import Config
from ..parameters import MAX_TOKENS
from ..scenario import RequestSpec, Scenario
from ..trace import Trace


def recover(trace: Trace) -> tuple[Scenario, Trace]:
    """A scenario whose requests are there while the trace names them, and the trace with its steps numbered from 0.

    A prompt ends where the first token comes out; one that never ends is longer than any. Nothing is known of the
    configuration: it is the default, and no picture may tell of it.
    """
    steps = [replace(record, step=index, start_us=None, step_us=None) for index, record in enumerate(trace.steps)]
    there: dict[str, tuple[int, int]] = {}
    prompts: dict[str, int] = {}
    for record in steps:
        for request_id in (*record.scheduled, *record.running, *record.waiting, *record.preempted):
            first, _ = there.get(request_id, (record.step, 0))
            there[request_id] = first, record.step
        for request_id in record.generated:
            prompts.setdefault(request_id, record.computed.get(request_id, MAX_TOKENS))
    specs = (
        RequestSpec(request_id, index, prompts.get(request_id, MAX_TOKENS), 1, first, abort_step=last + 1)
        for index, (request_id, (first, last)) in enumerate(there.items())
    )
    return Scenario(trace.name, Config(), tuple(specs)), replace(trace, steps=steps)


def pool_of(trace: Trace) -> int:
    """Blocks of the pool, as far as the trace shows them: all of them if it begins with the run."""
    if not trace.steps:
        return 0
    first = trace.steps[0]
    given = {block for blocks in first.blocks.values() for block in blocks}
    return max(first.free_blocks + len(given), *(record.free_blocks for record in trace.steps))
