"""Block hashes of the prefix cache: which blocks hold the same tokens after the same tokens.

Source: `vllm/v1/core/kv_cache_utils.py::get_request_block_hasher`. Where vLLM chains SHA-256 over token ids, here a
hash is a small integer given out on first sight: equal integers mean equal prefixes, without collisions.
"""

from .request import Request

Run = tuple[str, int, int]
"""A run of consecutive tokens: whose they are, the place of the first, how many."""


class BlockHasher:
    """Gives out block hashes for all requests of one run.

    Args:
        block_size: tokens in a block.
    """

    def __init__(self, block_size: int) -> None:
        self.block_size = block_size
        self._hashes: dict[tuple[object, ...], int] = {}

    def update(self, request: Request) -> None:
        """Append the hashes of the blocks of `request` that have become full. Mutates `request.block_hashes`."""
        hashes = request.block_hashes
        runs = None
        while (len(hashes) + 1) * self.block_size <= request.num_tokens:
            runs = runs or token_runs(request)
            start = len(hashes) * self.block_size
            end = start + self.block_size
            parent = hashes[-1] if hashes else 0
            key = (parent, request.lora, _images_in(request, start, end), *_cut(runs, start, end))
            hashes.append(self._hashes.setdefault(key, len(self._hashes) + 1))


def token_runs(request: Request) -> list[Run]:
    """The known tokens of `request` as runs, in order: shared segments of the prompt, its own tokens, its output."""
    runs: list[Run] = []
    left = request.num_prompt_tokens
    for name, length in request.spec.prefix:
        if left and length:
            runs.append(("shared:" + name, 0, min(length, left)))
            left -= min(length, left)
    if left:
        runs.append(("own:" + request.request_id, 0, left))
    if request.num_output_tokens:
        runs.append(("output:" + request.request_id, 0, request.num_output_tokens))
    return runs


def _cut(runs: list[Run], start: int, end: int) -> list[Run]:
    """The part of `runs` from token `start` up to `end`."""
    part: list[Run] = []
    position = 0
    for source, first, length in runs:
        low, high = max(start, position), min(end, position + length)
        if low < high:
            part.append((source, first + low - position, high - low))
        position += length
        if position >= end:
            break
    return part


def _images_in(request: Request, start: int, end: int) -> tuple[tuple[str, int], ...]:
    """The images that reach into the block, with their place in it: they stand for the tokens that they cover."""
    return tuple(
        (image.hash, image.offset - start)
        for image in request.images
        if image.offset < end and image.offset + image.length > start
    )
