"""The table of parameters agrees with itself."""

import json

import pytest

from sim.errors import ConfigError
from sim.parameters import CONFIG, ONESTEP, REQUEST, by_name, shown

TABLES = {"config": CONFIG, "request": REQUEST, "onestep": ONESTEP}
ROWS = {f"{name}.{row.name}": row for name, table in TABLES.items() for row in table}
NUMBERS = {name: row for name, row in ROWS.items() if row.kind in ("int", "number")}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_names_are_unique(table):
    assert len(by_name(table)) == len(table)
    assert list(by_name(table)) == [row.name for row in table]


def test_the_contract_s_keys_are_here():
    assert set(by_name(CONFIG)) == {
        *("max_num_batched_tokens", "max_num_seqs", "max_num_active_seqs", "max_num_scheduled_tokens"),
        *("max_model_len", "enable_chunked_prefill", "long_prefill_token_threshold"),
        *("long_prefill_token_threshold_adaptive", "policy", "block_size", "num_gpu_blocks", "watermark"),
        *("scheduler_reserve_full_isl", "prefill_schedule_interval", "enable_prefix_caching"),
        *("num_speculative_tokens", "num_lookahead_tokens", "draft_slots_per_request", "async_scheduling"),
        *("encoder_compute_budget", "encoder_cache_size", "disable_chunked_mm_input", "max_loras", "cost_model"),
    }


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_default_is_allowed(row):
    if row.default is not None or row.none_means:
        assert row.check(row.default, "field") == row.default


@pytest.mark.parametrize("row", NUMBERS.values(), ids=NUMBERS)
def test_the_range_is_closed(row):
    top = row.maximum - 0.5 if row.below_maximum else row.maximum
    assert row.check(row.minimum, "field") == row.minimum
    assert row.check(top, "field") == top
    for outside in (row.minimum - 1, row.maximum + 1, *([row.maximum] if row.below_maximum else [])):
        with pytest.raises(ConfigError) as caught:
            row.check(outside, "field")
        assert str(caught.value) == f"field: {outside} is not allowed, must be {row.allowed()}"


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("value", ["", [], {}, "1", float("inf")], ids=repr)
def test_other_types_are_refused(row, value):
    with pytest.raises(ConfigError, match=r"^here: .* is not allowed, must be "):
        row.check(value, "here")


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_help_is_one_sentence_in_each_language(row):
    assert row.help_en.endswith(".")
    assert row.help_zh.endswith("。")
    assert "\n" not in row.help_en + row.help_zh
    assert row.help_zh.isascii() is False


@pytest.mark.parametrize("row", CONFIG, ids=by_name(CONFIG))
def test_a_flag_has_the_name_of_the_parameter(row):
    assert row.flag == "" or row.flag.startswith("--")
    if row.flag not in ("", "--scheduling-policy", "--num-gpu-blocks-override") and "." not in row.flag:
        assert row.flag == "--" + row.name.replace("_", "-")


def test_a_long_value_is_cut_in_a_message():
    assert shown("x" * 100) == '"' + "x" * 56 + "..."
    assert shown({"a": [1, None, True]}) == '{"a": [1, null, true]}'
    assert shown("中") == '"中"'
    assert shown({1, 2}) == "{1, 2}"
    assert json.loads(shown([1.5])) == [1.5]
