"""How fast: each driver of the simulator beside the real scheduler, and a real hour.

python -m benchmarks.scheduler [--rounds N] [--azure FILE]

With `ORACLE_VENV=DIR` the real scheduler of that environment takes part; see `oracle/setup.sh`.
"""

import argparse
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.once import ROOT, in_own_process
from benchmarks.workloads import azure, saturated

DRIVERS = ("plain", "awake", "fast")
RATES = (1, 4, 10)
REAL = "vLLM"

Measurement = dict[str, Any]


def real_scheduler(folder: str) -> Callable[[dict[str, Any]], Measurement]:
    """What measures one run of the real scheduler; its process goes on until this one ends."""
    command = [str(Path(folder) / "bin" / "python"), "-m", "benchmarks.real"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )

    def measure(scenario: dict[str, Any]) -> Measurement:
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(scenario), file=process.stdin, flush=True)
        answer: Measurement = json.loads(process.stdout.readline())
        return answer

    return measure


def compare(rounds: int) -> None:
    """All of them on the saturated workload, one after the other in each round."""
    scenario = saturated()
    runs: dict[str, Callable[[], Measurement]] = {}
    folder = os.environ.get("ORACLE_VENV")
    if folder:
        real = real_scheduler(folder)
        runs[REAL] = lambda: real(scenario)
    for driver in DRIVERS:
        runs[driver] = lambda driver=driver: in_own_process(scenario, driver)  # type: ignore[misc]
    found: dict[str, list[Measurement]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            found[name].append(run())
    print("saturated: 2,000 requests, 256 at once, budget 8,192, 20,000 blocks")
    print(f"{'':<8}{'ms':>10}{'us/step':>10}{'M rs/s':>10}{'x vLLM':>10}{'kept MB':>8}")
    for name, measured in found.items():
        seconds = median(one["seconds"] for one in measured)
        steps, request_steps = measured[0]["steps"], measured[0]["request_steps"]
        ratios = [
            theirs["seconds"] / ours["seconds"] for theirs, ours in zip(found.get(REAL, ()), measured, strict=False)
        ]
        ratio = f"{median(ratios):.1f}" if ratios else "-"
        memory = "-" if name == REAL else f"{in_own_process(scenario, name, 'memory')['bytes'] / 1e6:.1f}"
        rate = request_steps / seconds / 1e6
        print(f"{name:<8}{seconds * 1e3:>10.1f}{seconds / steps * 1e6:>10.1f}{rate:>10.2f}{ratio:>10}{memory:>8}")
    print(f"{measured[0]['steps']:,} steps, {measured[0]['request_steps']:,} request-steps, {rounds} rounds, medians")


def read(rounds: int) -> None:
    """Each driver's trace of the same workload as JSON, without the reasons and with them."""
    print("\nall steps as JSON, ms")
    print(f"{'':<8}{'steps':>10}{'reasons too':>13}")
    scenario = saturated()
    for driver in DRIVERS:
        reads = [in_own_process(scenario, driver, "reading") for _ in range(rounds)]
        plainly, explained = (median(read[key] for read in reads) * 1e3 for key in ("plainly", "explained"))
        print(f"{driver:<8}{plainly:>10.1f}{explained:>13.1f}")


def hour(path: Path, rounds: int) -> None:
    """The Azure hour at several rates, its trace kept."""
    print("\nAzure conversation hour, in time on the default cost model")
    print(
        f"{'':<8}{'steps':>10}{'s':>8}{'kept MB':>9}{'all MB':>8}{'open p50 us':>13}{'max us':>9}{'first ms':>10}"
        f"{'summary s':>11}{'lanes s':>9}"
    )
    for rate in RATES:
        scenario = azure(path, rate)
        measured = [in_own_process(scenario, "fast") for _ in range(rounds)]
        best = {key: median(one[key] for one in measured) for key in measured[0]}
        memory = in_own_process(scenario, "fast", "memory")["bytes"]
        print(
            f"x{rate:<7}{best['steps']:>10,.0f}{best['seconds']:>8.2f}{memory / 1e6:>9.1f}"
            f"{best['peak_bytes'] / 1e6:>8.1f}{best['open_median'] * 1e6:>13.1f}{best['open_max'] * 1e6:>9.0f}"
            f"{best['open_first'] * 1e3:>10.1f}{best['summary']:>11.2f}{best['lanes']:>9.2f}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scheduler", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each")
    parser.add_argument("--azure", type=Path, metavar="FILE", help="AzureLLMInferenceTrace_conv.csv")
    options = parser.parse_args()
    compare(options.rounds)
    read(options.rounds)
    if options.azure:
        hour(options.azure, options.rounds)


if __name__ == "__main__":
    main()
