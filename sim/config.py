"""The configuration of a scheduler, checked with vLLM's own rules and in vLLM's own words."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from .errors import ConfigError
from .parameters import CONFIG, by_name

PYDANTIC = "Value error, "


class Refusal(NamedTuple):
    """Why vLLM would not run: the kind of error, the parameter that it is about, and the message."""

    error: str
    field: str
    message: str

    @property
    def reason(self) -> str:
        """The message without the words that pydantic puts before it."""
        return self.message.removeprefix(PYDANTIC)


@dataclass(frozen=True, slots=True)
class Config:
    """What a scheduler is built with. One attribute for each row of `parameters.CONFIG`, with its default."""

    max_num_batched_tokens: int = 2048
    max_num_seqs: int = 128
    max_num_active_seqs: int | None = None
    max_num_scheduled_tokens: int | None = None
    max_model_len: int = 8192
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int = 0
    long_prefill_token_threshold_adaptive: bool = False
    policy: str = "fcfs"
    block_size: int = 16
    num_gpu_blocks: int = 10_000
    watermark: float = 0.0
    scheduler_reserve_full_isl: bool = True
    prefill_schedule_interval: int = 1
    enable_prefix_caching: bool = False
    num_speculative_tokens: int = 0
    num_lookahead_tokens: int | None = None
    draft_slots_per_request: int | None = None
    async_scheduling: bool = False
    encoder_compute_budget: int = 0
    encoder_cache_size: int = 0
    disable_chunked_mm_input: bool = False
    max_loras: int | None = None
    cost_model: str = "h200-llama-3.1-8b"

    @property
    def token_budget(self) -> int:
        """Tokens that one step may hand out."""
        scheduled = self.max_num_scheduled_tokens or self.max_num_batched_tokens
        return min(scheduled, self.max_num_batched_tokens)

    @property
    def watermark_blocks(self) -> int:
        """Blocks kept free when a waiting request is admitted."""
        return int(self.watermark * self.num_gpu_blocks)

    def refusal(self) -> Refusal | None:
        """Why vLLM refuses this configuration, or `None`.

        Source: `vllm/config/scheduler.py::SchedulerConfig.verify_max_model_len`, in the same order.
        """
        batched, seqs, model_len = self.max_num_batched_tokens, self.max_num_seqs, self.max_model_len
        if batched < model_len and not self.enable_chunked_prefill:
            return _refused(
                "max_num_batched_tokens",
                f"max_num_batched_tokens ({batched}) is smaller than max_model_len ({model_len}). This effectively "
                "limits the maximum sequence length to max_num_batched_tokens and makes vLLM reject longer sequences. "
                "Please increase max_num_batched_tokens or decrease max_model_len.",
            )
        if batched < seqs:
            return _refused(
                "max_num_batched_tokens",
                f"max_num_batched_tokens ({batched}) must be greater than or equal to max_num_seqs ({seqs}).",
            )
        if self.max_num_active_seqs is not None and self.max_num_active_seqs > seqs:
            return _refused(
                "max_num_active_seqs",
                f"max_num_active_seqs ({self.max_num_active_seqs}) cannot be greater than max_num_seqs ({seqs}).",
            )
        if self.long_prefill_token_threshold > model_len:
            return _refused(
                "long_prefill_token_threshold",
                f"long_prefill_token_threshold ({self.long_prefill_token_threshold}) cannot be greater than the "
                f"max_model_len ({model_len}).",
            )
        return None

    def warnings(self) -> list[str]:
        """What vLLM only warns about. Source: as for `refusal`."""
        most = self.max_num_seqs * self.max_model_len
        if self.max_num_batched_tokens <= most:
            return []
        text = f"max_num_batched_tokens ({self.max_num_batched_tokens}) exceeds max_num_seqs * max_model_len ({most})."
        return [f"{text} This may lead to unexpected behavior."]


def _refused(field: str, message: str) -> Refusal:
    return Refusal("ValidationError", field, PYDANTIC + message)


def parse_config(data: object, field: str = "config") -> Config:
    """A `Config` from decoded JSON.

    Args:
        data: an object whose keys are names of `parameters.CONFIG`.
        field: the path of `data` in its document.

    Raises:
        ConfigError: not an object, an unknown key, a wrong type, out of range.
    """
    if not isinstance(data, Mapping):
        raise ConfigError(field, "must be an object")
    rows = by_name(CONFIG)
    settings: dict[str, Any] = {}
    for key, value in data.items():
        if key not in rows:
            raise ConfigError(f"{field}.{key}", f"unknown key, must be one of {', '.join(rows)}")
        settings[key] = rows[key].check(value, f"{field}.{key}")
    return Config(**settings)


assert {f.name: f.default for f in fields(Config)} == {p.name: p.default for p in CONFIG}
