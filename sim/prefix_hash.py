"""Block hashes of the prefix cache: which blocks hold the same tokens after the same tokens.

Source: `vllm/v1/core/kv_cache_utils.py::get_request_block_hasher`. Where vLLM chains SHA-256 over token ids, here a
hash is an integer given out on first sight: equal integers mean equal prefixes, without collisions.
"""

from collections.abc import Sequence

from .request import Request
from .scenario import Image

Run = tuple[str, int, int]
"""A run of consecutive tokens: the name of their segment, the place of the first in it, how many."""


class BlockHasher:
    """Gives out block hashes for all requests of one run.

    Args:
        block_size: tokens in a block.
    """

    def __init__(self, block_size: int) -> None:
        self.block_size = block_size
        self._shared: dict[tuple[object, ...], int] = {}
        self._next_hash = 1

    def update(self, request: Request) -> None:
        """Append the hashes of the blocks of `request` that have become full. Mutates `request.block_hashes`."""
        hashes = request.block_hashes
        num_full = request.num_tokens // self.block_size
        num_shared = min(num_full, _num_shared_tokens(request) // self.block_size)
        runs = token_runs(request) if len(hashes) < num_shared else []
        next_image = 0
        while len(hashes) < num_shared:
            start = len(hashes) * self.block_size
            end = start + self.block_size
            parent = hashes[-1] if hashes else 0
            images, next_image = _images_in(request.images, next_image, start, end)
            key = (parent, request.lora, images, *_cut(runs, start, end))
            if key not in self._shared:
                self._shared[key] = self._take(1)[0]
            hashes.append(self._shared[key])
        # From the first token that is its own on, nobody else can have the same block.
        hashes.extend(self._take(num_full - len(hashes)))

    def _take(self, count: int) -> range:
        self._next_hash += count
        return range(self._next_hash - count, self._next_hash)


def _num_shared_tokens(request: Request) -> int:
    """Tokens at the beginning of the prompt that other requests may have too."""
    return min(request.num_prompt_tokens, sum(length for _, length in request.spec.prefix))


def token_runs(request: Request) -> list[Run]:
    """The shared segments at the beginning of the prompt of `request`, in order."""
    runs: list[Run] = []
    left = request.num_prompt_tokens
    for name, length in request.spec.prefix:
        if left and length:
            runs.append((name, 0, min(length, left)))
            left -= min(length, left)
    return runs


def _cut(runs: list[Run], start: int, end: int) -> list[Run]:
    """The part of `runs` from token `start` up to `end`."""
    part: list[Run] = []
    position = 0
    for name, first, length in runs:
        low, high = max(start, position), min(end, position + length)
        if low < high:
            part.append((name, first + low - position, high - low))
        position += length
        if position >= end:
            break
    return part


def _images_in(images: Sequence[Image], i: int, start: int, end: int) -> tuple[tuple[tuple[str, int], ...], int]:
    """The images that reach into the block, with their place in it: they stand for the tokens that they cover.

    Args:
        images: in order of offset. Others give what they give in vLLM, which looks no further than the next one.
        i: the first image that earlier blocks have not passed.

    Returns:
        The images, and the index for the next block.
    """
    found: list[tuple[str, int]] = []
    if not images or images[-1].offset + images[-1].length <= start:
        return (), i
    while i < len(images) and images[i].offset < end:
        image = images[i]
        if image.offset + image.length > start:
            found.append((image.hash, image.offset - start))
        if image.offset + image.length > end:
            break
        i += 1
    return tuple(found), i
