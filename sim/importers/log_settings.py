"""What lines of a log tell of a server's settings besides its lists of arguments: messages of a start, good or failed.

Source: `vllm/config/scheduler.py`, `vllm/config/model.py`, `vllm/config/vllm.py`, `vllm/engine/arg_utils.py`,
`vllm/v1/core/kv_cache_planning.py`, `vllm/v1/core/encoder_cache_manager.py` and `vllm/v1/worker/gpu_worker.py` of
0.33.0; the errors of older releases differ in some words and are found by what stayed.
"""

import re
from collections.abc import Mapping

from .arguments import Setting
from .importer import Imported

_RESOLVED = (
    re.compile(r"Chunked prefill is enabled with max_num_batched_tokens=(?P<max_num_batched_tokens>\d+)"),
    re.compile(r"Using max model len (?P<max_model_len>\d+)"),
    re.compile(r"Defaulting max_num_batched_tokens to (?P<max_num_batched_tokens>\d+) for "),
    re.compile(r"Defaulting max_num_seqs to (?P<max_num_seqs>\d+) for "),
    re.compile(r"max_num_scheduled_tokens is set to (?P<max_num_scheduled_tokens>\d+) based on the speculative"),
)
_ASYNC = re.compile(r"Asynchronous scheduling is (enabled|disabled)")
_REFUSED = (
    re.compile(r"max_num_batched_tokens \((?P<max_num_batched_tokens>\d+)\) is smaller than "
               r"max_model_len \((?P<max_model_len>\d+)\)"),
    re.compile(r"max_num_batched_tokens \((?P<max_num_batched_tokens>\d+)\) must be greater than or equal to "
               r"max_num_seqs \((?P<max_num_seqs>\d+)\)"),
    re.compile(r"max_num_active_seqs \((?P<max_num_active_seqs>\d+)\) cannot be greater than "
               r"max_num_seqs \((?P<max_num_seqs>\d+)\)"),
    re.compile(r"long_prefill_token_threshold \((?P<long_prefill_token_threshold>\d+)\) cannot be greater than the "
               r"max_model_len \((?P<max_model_len>\d+)\)"),
    re.compile(r"max_tokens_per_mm_item \(\d+\) is larger than "
               r"max_num_batched_tokens \((?P<max_num_batched_tokens>\d+)\)"),
    re.compile(r"User-specified max_model_len \((?P<max_model_len>\d+)\) is greater than the derived"),
    re.compile(r"[Tt]o serve at least one request with the models?'s max seq len \((?P<max_model_len>\d+)\)"),
    re.compile(r"model's max seq len \((?P<max_model_len>\d+)\) is larger than the maximum number of tokens that can"),
)  # fmt: skip
"""Errors with the settings that they blame."""

_NO_CHUNKS = ("is smaller than max_model_len (", "enable_chunked_prefill", False)
_WHOLE_ITEMS = ("max_tokens_per_mm_item (", "disable_chunked_mm_input", True)
"""What an error presupposes."""

_DERIVED = re.compile(r"derived max_model_len \(\w+=(\d{1,15})")
_NEEDED = re.compile(r"\((\d{1,15}(?:\.\d{1,15})?) Gi?B KV cache is needed")
_AVAILABLE = re.compile(r"vailable KV cache memory(?: \(|: )(-?\d{1,15}(?:\.\d{1,15})?) Gi?B")
_HELD = re.compile(r"can be stored in KV cache \((\d{1,15})\)")
_ESTIMATED = re.compile(r"estimated maximum model length is (\d{1,15})")
_NO_MEMORY = "No available memory for the cache blocks"

MARKS = (
    *("Chunked prefill is enabled with max_num_batched_tokens=", "Using max model len ", "Asynchronous scheduling is "),
    *(_NO_MEMORY, "KV cache is needed, which is larger than", "vailable KV cache memory"),
    *(") is smaller than max_model_len (", ") must be greater than or equal to max_num_seqs ("),
    *(") cannot be greater than max_num_seqs (", ") cannot be greater than the max_model_len ("),
    *("max_tokens_per_mm_item (", "User-specified max_model_len (", "'s max seq len ("),
    *("Defaulting max_num_", "max_num_scheduled_tokens is set to ", "estimated maximum model length is "),
)
"""What stands in every such line, and tells a log of vLLM, although it may be one line."""


class LogSettings:
    """What was found so far: settings that were `resolved`, and those that were `refused`, by name."""

    def __init__(self) -> None:
        self.resolved: dict[str, Setting] = {}
        self.refused: dict[str, Setting] = {}
        self._found: dict[str, str] = {}
        self._no_memory = False

    def take(self, number: int, text: str) -> None:
        """Take what a line tells, if anything: the last of what was resolved, the first of what was refused."""
        if not any(mark in text for mark in MARKS):
            return
        for pattern in _RESOLVED:
            if match := pattern.search(text):
                self.resolved |= {name: Setting(value, name, number) for name, value in match.groupdict().items()}
        if match := _ASYNC.search(text):
            self.resolved["async_scheduling"] = Setting(match[1] == "enabled", "async_scheduling", number)
        for pattern in _REFUSED:
            if match := pattern.search(text):
                for name, value in match.groupdict().items():
                    self.refused.setdefault(name, Setting(value, name, number))
        for mark, name, setting in (_NO_CHUNKS, _WHOLE_ITEMS):
            if mark in text:
                self.refused.setdefault(name, Setting(setting, name, number))
        for name, pattern in (
            *(("derived_max_model_len", _DERIVED), ("needed_kv_cache_gib", _NEEDED)),
            *(("available_kv_cache_gib", _AVAILABLE), ("estimated_max_model_len", _ESTIMATED)),
            ("kv_cache_size_tokens", _HELD),
        ):
            if match := pattern.search(text):
                # Of several workers the smallest.
                self._found[name] = min(match[1], self._found.get(name, match[1]), key=float)
        self._no_memory = self._no_memory or _NO_MEMORY in text

    def tell(self, imported: Imported, settings: Mapping[str, Setting]) -> None:
        """Tell what is no setting, and why the server did not start."""
        found = self._found
        imported.found |= {name: float(text) if "." in text else int(text) for name, text in found.items()}
        length = settings["max_model_len"].value if "max_model_len" in settings else "max_model_len"
        if "derived_max_model_len" in found:
            imported.note("derived_length", length=length, n=found["derived_max_model_len"])
        if "needed_kv_cache_gib" in found:
            available = found.get("available_kv_cache_gib", "?")
            imported.note("kv_needed", length=length, needed=found["needed_kv_cache_gib"], available=available)
        if "kv_cache_size_tokens" in found:
            imported.note("kv_short", length=length, n=found["kv_cache_size_tokens"])
        if "estimated_max_model_len" in found:
            imported.note("kv_estimate", n=found["estimated_max_model_len"])
        if self._no_memory:
            imported.note("kv_none")
