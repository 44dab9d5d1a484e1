"""The configuration: defaults, what vLLM refuses in which words, what it warns about."""

import pytest

from sim.config import Config, parse_config
from sim.errors import ConfigError
from sim.parameters import CONFIG

REFUSED = {
    "a prompt may not fit into a step": (
        {"max_num_batched_tokens": 100, "max_num_seqs": 8, "enable_chunked_prefill": False, "max_model_len": 101},
        "max_num_batched_tokens",
        (
            "Value error, max_num_batched_tokens (100) is smaller than max_model_len (101). This effectively limits "
            "the maximum sequence length to max_num_batched_tokens and makes vLLM reject longer sequences. Please "
            "increase max_num_batched_tokens or decrease max_model_len."
        ),
    ),
    "fewer tokens than requests": (
        {"max_num_batched_tokens": 7, "max_num_seqs": 8},
        "max_num_batched_tokens",
        "Value error, max_num_batched_tokens (7) must be greater than or equal to max_num_seqs (8).",
    ),
    "more active than there are": (
        {"max_num_seqs": 8, "max_num_active_seqs": 9},
        "max_num_active_seqs",
        "Value error, max_num_active_seqs (9) cannot be greater than max_num_seqs (8).",
    ),
    "a threshold beyond the longest sequence": (
        {"max_model_len": 64, "long_prefill_token_threshold": 65},
        "long_prefill_token_threshold",
        "Value error, long_prefill_token_threshold (65) cannot be greater than the max_model_len (64).",
    ),
}


@pytest.mark.parametrize(("settings", "field", "message"), REFUSED.values(), ids=REFUSED)
def test_what_vllm_refuses(settings, field, message):
    assert Config(**settings).refusal() == ("ValidationError", field, message)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_num_batched_tokens": 101, "enable_chunked_prefill": False, "max_model_len": 101, "max_num_seqs": 8},
        {"max_num_batched_tokens": 8, "max_num_seqs": 8},
        {"max_num_seqs": 8, "max_num_active_seqs": 8},
        {"max_model_len": 64, "long_prefill_token_threshold": 64},
    ],
    ids=str,
)
def test_what_is_just_allowed(settings):
    assert Config(**settings).refusal() is None


def test_the_first_of_several_refusals_is_told():
    config = Config(max_num_batched_tokens=7, max_num_seqs=8, max_num_active_seqs=9, enable_chunked_prefill=False)
    assert config.refusal().message.startswith("Value error, max_num_batched_tokens (7) is smaller than max_model_len")


def test_vllm_warns_about_a_budget_that_nobody_can_use():
    assert Config(max_num_batched_tokens=128, max_num_seqs=2, max_model_len=64).warnings() == []
    assert Config(max_num_batched_tokens=129, max_num_seqs=2, max_model_len=64).warnings() == [
        "max_num_batched_tokens (129) exceeds max_num_seqs * max_model_len (128). This may lead to unexpected behavior."
    ]


@pytest.mark.parametrize(
    ("watermark", "blocks", "kept"), [(0.0, 100, 0), (0.01, 100, 1), (0.019, 100, 1), (0.29, 100, 28), (0.99, 10, 9)]
)
def test_the_watermark_is_cut_to_whole_blocks_as_floats_do(watermark, blocks, kept):
    assert Config(watermark=watermark, num_gpu_blocks=blocks).watermark_blocks == kept


def test_defaults_are_those_of_the_table():
    assert parse_config({}) == Config() == parse_config({row.name: row.default for row in CONFIG})


BAD = {
    "no object": ([], "config: must be an object"),
    "a float for an integer": (
        {"max_num_seqs": 4.0},
        "config.max_num_seqs: 4.0 is not allowed, must be an integer from 1 to 1000000",
    ),
    "true for an integer": (
        {"max_num_seqs": True},
        "config.max_num_seqs: true is not allowed, must be an integer from 1 to 1000000",
    ),
    "a number for true": (
        {"async_scheduling": 1},
        "config.async_scheduling: 1 is not allowed, must be true or false",
    ),
    "null where nothing stands for it": (
        {"block_size": None},
        "config.block_size: null is not allowed, must be an integer from 1 to 1000000",
    ),
    "zero where null would do": (
        {"max_num_active_seqs": 0},
        "config.max_num_active_seqs: 0 is not allowed, must be an integer from 1 to 1000000, or null",
    ),
    "a choice that is none": (
        {"policy": "lifo"},
        "config.policy: \"lifo\" is not allowed, must be 'fcfs' or 'priority'",
    ),
    "a whole watermark": ({"watermark": 1}, "config.watermark: 1 is not allowed, must be a number from 0 to below 1"),
    "a negative watermark": (
        {"watermark": -0.1},
        "config.watermark: -0.1 is not allowed, must be a number from 0 to below 1",
    ),
    "no number": (
        {"watermark": float("nan")},
        "config.watermark: NaN is not allowed, must be a number from 0 to below 1",
    ),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_what_is_no_configuration(data, message):
    with pytest.raises(ConfigError) as caught:
        parse_config(data)
    assert str(caught.value) == message


def test_an_unknown_key_is_named_with_the_known_ones():
    names = ", ".join(row.name for row in CONFIG)
    with pytest.raises(ConfigError) as caught:
        parse_config({"max_seqs": 4})
    assert str(caught.value) == f"config.max_seqs: unknown key, must be one of {names}"


@pytest.mark.parametrize("name", ["max_num_active_seqs", "max_num_scheduled_tokens", "max_loras"])
def test_null_is_the_same_as_left_out(name):
    assert parse_config({name: None}) == Config()


@pytest.mark.parametrize(("scheduled", "budget"), [(None, 32), (16, 16), (64, 32)])
def test_the_budget_of_a_step_is_the_smaller_of_both_limits(scheduled, budget):
    assert Config(max_num_batched_tokens=32, max_num_scheduled_tokens=scheduled).token_budget == budget
