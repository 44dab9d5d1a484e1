"""Random scenarios on the real scheduler and on ours: how many are equal, and the smallest that is not.

python -m oracle.search --venv DIR --count 5000 --seed 1 --report FILE
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from oracle.client import HERE, RealScheduler
from sim import fast
from sim.engine import simulate
from sim.scenario import parse_scenario
from tests.golden.recordings import first_difference
from tests.strategies import scenarios

Json = dict[str, Any]

MAX_STEPS = 300
RUN = 500
"""So many scenarios come from one seed; the next ones from the next seed."""
MOST_MISMATCHES = 10


class Mismatch(AssertionError):
    """Our trace is not the real one."""


class Search:
    """Compares scenarios and remembers what it has seen.

    Args:
        ask: gives the real trace of a scenario, cut before a number of steps.
    """

    def __init__(self, ask: Callable[[Json, int], Json]) -> None:
        self._ask = ask
        self._seen: set[str] = set()
        self._shrinking = False
        self.by_feature: Counter[str] = Counter()
        self.mismatches: list[Json] = []

    @property
    def count(self) -> int:
        """Different scenarios compared."""
        return len(self._seen)

    def run(self, count: int, first_seed: int) -> None:
        """Compare at least `count` different scenarios, or stop at too many mismatches."""
        number = first_seed
        while self.count < count and len(self.mismatches) < MOST_MISMATCHES:
            self._run_seed(number)
            number += 1
            say(f"{self.count} compared, {len(self.mismatches)} unequal")

    def _run_seed(self, number: int) -> None:
        smallest: list[Json] = []
        self._shrinking = False

        @seed(number)
        @settings(
            max_examples=RUN,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        @given(scenarios())
        def compare(scenario: Json) -> None:
            difference = self.compare(scenario)
            if difference is not None:
                self._shrinking = True
                smallest[:] = [{"difference": difference, "scenario": scenario, "seed": number}]
                raise Mismatch(difference)

        try:
            compare()
        except Mismatch:
            self.mismatches += smallest
            say(json.dumps(smallest[0]))

    def compare(self, scenario: Json) -> str | None:
        """Where our trace of `scenario` leaves the real one."""
        real = self._ask(scenario, MAX_STEPS)
        key = json.dumps(scenario)
        if not self._shrinking and key not in self._seen:
            self._seen.add(key)
            self.by_feature.update(features(scenario, real))
        parsed = parse_scenario(scenario)
        drivers = ["plain", "awake", "fast"] if fast.applies(parsed) else ["plain"]
        for driver in drivers:
            ours = simulate(parsed, max_steps=MAX_STEPS, driver=driver).to_json()
            difference = first_difference(with_errors_sorted(ours), with_errors_sorted(real), MAX_STEPS)
            if difference is not None:
                return f"{driver}: {difference}"
        return None


def with_errors_sorted(trace: Json) -> Json:
    """The trace with those that end in an error (they generate nothing) in the order of their names.

    vLLM keeps them in a set: their order is that of hashes, another one in each process.
    """
    steps = []
    for step in trace.get("steps", ()):
        stopped = [request_id for request_id in step["finished"] if request_id in step["generated"]]
        steps.append({**step, "finished": stopped + sorted(set(step["finished"]) - set(stopped))})
    return {**trace, "steps": steps}


def features(scenario: Json, trace: Json) -> set[str]:
    """What a scenario has and what happens in its trace."""
    found = {key for key, value in scenario["config"].items() if value}
    found |= {key for request in scenario["requests"] for key, value in request.items() if value and key != "id"}
    found.add(f"outcome {trace.get('outcome', trace.get('error'))}")
    events = ("resumed", "preempted", "cached", "encoder", "spec")
    return found | {f"trace {event}" for step in trace.get("steps", ()) for event in events if step[event]}


def say(text: str) -> None:
    """A line for who is waiting."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def main() -> int:
    """Search, write the report; status 1 when a scenario was unequal."""
    parser = argparse.ArgumentParser(prog="python -m oracle.search", description=__doc__.partition("\n")[0])
    parser.add_argument("--venv", type=Path, default=HERE / ".venv", help="virtual environment with vLLM")
    parser.add_argument("--count", type=int, default=5000, help="scenarios to compare")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--report", type=Path, default=HERE / "report.json", help="file to write")
    options = parser.parse_args()
    with RealScheduler(options.venv) as real:
        search = Search(real.trace)
        search.run(options.count, options.seed)
    report = {
        "engine": real.engine,
        "seed": options.seed,
        "compared": search.count,
        "unequal": len(search.mismatches),
        "mismatches": search.mismatches,
        "by_feature": dict(search.by_feature.most_common()),
    }
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    say(f"{search.count} scenarios compared with {real.engine}, {len(search.mismatches)} unequal: {options.report}")
    return 1 if search.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
