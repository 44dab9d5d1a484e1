"""Attention over the paged pool in one Triton kernel: decodes and chunks of a ragged batch share its code.

A program takes a tile of rows, which are tokens times the query heads of one key-value head, and goes through the keys
that these may see, block by block, with a running softmax in float32. Long contexts are split among programs; a softmax
over the parts puts them together. Reads that are masked give 0, so what was never written cannot leak.
"""

import torch
import triton
import triton.language as tl

from .attention import Batch
from .shapes import Shape

SMALLEST_TILE, LARGEST_TILE = 16, 128
KEYS = 64
"""Keys that a program reads at a time."""
PROGRAMS, MOST_SPLITS, KEYS_OF_SPLIT = 264, 16, 256
"""So many programs fill a large GPU; at most so many splits; and keys that make a split worth it."""


@triton.jit
def _added(query, key, value, visible, scale, top, total, found):  # type: ignore[no-untyped-def] # likewise
    """The running softmax with some more keys: its largest score, its sum, and what it found."""
    score = tl.where(visible, tl.dot(query, key, input_precision="ieee") * scale, float("-inf"))
    higher = tl.maximum(top, tl.max(score, 1))
    safe = tl.where(higher == float("-inf"), 0.0, higher)
    weight, shrink = tl.exp(score - safe[:, None]), tl.exp(top - safe)
    found = found * shrink[:, None] + tl.dot(weight.to(value.dtype), value, input_precision="ieee")
    return higher, total * shrink + tl.sum(weight, 1), found


# fmt: off
@triton.jit  # type: ignore[untyped-decorator] # its types are not read
def _kernel(  # type: ignore[no-untyped-def] # pointers and constants of the kernel
    queries, pool, out, sums, tables, tiles, requests, table_length, num_tokens, scale,
    QUERY_STRIDE: tl.constexpr, KV_HEADS: tl.constexpr, GROUP: tl.constexpr, GROUP_ROWS: tl.constexpr,
    HEAD: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr, KEYS: tl.constexpr, SPLITS: tl.constexpr,
):
    # fmt: on
    kv_head, split = tl.program_id(1), tl.program_id(2)
    request = tl.load(tiles + 2 * tl.program_id(0))
    first = tl.load(tiles + 2 * tl.program_id(0) + 1)
    row, start, n = (tl.load(requests + 3 * request + i) for i in tl.static_range(3))
    rows, dims = tl.arange(0, TILE), tl.arange(0, HEAD)
    token, member = first + rows // GROUP_ROWS, rows % GROUP_ROWS
    is_row = (token < n) & (member < GROUP)
    head = kv_head * GROUP + member
    query = tl.load(
        queries + ((row + token) * QUERY_STRIDE + head * HEAD)[:, None] + dims, mask=is_row[:, None], other=0.0
    )
    context = start + tl.minimum(first + TILE // GROUP_ROWS, n)
    share = tl.cdiv(tl.cdiv(context, KEYS), SPLITS) * KEYS
    low = split * share
    high = tl.minimum(low + share, context)
    top = tl.full((TILE,), float("-inf"), tl.float32)
    total = tl.zeros((TILE,), tl.float32)
    found = tl.zeros((TILE, HEAD), tl.float32)
    for begin in range(low, high, KEYS):
        place = begin + tl.arange(0, KEYS)
        is_key = place < high
        block = tl.load(tables + request * table_length + place // BLOCK, mask=is_key, other=0).to(tl.int64)
        at = (((block * BLOCK + place % BLOCK) * 2) * KV_HEADS + kv_head) * HEAD
        key = tl.load(pool + at[None, :] + dims[:, None], mask=is_key[None, :], other=0.0)
        visible = is_key[None, :] & (place[None, :] <= (start + token)[:, None])
        value = tl.load(pool + (at + KV_HEADS * HEAD)[:, None] + dims[None, :], mask=is_key[:, None], other=0.0)
        top, total, found = _added(query, key, value, visible, scale, top, total, found)
    at = (split * num_tokens + row + token) * (KV_HEADS * GROUP) + head
    whole = tl.where(total > 0.0, total, 1.0)
    tl.store(out + (at * HEAD)[:, None] + dims, found / whole[:, None], mask=is_row[:, None])
    if SPLITS > 1:
        tl.store(sums + at, tl.where(total > 0.0, top + tl.log(whole), float("-inf")), mask=is_row)


class PagedAttention:
    """The kernel with what it needs to know of a step.

    Args:
        shape: of the model; `head_dim` is a power of two, at least 16.
        splits: into how many parts a context is split; left out, as many as fill the device.
    """

    name = "paged"

    def __init__(self, shape: Shape, splits: int | None = None) -> None:
        self.shape, self.group, self._splits = shape, shape.heads // shape.kv_heads, splits
        self.group_rows = 1 << (self.group - 1).bit_length()
        self.splits = self.tile = self.block_size = self.num_tiles = 0
        self.tables: torch.Tensor
        self.tiles: torch.Tensor
        self.requests: torch.Tensor

    def prepare(self, batch: Batch) -> None:
        longest = max(item.n for item in batch.work) * self.group_rows
        self.block_size = batch.block_size
        self.tile = min(max(1 << (longest - 1).bit_length(), SMALLEST_TILE), LARGEST_TILE)
        per_tile = max(self.tile // self.group_rows, 1)
        tiles = [(i, first) for i, item in enumerate(batch.work) for first in range(0, item.n, per_tile)]
        width = max(len(item.blocks) for item in batch.work)
        tables = [[*item.blocks, *[0] * (width - len(item.blocks))] for item in batch.work]
        rows = [(row, item.start, item.n) for row, item in zip(batch.first_rows, batch.work, strict=True)]
        self.tables, self.tiles, self.requests = (
            torch.tensor(data, dtype=torch.int32, device=batch.device) for data in (tables, tiles, rows)
        )
        self.num_tiles = len(tiles)
        if self._splits is None:
            context = max(item.start + item.n for item in batch.work)
            wanted = PROGRAMS // (self.num_tiles * self.shape.kv_heads)
            self.splits = max(1, min(wanted, MOST_SPLITS, -(-context // KEYS_OF_SPLIT)))
        else:
            self.splits = self._splits

    def attend(self, queries: torch.Tensor, pool: torch.Tensor) -> torch.Tensor:
        num_tokens, heads, size = queries.shape
        is_split = self.splits > 1
        out_type = torch.float32 if is_split else queries.dtype
        out = torch.empty((self.splits, num_tokens, heads, size), device=queries.device, dtype=out_type)
        sums = torch.empty((self.splits, num_tokens, heads), device=queries.device) if is_split else out
        _kernel[self.num_tiles, self.shape.kv_heads, self.splits](
            queries,
            pool,
            out,
            sums,
            self.tables,
            self.tiles,
            self.requests,
            self.tables.shape[1],
            num_tokens,
            size**-0.5,
            QUERY_STRIDE=queries.stride(0),
            KV_HEADS=self.shape.kv_heads,
            GROUP=self.group,
            GROUP_ROWS=self.group_rows,
            HEAD=size,
            BLOCK=self.block_size,
            TILE=self.tile,
            KEYS=KEYS,
            SPLITS=self.splits,
        )
        if not is_split:
            return out[0]
        return (out * sums.softmax(dim=0)[..., None]).sum(dim=0).to(queries.dtype)
