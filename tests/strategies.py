"""Random scenarios for Hypothesis: small numbers, so that rules meet, and a few features at once.

A scenario is a document in the form of the contract. It shrinks towards few features, few requests and small numbers.
"""

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
Draw = st.DrawFn

FEATURES = (
    *("priority", "prefix", "spec", "async", "encoder", "lora", "abort", "watermark", "nochunk", "longprefill"),
    *("interval", "active", "scheduled_cap", "reserve_off", "lookahead", "draft_slots", "overlong", "long_run"),
    *("tight", "disorder", "refused"),
)
"""What a scenario may have beyond a small budget; `disorder` is images out of order, across each other or outside."""

PLAIN_FEATURES = (
    *("priority", "abort", "watermark", "nochunk", "longprefill", "interval", "active", "scheduled_cap"),
    *("reserve_off", "overlong", "long_run", "tight"),
)
"""Those of them that every driver of `simulate` knows."""

TEXT = st.sampled_from(["S0", "S1"])
IMAGE = st.sampled_from(["P0", "P1", "P2"])
IMAGE_LENGTHS = {"P0": 3, "P1": 5, "P2": 8}


def rarely() -> st.SearchStrategy[bool]:
    """True once in eight times."""
    return st.sampled_from([False] * 7 + [True])


@st.composite
def scenarios(
    draw: Draw, features: tuple[str, ...] = FEATURES, in_time: bool = False, max_requests: int = 8, most: int = 6
) -> Json:
    """A whole scenario.

    Args:
        draw: given by Hypothesis.
        features: those to choose from.
        in_time: requests arrive in microseconds rather than in steps.
        max_requests: at most so many requests.
        most: at most so many features at once.
    """
    chosen = draw(st.sets(st.sampled_from(features), max_size=most))
    if "disorder" in chosen:
        chosen.add("encoder")
    config = draw(configs(chosen))
    max_model_len = config["max_model_len"]
    prompts = st.one_of(st.integers(1, min(max_model_len, 16)), st.integers(1, min(max_model_len, 48)))
    if "overlong" in chosen:
        prompts = st.one_of(prompts, st.integers(max_model_len, max_model_len + 24))
    outputs = st.integers(1, 40) if "long_run" in chosen else st.one_of(st.integers(1, 4), st.integers(1, 16))
    if "tight" in chosen:
        prompts, outputs = st.integers(1, 10), st.integers(4, 20)
    requests = [
        draw(one_request(f"q{i}", chosen, prompts, outputs, in_time)) for i in range(draw(st.integers(1, max_requests)))
    ]
    return {"name": "random", "config": config, "requests": requests}


@st.composite
def configs(draw: Draw, chosen: set[str]) -> Json:
    """A configuration with the parameters that the chosen features need; vLLM refuses few of them."""
    block_size = draw(st.sampled_from([1, 2, 3, 4, 8, 16]))
    max_num_seqs = draw(st.integers(1, 6))
    pool_tokens = draw(st.integers(16, 32) if "tight" in chosen else st.one_of(st.integers(8, 100), st.just(1_000)))
    config = {
        "max_num_batched_tokens": draw(st.integers(max_num_seqs, 40)),
        "max_num_seqs": max_num_seqs,
        "max_model_len": draw(st.integers(8, 80)),
        "block_size": block_size,
        "num_gpu_blocks": pool_tokens // block_size + 2,
    }
    for feature, setting in _settings(config).items():
        if feature in chosen:
            config |= draw(setting)
    if "nochunk" in chosen:
        config["max_num_batched_tokens"] = max(config["max_num_batched_tokens"], config["max_model_len"])
    if "refused" in chosen:
        config["max_num_batched_tokens"] = draw(st.integers(1, 8))
    return config


