"""Which change of the configuration removes a reason: one rule a code."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..config import Config
from ..errors import ConfigError
from ..parameter import Value
from ..parameters import CONFIG, by_name
from ..reasons import Reason
from .finding import Change

NOTHING: Change = {}
_ROWS = by_name(CONFIG)


def changed(config: Config, change: Change) -> Config:
    """The configuration with the change made."""
    settings: dict[str, Any] = dict(change)
    return replace(config, **settings)


def difference(config: Config, other: Config) -> Change:
    """The change that makes the other of a configuration."""
    values = ((key, getattr(config, key), getattr(other, key)) for key in _ROWS)
    return {key: after for key, before, after in values if before != after}


def offer(config: Config, **settings: Value) -> Change:
    """The change, if the table of parameters and vLLM accept it and it changes anything; else nothing."""
    change = {key: value for key, value in settings.items() if getattr(config, key) != value}
    try:
        for key, value in change.items():
            _ROWS[key].check(value, key)
    except ConfigError:
        return NOTHING
    return change if change and changed(config, change).refusal() is None else NOTHING


def limit_of_running(config: Config) -> str:
    """The key that limits how many requests run."""
    return "max_num_seqs" if config.max_num_active_seqs is None else "max_num_active_seqs"


def more_running(config: Config, num_requests: int) -> Change:
    """So many requests may run, or as many as the other limits allow."""
    key = limit_of_running(config)
    most = config.max_num_batched_tokens if key == "max_num_seqs" else config.max_num_seqs
    return offer(config, **{key: min(num_requests, most)})


def larger_budget(config: Config, num_tokens: int) -> Change:
    """A step may hand out so many tokens."""
    change: dict[str, Value] = {}
    if config.max_num_batched_tokens < num_tokens:
        change["max_num_batched_tokens"] = num_tokens
    if config.max_num_scheduled_tokens is not None and config.max_num_scheduled_tokens < num_tokens:
        change["max_num_scheduled_tokens"] = num_tokens
    return offer(config, **change)


def smaller_chunks(config: Config) -> Change:
    """One prompt may take a quarter of the budget; if it may take no more now, the budget is doubled."""
    quarter = max(config.token_budget // 4, 1)
    now = config.long_prefill_token_threshold
    if now and now <= quarter:
        return larger_budget(config, 2 * config.token_budget)
    return offer(config, long_prefill_token_threshold=min(quarter, config.max_model_len))


def larger_pool(config: Config, reason: Reason, more: int) -> Change:
    """No watermark, where it alone keeps blocks back; else as many more blocks as were missing, and `more`."""
    needs, free, watermark = (int(str(reason[key])) for key in ("needs", "free", "watermark"))
    if needs <= free:
        return offer(config, watermark=0.0)
    return offer(config, num_gpu_blocks=config.num_gpu_blocks + needs + watermark - free + more)


def smaller_blocks(config: Config, divisor: int) -> Change:
    """Blocks of a part of the size, and as many more of them, so that the pool holds the same tokens."""
    return offer(config, block_size=config.block_size // divisor, num_gpu_blocks=config.num_gpu_blocks * divisor)


def larger_encoder(config: Config, num_tokens: int) -> Change:
    """The encoder computes images of so many tokens in one step, and its cache holds them."""
    change: dict[str, Value] = {"encoder_compute_budget": max(config.encoder_compute_budget, num_tokens)}
    if config.encoder_cache_size:
        change["encoder_cache_size"] = max(config.encoder_cache_size, num_tokens)
    return offer(config, **change)


def remove(reason: Reason, config: Config, num_adapters: int, more_blocks: int = 0) -> Change:
    """What takes away a reason for which requests wait; `max_num_seqs` is not among them, it depends on the blocks.

    Args:
        reason: with its operands.
        config: the configuration as it is.
        num_adapters: different LoRA adapters in the scenario.
        more_blocks: where blocks are missing, so many beyond these.
    """
    operands: Mapping[str, Any] = reason
    match reason["code"]:
        case "token_budget":
            return larger_budget(config, 2 * config.token_budget)
        case "draft_slots" | "spec_padding":
            return larger_budget(config, 2 * config.max_num_batched_tokens)
        case "kv_blocks":
            return larger_pool(config, reason, more_blocks)
        case "chunked_prefill_off":
            return offer(config, enable_chunked_prefill=True)
        case "prefill_interval":
            return offer(config, prefill_schedule_interval=1)
        case "encoder_budget":
            return larger_encoder(config, 2 * max(config.encoder_compute_budget, operands["needs"]))
        case "encoder_cache":
            size = config.encoder_cache_size or config.encoder_compute_budget
            return offer(config, encoder_cache_size=size + operands["needs"] - operands["free"])
        case "chunked_mm_input_off":
            return offer(config, disable_chunked_mm_input=False)
        case "max_loras":
            return offer(config, max_loras=num_adapters)
        case "long_prefill_token_threshold":
            return offer(config, long_prefill_token_threshold=0)
        case "model_len":
            return offer(config, max_model_len=2 * config.max_model_len)
    return NOTHING


def accepted(config: Config) -> Change:
    """The least change after which vLLM accepts a configuration that it refuses.

    Where chunked prefill is off, the budget is raised to max_model_len; a budget below max_num_seqs is raised to it;
    max_num_active_seqs is lowered to max_num_seqs, long_prefill_token_threshold to max_model_len.
    """
    needed = [config.max_num_seqs, config.max_num_batched_tokens]
    if not config.enable_chunked_prefill:
        needed.append(config.max_model_len)
    change: dict[str, Value] = {"max_num_batched_tokens": max(needed)}
    if config.max_num_active_seqs is not None:
        change["max_num_active_seqs"] = min(config.max_num_active_seqs, config.max_num_seqs)
    change["long_prefill_token_threshold"] = min(config.long_prefill_token_threshold, config.max_model_len)
    return offer(config, **change)
