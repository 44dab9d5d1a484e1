"""One run of the simulator in a process of its own, so that its memory is its own.

JSON on standard input: `{"scenario", "driver", "what"}`; a measurement on standard output.
"""

import gc
import json
import random
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from sim.engine import simulate
from sim.metrics import summarize
from sim.sandbox.reading import read_lanes
from sim.scenario import parse_scenario
from sim.trace import Trace

ROOT = Path(__file__).resolve().parent.parent
NUM_OPENED = 500
MOST_STEPS_TO_COUNT = 20_000


def in_own_process(scenario: dict[str, Any], driver: str = "auto", what: str = "time") -> dict[str, Any]:
    """Measure one run in a new process: `time`, `memory`, or `reading` of all its steps."""
    question = json.dumps({"scenario": scenario, "driver": driver, "what": what})
    command = [sys.executable, "-m", "benchmarks.once"]
    done = subprocess.run(command, input=question, capture_output=True, text=True, check=True, cwd=ROOT)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def measure(document: dict[str, Any], driver: str) -> dict[str, Any]:
    """CPU time of `simulate`, the most memory of the process, and the time to read the trace: steps and the whole run.

    CPU time, because others use the machine too.
    """
    scenario = parse_scenario(document)
    gc.collect()
    start = time.process_time()
    trace = simulate(scenario, driver=driver)
    seconds = time.process_time() - start
    found = {"seconds": seconds, "peak_bytes": peak_bytes(), "steps": len(trace.steps)}
    if len(trace.steps) <= MOST_STEPS_TO_COUNT and not scenario.in_time:
        found["request_steps"] = sum(len(record.scheduled) for record in trace.steps)
    found["summary"] = _seconds(lambda: summarize(trace, scenario))
    found["lanes"] = _seconds(lambda: read_lanes(scenario, trace))
    return found | opened(trace)


def reading(document: dict[str, Any], driver: str) -> dict[str, float]:
    """CPU time to make all steps of a run JSON, without the reasons and with them."""
    trace = simulate(parse_scenario(document), driver=driver)

    def read(*, explain: bool) -> None:
        for record in trace.steps:
            record.to_json(explain)

    return {"plainly": _seconds(lambda: read(explain=False)), "explained": _seconds(lambda: read(explain=True))}


def _seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def kept(document: dict[str, Any], driver: str) -> dict[str, Any]:
    """Bytes that the trace of a run takes, counted by the interpreter, which slows the run down."""
    scenario = parse_scenario(document)
    gc.collect()
    tracemalloc.start()
    trace = simulate(scenario, driver=driver)
    gc.collect()
    return {"bytes": tracemalloc.get_traced_memory()[0], "steps": len(trace.steps)}


def opened(trace: Trace) -> dict[str, float]:
    """Seconds to open steps anywhere: the first, with which an index is made, then median and longest."""
    chance = random.Random(1)
    times = []
    for _ in range(NUM_OPENED + 1):
        index = chance.randrange(len(trace.steps))
        start = time.process_time()
        trace.steps[index]
        times.append(time.process_time() - start)
    return {"open_first": times[0], "open_median": median(times[1:]), "open_max": max(times[1:])}


def peak_bytes() -> int:
    """The most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    ways = {"time": measure, "memory": kept, "reading": reading}
    json.dump(ways[asked["what"]](asked["scenario"], asked["driver"]), sys.stdout)
