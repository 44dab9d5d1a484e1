"""How many KV blocks a server has, from what its log says of the KV cache when it starts.

Source: `vllm/v1/core/kv_cache_utils.py::update_kv_cache_capacity` of 0.33.0, which logs
`int(max_concurrency * max_model_len)` tokens, where `max_concurrency` is the number of blocks by those of a longest
request. Older releases log blocks times `block_size`.
"""

import re

from .arguments import Setting
from .importer import Imported

BLOCK_SIZE = 16

_TOKENS = re.compile(r"\b(?:KV cache size: |can be stored in KV cache \()([\d,. ]*\d)(?: tokens|\))")
_CONCURRENCY = re.compile(r"Maximum concurrency for ([\d,. ]*\d) tokens per request: (\d{1,15}(?:[.,]\d{1,15})?)x")
_BLOCKS = re.compile(r"(?:# (?!CPU)\w+ blocks: |num_gpu_blocks is: |num_gpu_blocks=)(\d[\d,]*)")
_OVERRIDE = re.compile(r"Overriding num_gpu_blocks=\d+ with num_gpu_blocks_override=(\d+)")
_BLOCK_SIZE = re.compile(r"Setting (?:attention|kv cache) block size to (\d+)", re.IGNORECASE)
_HYBRID = re.compile(r"\bhybrid\b(?!.*disab)|\bmamba\b.*page size|page size.*\bmamba\b", re.IGNORECASE)


class KvSize:
    """What was found so far."""

    def __init__(self) -> None:
        self._tokens: int | None = None
        self._length: int | None = None
        self._times: str | None = None
        self._blocks: int | None = None
        self._block_size: int | None = None
        self._hybrid = False

    def take(self, text: str) -> None:
        """Take what a line tells, if anything; of several workers, the smallest."""
        if match := _TOKENS.search(text):
            tokens = _integer(match[1])
            self._tokens = tokens if self._tokens is None else min(tokens, self._tokens)
        if match := _CONCURRENCY.search(text):
            self._length, self._times = _integer(match[1]), match[2].replace(",", ".")
        if match := _OVERRIDE.search(text) or _BLOCKS.search(text):
            self._blocks = _integer(match[1])
        if match := _BLOCK_SIZE.search(text):
            self._block_size = int(match[1][:9])
        self._hybrid = self._hybrid or bool(_HYBRID.search(text))

    def settle(self, imported: Imported, settings: dict[str, Setting]) -> None:
        """Tell what was found, and give the arguments that follow from it."""
        if self._tokens is not None:
            imported.found["kv_cache_size_tokens"] = self._tokens
        if self._times is not None:
            imported.found["max_concurrency"] = float(self._times)
        if self._length is not None:
            settings.setdefault("max_model_len", Setting(self._length, "max_model_len", 1))
        if self._block_size is not None:
            settings["block_size"] = Setting(self._block_size, "block_size", 1)

    def blocks(self, imported: Imported) -> None:
        """Put the number of blocks into the configuration, if it is certain."""
        config = imported.config
        if self._blocks is not None:
            config["num_gpu_blocks"] = self._blocks
            return
        if self._tokens is None:
            return
        size = config.get("block_size", BLOCK_SIZE)
        blocks = None if self._hybrid else self._derived(size)
        if blocks is None:
            imported.note("no_blocks", tokens=self._tokens, size=size)
            return
        config["num_gpu_blocks"] = blocks
        imported.note("blocks" if "block_size" in config else "blocks_of_16", blocks=blocks, tokens=self._tokens)

    def _derived(self, size: int) -> int | None:
        """Blocks of a model with one kind of attention; `None` if the lines contradict that."""
        assert self._tokens is not None
        if self._length is None or self._times is None:
            return self._tokens // size if self._tokens % size == 0 else None
        per_request = -(-self._length // size)
        for blocks in (-(-self._tokens * per_request // self._length), self._tokens // size):
            logged = {blocks * self._length // per_request, blocks * size}
            # The concurrency is the blocks by those of a request, rounded; all of it times 1000.
            off = abs(1000 * blocks - round(1000 * float(self._times)) * per_request)
            if self._tokens in logged and off <= 6 * per_request:
                return blocks
        return None


def _integer(text: str) -> int:
    return int(re.sub(r"\D", "", text)[:400])
