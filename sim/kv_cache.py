"""KV blocks: the pool with its free queue, the blocks of each request, the prefix cache.

Source: `vllm/v1/core/block_pool.py::BlockPool`, `kv_cache_manager.py::KVCacheManager` and
`single_type_kv_cache_manager.py::FullAttentionManager`, for one group of full-attention layers.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .config import Config
from .prefix_hash import BlockHasher
from .request import Request, RequestStatus

NO_BLOCKS: tuple[int, ...] = ()


class NoFreeBlocks(NamedTuple):
    """A refused allocation: blocks needed, blocks free, blocks to be kept free. vLLM returns `None` here."""

    needs: int
    free: int
    watermark: int


class BlockPool:
    """All KV blocks. Block 0 is the null block and never handed out.

    vLLM's free queue is one linked list: blocks without a hash come back to its front, blocks with a hash to its end,
    and new owners take from the front. So its order is always: returned blocks, newest first; blocks never used, by
    number; cached blocks, least recently freed first. Here these are three parts, in this order.
    """

    def __init__(self, num_gpu_blocks: int) -> None:
        self.num_gpu_blocks = num_gpu_blocks
        self._returned: list[int] = []
        self._next_unused = 1
        self._cached_free: OrderedDict[int, None] = OrderedDict()
        self.ref_cnt: dict[int, int] = {}
        self.block_hash: dict[int, int] = {}
        # The block to hit for a hash; and, in order, later ones with the same hash (equal prompts in one step).
        self._block_of_hash: dict[int, int] = {}
        self._more_of_hash: dict[int, list[int]] = {}

    @property
    def num_free_blocks(self) -> int:
        """Blocks without an owner, cached or not."""
        return len(self._returned) + self.num_gpu_blocks - self._next_unused + len(self._cached_free)

    def get_new_blocks(self, num_blocks: int) -> list[int]:
        """Take `num_blocks` from the front of the free queue; cached ones lose their hash.

        The caller has made sure that so many are free.
        """
        returned = self._returned
        taken = returned[: -num_blocks - 1 : -1] if num_blocks else []
        del returned[len(returned) - len(taken) :]
        unused = min(num_blocks - len(taken), self.num_gpu_blocks - self._next_unused)
        taken.extend(range(self._next_unused, self._next_unused + unused))
        self._next_unused += unused
        while len(taken) < num_blocks:
            block, _ = self._cached_free.popitem(last=False)
            self._evict(block)
            taken.append(block)
        for block in taken:
            self.ref_cnt[block] = 1
        return taken

    def _evict(self, block: int) -> None:
        block_hash = self.block_hash.pop(block)
        more = self._more_of_hash.get(block_hash)
        if more is None:
            del self._block_of_hash[block_hash]
            return
        if self._block_of_hash[block_hash] == block:
            self._block_of_hash[block_hash] = more.pop(0)
        else:
            more.remove(block)
        if not more:
            del self._more_of_hash[block_hash]

    def free_blocks(self, ordered_blocks: Iterable[int]) -> None:
        """Give blocks back, the one to be reused first in front."""
        evict_first = []
        for block in ordered_blocks:
            self.ref_cnt[block] -= 1
            if self.ref_cnt[block]:
                continue
            del self.ref_cnt[block]
            if block in self.block_hash:
                self._cached_free[block] = None
            else:
                evict_first.append(block)
        self._returned.extend(reversed(evict_first))

    def touch(self, blocks: Iterable[int]) -> None:
        """One more owner for cached blocks; those that were free leave the free queue."""
        for block in blocks:
            if block in self._cached_free:
                del self._cached_free[block]
                self.ref_cnt[block] = 0
            self.ref_cnt[block] += 1

    def get_cached_block(self, block_hash: int) -> int | None:
        """A block that holds this prefix, the first that was cached if there are several."""
        return self._block_of_hash.get(block_hash)

    def cache_block(self, block: int, block_hash: int) -> None:
        """Make a full block known under its hash."""
        self.block_hash[block] = block_hash
        if self._block_of_hash.setdefault(block_hash, block) != block:
            self._more_of_hash.setdefault(block_hash, []).append(block)

    def free_queue(self) -> list[int]:
        """The free blocks in the order in which they would be taken."""
        return [*reversed(self._returned), *range(self._next_unused, self.num_gpu_blocks), *self._cached_free]

    def state(self) -> tuple[object, ...]:
        """All that decides what comes next, whatever the numbers of the blocks, for comparing moments of a run."""
        cached_free = [self.block_hash[block] for block in self._cached_free]
        return (self.num_free_blocks, cached_free, sorted(self.block_hash.values()))


class KVCacheManager:
    """The blocks of every request. Its three verbs: find a cached prefix, `allocate_slots`, `free`."""

    def __init__(self, config: Config) -> None:
        self.block_size = config.block_size
        self.max_model_len = config.max_model_len
        self.enable_caching = config.enable_prefix_caching
        self.num_lookahead_tokens = config.num_lookahead_tokens or 0
        self.watermark_blocks = config.watermark_blocks
        self.block_pool = BlockPool(config.num_gpu_blocks)
        self.req_to_blocks: dict[str, list[int]] = {}
        self._num_cached_block: dict[str, int] = {}
        self._hasher = BlockHasher(config.block_size)

    def update_block_hashes(self, request: Request) -> None:
        """To be called when `request` has got new tokens."""
        if self.enable_caching:
            self._hasher.update(request)

    def get_computed_blocks(self, request: Request) -> tuple[list[int], int]:
        """The cached blocks that begin `request`, in order, and their number of tokens.

        At least one token is left to compute, since sampling needs it: a full hit gives back its last block.
        """
        blocks: list[int] = []
        if self.enable_caching:
            for block_hash in request.block_hashes[: (request.num_tokens - 1) // self.block_size]:
                block = self.block_pool.get_cached_block(block_hash)
                if block is None:
                    break
                blocks.append(block)
        return blocks, len(blocks) * self.block_size

    def allocate_slots(
        self,
        request: Request,
        num_new_tokens: int,
        num_new_computed_tokens: int = 0,
        new_computed_blocks: Sequence[int] = NO_BLOCKS,
        full_sequence_must_fit: bool = False,
        has_scheduled_reqs: bool = True,
    ) -> Sequence[int] | NoFreeBlocks:
        """Blocks for the next `num_new_tokens` of `request`, all of them or none.

        Args:
            request: running, or about to be admitted.
            num_new_tokens: tokens to compute in this step, at least 1.
            num_new_computed_tokens: tokens found in the prefix cache, with `new_computed_blocks` that hold them.
            full_sequence_must_fit: refuse unless all known tokens would fit now.
            has_scheduled_reqs: whether anything runs; only then the watermark holds.

        Returns:
            The ids of the blocks gained, in order, cached ones not among them; or why it was refused.
        """
        computed = request.num_computed_tokens + num_new_computed_tokens
        blocks = self.req_to_blocks.get(request.request_id)
        slots = min(computed + num_new_tokens + self.num_lookahead_tokens, self.max_model_len)
        # Out of the common way first: a decode whose last block has room.
        if blocks is not None and slots <= len(blocks) * self.block_size:
            self.cache_blocks(request, min(computed + num_new_tokens, request.num_tokens))
            return NO_BLOCKS

        held = len(blocks) if blocks is not None else len(new_computed_blocks)
        # A hit on a block without an owner takes it from the free queue as well.
        evictable = sum(block not in self.block_pool.ref_cnt for block in new_computed_blocks)
        watermark = self.watermark_blocks if has_scheduled_reqs and request.status is not RequestStatus.RUNNING else 0
        needed = max(self._num_blocks(slots) - held, 0)
        required = needed + evictable
        if full_sequence_must_fit:
            full = max(self._num_blocks(min(request.num_tokens, self.max_model_len)) - held, 0) + evictable
            required = max(required, full)
        free = self.block_pool.num_free_blocks
        if required + watermark > free:
            return NoFreeBlocks(required, free, watermark)

        if blocks is None:
            self.block_pool.touch(new_computed_blocks)
            blocks = self.req_to_blocks[request.request_id] = list(new_computed_blocks)
            self._num_cached_block[request.request_id] = held
        new_blocks = self.block_pool.get_new_blocks(needed)
        blocks.extend(new_blocks)
        self.cache_blocks(request, min(computed + num_new_tokens, request.num_tokens))
        return new_blocks

    def _num_blocks(self, num_tokens: int) -> int:
        return -(-num_tokens // self.block_size)

    def cache_blocks(self, request: Request, num_tokens: int) -> None:
        """Make the full blocks of the first `num_tokens` of `request` known to the prefix cache."""
        if not self.enable_caching:
            return
        num_cached = self._num_cached_block[request.request_id]
        num_full = min(num_tokens // self.block_size, len(request.block_hashes))
        if num_full <= num_cached:
            return
        # A prompt beyond max_model_len has fewer blocks than hashes.
        blocks = self.req_to_blocks[request.request_id][num_cached:num_full]
        for block, block_hash in zip(blocks, request.block_hashes[num_cached:], strict=False):
            self.block_pool.cache_block(block, block_hash)
        self._num_cached_block[request.request_id] = num_full

    def free(self, request: Request) -> None:
        """Take all blocks from `request`; the last one is the first to be reused."""
        self._num_cached_block.pop(request.request_id, None)
        self.block_pool.free_blocks(reversed(self.req_to_blocks.pop(request.request_id, [])))
