"""Runs a plan of the simulator on a model: ragged batches over a paged KV cache with the plan's own block ids.

The executor decides nothing. A step's work, its order and its block tables are the plan's; it keeps the tokens.
"""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from .attention import Attention, Batch
from .model import Model
from .plan import PlannedStep


class StepTimes(NamedTuple):
    """Nanoseconds of a step.

    Args:
        wall: from the plan to the sampled tokens, on the host's clock.
        cpu: of that, what this process computed; the rest is waiting, for a device or for its turn on the CPU.
        device: between two events on a CUDA device; `None` on a CPU.
    """

    wall: int
    cpu: int
    device: int | None


class Executor:
    """One run of a plan.

    Args:
        model: the weights.
        attention: how it attends.
        block_size, num_blocks: of the pool of keys and values; block ids are below `num_blocks`.
        prompts: token ids by request.
        is_proof: keys and values that were never written, or that belonged to a block's last owner, are NaN, so that
            any read of them spoils the logits.
    """

    def __init__(
        self,
        model: Model,
        attention: Attention,
        block_size: int,
        num_blocks: int,
        prompts: Mapping[str, Sequence[int]],
        *,
        is_proof: bool = False,
    ) -> None:
        shape = model.shape
        self.model, self.attention, self.block_size, self.is_proof = model, attention, block_size, is_proof
        self.tokens = {request_id: list(ids) for request_id, ids in prompts.items()}
        size = (shape.layers, num_blocks * block_size, 2, shape.kv_heads, shape.head_dim)
        fill = float("nan") if is_proof else 0.0
        self.pool = torch.full(size, fill, device=model.device, dtype=model.dtype)

    def step(self, planned: PlannedStep) -> tuple[dict[str, int], StepTimes]:
        """Run one step that has work.

        Returns:
            The sampled tokens by request, which are also appended to their sequences; and how long it took.

        Raises:
            ArithmeticError: a logit is not a number: something was read that had not been written.
        """
        if self.is_proof:
            self._poison(planned.empty_blocks)
        is_cuda = self.model.device.startswith("cuda")
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if is_cuda else []
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        if events:
            events[0].record()
        with torch.inference_mode():
            logits, best = self._forward(planned)
        if events:
            events[1].record()
        found: list[int] = best.tolist()
        wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        device = int(events[0].elapsed_time(events[1]) * 1_000_000) if events else None
        if self.is_proof and not bool(torch.isfinite(logits).all()):
            raise ArithmeticError(f"step {planned.step}: a logit is no number, so unwritten keys or values were read")
        sampled = {item.request_id: token for item, token in zip(planned.work, found, strict=True) if item.samples}
        for request_id, token in sampled.items():
            self.tokens[request_id].append(token)
        return sampled, StepTimes(wall, cpu, device)

    def _forward(self, planned: PlannedStep) -> tuple[torch.Tensor, torch.Tensor]:
        shape = self.model.shape
        ids = [id_ for item in planned.work for id_ in self.tokens[item.request_id][item.start : item.start + item.n]]
        batch = Batch(planned.work, self.block_size, self.model.device)
        self.attention.prepare(batch)

        def attend(layer: int, states: torch.Tensor) -> torch.Tensor:
            pool = self.pool[layer]
            pool[batch.slots] = states[:, shape.heads :].view(len(ids), 2, shape.kv_heads, shape.head_dim)
            return self.attention.attend(states[:, : shape.heads], pool).reshape(len(ids), -1)

        tensor = torch.tensor(ids, device=self.model.device)
        logits = self.model.forward(tensor, batch.positions, batch.last_rows, attend)
        return logits, logits.argmax(dim=-1)

    def _poison(self, blocks: Sequence[int]) -> None:
        for block in blocks:
            self.pool[:, block * self.block_size : (block + 1) * self.block_size] = float("nan")
