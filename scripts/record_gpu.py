"""Runs the whole plan on one GPU in a budget of seconds, part by part: `python scripts/record_gpu.py -o FOLDER`.

Each part is written as soon as it is there, and a part whose file is there is not run again; so a run that was stopped
goes on where it was. A part that the rest of the budget does not hold is left out, and said to be. It needs torch and
Triton, nothing is downloaded. `--small` tries it on a CPU, much smaller.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sim.errors import ConfigError
from sim.hardware.gpu_plan import Scale, grid, scenarios
from sim.hardware.order import Order
from sim.hardware.shapes import SHAPES
from sim.recordings.check import check_plan
from sim.recordings.scenarios import SITE_SCENARIOS
from sim.scenario import parse_scenario

SECONDS = {
    "probe": 5,
    "grid": 20,
    "interference-512": 12,
    "interference-2048": 11,
    "interference-8192": 11,
    "prefix-off": 15,
    "prefix-on": 9,
    "preemption-512": 17,
    "burst": 8,
    "poisson-512": 27,
    "poisson-2048": 27,
    "long-context": 36,
}
"""What each part of the large model may take on an H200: three passes of what the time model says, and a fifth more."""
SITE_SECONDS = 3
"""The same for a scenario of the site on the small model, whose tokens are compared."""
START_SECONDS = 30
"""Import, weights, compiling."""
GRID_RUNS = 13


class Part(NamedTuple):
    """A piece of the plan: its name, what it may take, and what runs it and gives the text of its file."""

    name: str
    seconds: int
    run: Callable[[], str]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Record the whole plan on one GPU, part by part.")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="made if need be")
    parser.add_argument("--budget", type=int, default=290, metavar="SECONDS", help="for all parts (default 290)")
    parser.add_argument("--small", action="store_true", help="try it on a CPU: tiny model, short requests")
    options = parser.parse_args()
    started = time.monotonic()
    options.output.mkdir(parents=True, exist_ok=True)
    try:
        return run_parts(list(parts(options.small)), options.output, options.budget - START_SECONDS, started)
    except (ConfigError, ImportError) as error:
        sys.stderr.write(f"record_gpu: {error}\n")
        return 1


def run_parts(todo: list[Part], folder: Path, budget: int, started: float) -> int:
    """Run what is not there yet, in order; 0 when all of it is there."""
    left_out = []
    for part in todo:
        path = folder / f"{part.name}.json"
        left = budget - int(time.monotonic() - started)
        if path.exists():
            print(f"{part.name}: there already")
        elif left < part.seconds:
            left_out.append(part.name)
            print(f"{part.name}: left out, it may take {part.seconds} s and {left} s are left")
        else:
            began = time.monotonic()
            unfinished = path.with_suffix(".part")
            unfinished.write_text(part.run(), encoding="utf-8", newline="")
            unfinished.replace(path)
            print(f"{part.name}: {time.monotonic() - began:.1f} s of {part.seconds}", flush=True)
    if left_out:
        print(f"run it again for: {', '.join(left_out)}")
    return 2 if left_out else 0


def parts(is_small: bool) -> Iterator[Part]:
    """Tokens first: if they are wrong, times mean nothing. Then the grid, then the loads."""
    device = "cpu" if is_small else "cuda"
    scale = Scale(32, 8) if is_small else Scale()
    site = Order("torch", device, repeats=1 if is_small else 15, dropped=0 if is_small else 2)
    large = Order("torch", device, "tiny", repeats=1, dropped=0)
    if not is_small:
        large = Order("torch", device, "llama-3.1-8b", "bfloat16", repeats=3, dropped=0)
    recorders: dict[str, Any] = {}

    def recorded(order: Order, document: dict[str, Any]) -> str:
        recording = _recorder(recorders, order).record(document, parse_scenario(document))
        check_plan(recording)
        text: str = recording.to_text()
        return text

    for name, document in SITE_SCENARIOS.items():
        yield Part(f"{name}.torch-{device}", SITE_SECONDS, lambda document=document: recorded(site, document))  # type: ignore[misc]
    yield Part("probe", SECONDS["probe"], lambda: probe(device))
    yield Part("grid", SECONDS["grid"], lambda: run_grid(_recorder(recorders, large), scale))
    for document in scenarios(scale):
        seconds = SECONDS[document["name"]]
        yield Part(document["name"], seconds, lambda document=document: recorded(large, document))  # type: ignore[misc]


def _recorder(recorders: dict[str, Any], order: Order) -> Any:
    """One recorder a model: its weights are made once."""
    if order.model not in recorders or recorders[order.model].order != order:
        os.environ["OMP_NUM_THREADS"] = str(order.threads)
        from sim.hardware.torch_backend import TorchRecorder  # noqa: PLC0415 - it needs torch

        recorders[order.model] = TorchRecorder(order, SHAPES[order.model], 33_000 if order.device == "cuda" else 2048)
    return recorders[order.model]


def run_grid(recorder: Any, scale: Scale) -> str:
    """Each batch of the grid some times, on a pool whose content does not matter; times in ns."""
    from sim.hardware.single import run_batch  # noqa: PLC0415 - it needs torch

    rows = [
        {"batch": batch, "ns": run_batch(recorder.model, recorder.order.device, batch, GRID_RUNS)}
        for batch in grid(scale)
    ]
    head = {"model": recorder.shape.name, "dtype": recorder.order.dtype, "device": recorder.order.device}
    lines = ",\n".join(json.dumps(row) for row in rows)
    return f'{{"head": {json.dumps(head)},\n"rows": [\n{lines}\n]}}\n'


def probe(device: str) -> str:
    """What the device can do at best: bytes copied and operations of one large product, a second."""
    from sim.hardware.single import probe_device  # noqa: PLC0415 - it needs torch

    return json.dumps(probe_device(device)) + "\n"


if __name__ == "__main__":
    sys.exit(main())
