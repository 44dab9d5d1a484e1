"""The figures of single rules: small scenarios in which a rule decides, and what a reader may change in them."""

from dataclasses import replace
from typing import Any

from ..parameters import CONFIG, Parameter, Value, by_name
from . import extras
from .schedule import Schedule

_ROWS = by_name(CONFIG)
_BASE = {"max_num_seqs": 4, "max_model_len": 64, "block_size": 4}


def _control(name: str, default: Value, minimum: int | None = None, maximum: int | None = None) -> Parameter:
    """A row of the table of parameters, with the range of this figure."""
    return replace(_ROWS[name], default=default, minimum=minimum, maximum=maximum, none_means="")


def _request(name: str, arrival: int, prompt: int, output: int, **more: Any) -> dict[str, Any]:
    return {"id": name, "arrival_step": arrival, "prompt_tokens": prompt, "output_tokens": output, **more}


SIX_STEPS = Schedule(
    "six-steps",
    {"max_num_batched_tokens": 8, "max_num_seqs": 4, "max_model_len": 64},
    (_request("A", 0, 6, 5), _request("B", 1, 10, 3), _request("C", 2, 9, 3)),
    (),
    key_step=2,
    steps=6,
    waits=0,
)
CHUNKED_PREFILL = Schedule(
    "chunked-prefill",
    {"max_num_seqs": 4, "max_model_len": 10, "max_num_batched_tokens": 10},
    (_request("A", 0, 2, 4), _request("B", 0, 3, 6), _request("C", 1, 9, 1), _request("D", 2, 3, 2)),
    (_control("enable_chunked_prefill", default=True),),
    key_step=1,
    steps=7,
    waits=2,
)
KV_BLOCKS = Schedule(
    "kv-blocks",
    {**_BASE, "max_num_batched_tokens": 10},
    (_request("A", 0, 6, 5), _request("B", 0, 3, 6), _request("C", 1, 13, 2)),
    (_control("num_gpu_blocks", 7, 6, 12),),
    key_step=2,
    steps=9,
    waits=1,
    has_blocks=True,
)
PREEMPTION = Schedule(
    "preemption",
    {**_BASE, "max_num_batched_tokens": 10},
    (_request("A", 0, 10, 5), _request("B", 0, 9, 5), _request("C", 2, 3, 2), _request("D", 2, 5, 3)),
    (_control("num_gpu_blocks", 7, 7, 11),),
    key_step=3,
    steps=9,
    waits=3,
    has_blocks=True,
)
PREFIX_CACHE = Schedule(
    "prefix-cache",
    {**_BASE, "max_num_batched_tokens": 12, "num_gpu_blocks": 13},
    (
        _request("A", 0, 12, 3, prefix=[["system", 8], ["question", 4]]),
        _request("B", 1, 11, 2, prefix=[["system", 8]]),
        _request("C", 2, 12, 2, prefix=[["system", 8], ["question", 4]]),
    ),
    (_control("enable_prefix_caching", default=True),),
    key_step=2,
    steps=5,
    waits=0,
    has_blocks=True,
)
SPECULATION = Schedule(
    "speculation",
    {**_BASE, "max_num_batched_tokens": 8},
    (_request("A", 0, 4, 9, accepts=[3, 1, 0, 0]), _request("B", 1, 3, 7, accepts=[0, 2, 1])),
    (_control("num_speculative_tokens", 3, 0, 5),),
    key_step=2,
    steps=9,
    waits=0,
    panels=(extras.drafts,),
)
PRIORITY = Schedule(
    "priority",
    {**_BASE, "max_num_batched_tokens": 8, "max_num_seqs": 2},
    (
        _request("A", 0, 3, 5, priority=2),
        _request("B", 0, 3, 3, priority=1),
        _request("C", 1, 4, 3, priority=2),
        _request("D", 2, 3, 3, priority=0),
    ),
    (replace(_ROWS["policy"], default="priority"),),
    key_step=2,
    steps=8,
    waits=2,
    panels=(extras.priorities,),
)
ASYNC = Schedule(
    "async",
    {**_BASE, "max_num_batched_tokens": 8},
    (_request("A", 0, 5, 3), _request("B", 1, 6, 4)),
    (_control("async_scheduling", default=True),),
    key_step=3,
    steps=5,
    waits=1,
    panels=(extras.flight,),
)
ENCODER = Schedule(
    "encoder",
    # vLLM gives the encoder's budget and its cache the same size, of which only the cache can run short here.
    {**_BASE, "max_num_batched_tokens": 8, "encoder_compute_budget": 12},
    (
        _request("A", 0, 12, 3, images=[{"offset": 2, "length": 8, "hash": "cat"}]),
        _request("B", 0, 6, 3, images=[{"offset": 1, "length": 4, "hash": "map"}]),
        _request("C", 3, 6, 2, images=[{"offset": 1, "length": 4, "hash": "map"}]),
    ),
    (_control("encoder_cache_size", 8, 8, 12),),
    key_step=1,
    steps=5,
    waits=1,
    panels=(extras.encoder,),
)
LONG_PREFILL = Schedule(
    "long-prefill",
    {**_BASE, "max_num_batched_tokens": 10},
    (_request("A", 0, 22, 2), _request("B", 0, 4, 3), _request("C", 1, 3, 3)),
    (_control("long_prefill_token_threshold", 4, 0, 10),),
    key_step=1,
    steps=9,
    waits=2,
)

SCHEDULES = (
    SIX_STEPS,
    CHUNKED_PREFILL,
    KV_BLOCKS,
    PREEMPTION,
    PREFIX_CACHE,
    SPECULATION,
    PRIORITY,
    ASYNC,
    ENCODER,
    LONG_PREFILL,
)
"""All of them, in the order of the page."""