def _settings(config: Json) -> dict[str, st.SearchStrategy[Json]]:
    """For each feature that is one of configuration: what it sets."""
    some = st.fixed_dictionaries
    return {
        "priority": some({"policy": st.just("priority")}),
        "prefix": some({"enable_prefix_caching": st.just(True)}),
        "spec": some({"num_speculative_tokens": st.integers(1, 4)}),
        "async": some({"async_scheduling": st.just(True)}),
        "encoder": some(
            {"encoder_compute_budget": st.integers(3, 20)},
            optional={"encoder_cache_size": st.integers(3, 24), "disable_chunked_mm_input": st.just(True)},
        ),
        "lora": some({}, optional={"max_loras": st.integers(1, 3)}),
        "watermark": some({"watermark": st.sampled_from([0.05, 0.1, 0.2, 0.35, 0.5, 0.9])}),
        "nochunk": some({"enable_chunked_prefill": st.just(False)}),
        "longprefill": some(
            {"long_prefill_token_threshold": st.integers(1, 10)},
            optional={"long_prefill_token_threshold_adaptive": st.just(True)},
        ),
        "interval": some({"prefill_schedule_interval": st.integers(2, 6)}),
        "active": some({"max_num_active_seqs": st.integers(1, config["max_num_seqs"])}),
        "scheduled_cap": some({"max_num_scheduled_tokens": st.integers(1, config["max_num_batched_tokens"] + 2)}),
        "reserve_off": some({"scheduler_reserve_full_isl": st.just(False)}),
        "lookahead": some({"num_lookahead_tokens": st.integers(1, 6)}),
        "draft_slots": some(
            {"num_speculative_tokens": st.integers(1, 3), "draft_slots_per_request": st.integers(1, 4)}
        ),
        "refused": some(
            {},
            optional={
                "max_num_active_seqs": st.integers(1, 8),
                "long_prefill_token_threshold": st.integers(60, 90),
                "enable_chunked_prefill": st.just(False),
            },
        ),
    }


@st.composite
def one_request(
    draw: Draw,
    request_id: str,
    chosen: set[str],
    prompts: st.SearchStrategy[int],
    outputs: st.SearchStrategy[int],
    in_time: bool = False,
) -> Json:
    """A request with what the chosen features ask of it."""
    request: Json = {"id": request_id, "prompt_tokens": draw(prompts), "output_tokens": draw(outputs)}
    arrival = 0
    if in_time:
        request["arrival_us"] = draw(st.integers(0, 200_000))
    else:
        request["arrival_step"] = arrival = draw(st.one_of(st.integers(0, 3), st.integers(0, 14)))
    if "abort" in chosen and draw(st.booleans()):
        request["abort_step"] = arrival + draw(st.integers(0, 16))
    if "priority" in chosen:
        request["priority"] = draw(st.integers(0, 3))
    if "lora" in chosen:
        request["lora"] = draw(st.integers(0, 3))
    if "prefix" in chosen:
        lengths = st.one_of(st.integers(1, 40), st.sampled_from([8, 16, 32]))
        request["prefix"] = draw(st.lists(st.tuples(TEXT, lengths).map(list), min_size=1, max_size=2))
    if chosen & {"spec", "draft_slots"}:
        request["accepts"] = draw(st.lists(st.integers(0, 4), min_size=2, max_size=10))
    if "encoder" in chosen:
        request["images"] = draw(images(request["prompt_tokens"], anywhere="disorder" in chosen))
    return request


@st.composite
def images(draw: Draw, prompt_tokens: int, anywhere: bool) -> list[Json]:
    """Up to three images, some of them equal: one after the other within the prompt, or anywhere."""
    found: list[Json] = []
    offset = 0
    for _ in range(draw(st.integers(1, 3))):
        shared = draw(st.one_of(st.none(), IMAGE))
        # Now and then the hash of an image is that of one of another length.
        length = IMAGE_LENGTHS[shared] if shared and not draw(rarely()) else draw(st.integers(1, 10))
        offset = draw(st.integers(0, prompt_tokens)) if anywhere else offset + draw(st.integers(0, 6))
        if offset + length > prompt_tokens and not anywhere:
            break
        image = {"offset": offset, "length": length}
        found.append(image | {"hash": shared} if shared else image)
        offset += length
    return found
