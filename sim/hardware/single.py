"""Single batches and single operations on a device, timed: what a time model is fitted to, and what bounds it."""

import time
from collections.abc import Callable, Sequence

import torch

from .executor import Executor
from .model import Model
from .plan import PlannedStep, Work
from .torch_backend import attention_for, device_name, num_blocks

BLOCK_SIZE = 16
WARM_UP = 3
COPY_BYTES, PRODUCT = {"cpu": 1 << 26, "cuda": 1 << 32}, {"cpu": 512, "cuda": 8192}


def run_batch(model: Model, device: str, batch: Sequence[tuple[int, int]], runs: int) -> dict[str, list[int]]:
    """Time one batch.

    Args:
        model: what computes it.
        device: `cpu` or `cuda`.
        batch: for each request tokens computed before, and tokens to compute.
        runs: how often; the first few are left out of the result.

    Returns:
        Nanoseconds by clock, as in `StepTimes`.
    """
    work, next_block = [], 1
    for place, (start, n) in enumerate(batch):
        blocks = -(-(start + n) // BLOCK_SIZE)
        # It samples nothing: the same tokens are computed again and again.
        work.append(Work(str(place), start, n, samples=False, blocks=tuple(range(next_block, next_block + blocks))))
        next_block += blocks
    step = PlannedStep(0, tuple(work), ())
    prompts = {item.request_id: [place % 1000] * (item.start + item.n) for place, item in enumerate(work)}
    executor = Executor(model, attention_for(model.shape, device), BLOCK_SIZE, num_blocks([step]), prompts)
    times = [executor.step(step)[1] for _ in range(runs)][min(WARM_UP, runs - 1) :]
    clocks = {"wall": [item.wall for item in times], "cpu": [item.cpu for item in times]}
    on_device = [item.device for item in times if item.device is not None]
    return clocks | ({"device": on_device} if on_device else {})


def probe_device(device: str) -> dict[str, int | str]:
    """Bytes per second of a copy (read and written) and operations per second of a square product, as integers."""
    half = torch.bfloat16 if device == "cuda" else torch.float32
    source = torch.zeros(COPY_BYTES[device], dtype=torch.uint8, device=device)
    target, side = torch.empty_like(source), PRODUCT[device]
    matrix = torch.randn(side, side, device=device, dtype=half)
    copy_ns = _best_ns(device, lambda: target.copy_(source))
    product_ns = _best_ns(device, lambda: matrix @ matrix)
    return {
        "device": device_name(device),
        "copy_bytes_per_s": 2 * COPY_BYTES[device] * 1_000_000_000 // copy_ns,
        "product_flop_per_s": 2 * side**3 * 1_000_000_000 // product_ns,
    }


def _best_ns(device: str, do: Callable[[], object]) -> int:
    best = 0
    for _ in range(10):
        started = time.perf_counter_ns()
        do()
        if device == "cuda":
            torch.cuda.synchronize()
        took = time.perf_counter_ns() - started
        best = min(best, took) if best else took
    return max(best, 1)
