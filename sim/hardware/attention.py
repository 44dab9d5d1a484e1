"""Attention over a paged pool of keys and values, for a ragged batch: the reference, which runs on every device."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch.nn import functional

from .plan import Work
from .shapes import Shape


class Batch:
    """One step's work as tensors, made once and used by every layer.

    Args:
        work: of the step, not empty.
        block_size: tokens in a block.
        device: where the tensors go.
    """

    def __init__(self, work: Sequence[Work], block_size: int, device: str) -> None:
        self.work, self.block_size, self.device = work, block_size, device
        self.slots_of = [_slots(item.blocks, item.start + item.n, block_size) for item in work]
        new = [slot for item, slots in zip(work, self.slots_of, strict=True) for slot in slots[item.start :]]
        self.slots = torch.tensor(new, device=device)
        self.positions = torch.tensor(
            [position for item in work for position in range(item.start, item.start + item.n)], device=device
        )
        ends, total = [], 0
        for item in work:
            total += item.n
            ends.append(total)
        self.first_rows = [end - item.n for end, item in zip(ends, work, strict=True)]
        self.last_rows = torch.tensor([end - 1 for end in ends], device=device)


def _slots(blocks: Sequence[int], length: int, block_size: int) -> list[int]:
    """The place of each token in the pool."""
    return [blocks[i // block_size] * block_size + i % block_size for i in range(length)]


class Attention(Protocol):
    """Attention of one layer, once the step's own keys and values are in the pool."""

    name: str

    def prepare(self, batch: Batch) -> None:
        """Called once a step, before its first layer."""

    def attend(self, queries: torch.Tensor, pool: torch.Tensor) -> torch.Tensor:
        """The result for `queries`, `[tokens, heads, head_dim]`, over `pool`, `[slots, 2, kv_heads, head_dim]`."""


class Reference:
    """One call of torch's own attention for each request, over keys and values gathered from their blocks."""

    name = "reference"

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.batch: Batch
        self.slots: list[torch.Tensor] = []
        self.masks: list[torch.Tensor | None] = []

    def prepare(self, batch: Batch) -> None:
        self.batch = batch
        self.slots = [torch.tensor(slots, device=batch.device) for slots in batch.slots_of]
        self.masks = [_mask(item, batch.device) for item in batch.work]

    def attend(self, queries: torch.Tensor, pool: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(queries)
        lines = zip(self.batch.work, self.batch.first_rows, self.slots, self.masks, strict=True)
        for item, row, slots, mask in lines:
            keys, values = (part.transpose(0, 1)[None] for part in pool[slots].unbind(1))
            mine = queries[row : row + item.n].transpose(0, 1)[None]
            found = functional.scaled_dot_product_attention(mine, keys, values, attn_mask=mask, enable_gqa=True)
            out[row : row + item.n] = found[0].transpose(0, 1)
        return out


def _mask(item: Work, device: str) -> torch.Tensor | None:
    """Which keys each token of a chunk may see; a single token sees all."""
    if item.n == 1:
        return None
    keys = torch.arange(item.start + item.n, device=device)
    return keys <= keys[item.start :, None]
