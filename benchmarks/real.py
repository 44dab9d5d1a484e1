"""The real scheduler alone, for comparison; runs in the environment that `oracle/setup.sh` makes.

A scenario on each line of standard input; on each line of the output the seconds of CPU of its `schedule()` and
`update_from_output()`, of its steps alone: making the requests is not measured.
"""

import json
import sys
import time
from typing import Any

from vllm.v1.outputs import ModelRunnerOutput

from oracle.server import DEFAULTS, Recorder


def measure(scenario: dict[str, Any]) -> dict[str, float]:
    """Run all requests, which are there from the beginning."""
    recorder = Recorder(scenario | {"config": DEFAULTS | scenario["config"]})
    scheduler = recorder.scheduler
    for spec in recorder.specs:
        scheduler.add_request(recorder.request(spec))
    steps = request_steps = 0
    start = time.process_time()
    while scheduler.has_requests():
        output = scheduler.schedule()
        ids = list(output.num_scheduled_tokens)
        scheduler.update_from_output(
            output,
            ModelRunnerOutput(
                req_ids=ids,
                req_id_to_index={request_id: i for i, request_id in enumerate(ids)},
                sampled_token_ids=[[] if scheduler.requests[name].is_prefill_chunk else [5] for name in ids],
                logprobs=None,
                prompt_logprobs_dict={},
                pooler_output=[],
            ),
        )
        steps += 1
        request_steps += len(ids)
    return {"seconds": time.process_time() - start, "steps": steps, "request_steps": request_steps}


if __name__ == "__main__":
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        print(json.dumps(measure(json.loads(line))), file=answers, flush=True)
