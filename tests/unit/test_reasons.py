"""Reasons on reading: what stopped a scan is told to everybody behind it."""

import inspect

import pytest

from sim import reasons
from sim.reasons import fill

FULL = reasons.token_budget(8, 8)
NO_BLOCKS = reasons.kv_blocks(3, 2, 0)


def test_whoever_got_tokens_has_no_reason():
    assert fill(["A", "B"], [], {"A": 1, "B": 1}, {}, None, None) == {}


def test_running_requests_behind_the_end_of_the_budget():
    assert fill(["A", "B", "C"], [], {"A": 8}, {}, FULL, None) == {"B": FULL, "C": FULL}


def test_the_first_that_waits_has_the_reason_and_the_others_stand_behind_it():
    behind = {"code": "head_of_line", "behind": "A", "because": "kv_blocks"}
    assert fill([], ["A", "B", "C"], {}, {}, None, NO_BLOCKS) == {"A": NO_BLOCKS, "B": behind, "C": behind}


def test_a_skipped_request_keeps_its_own_reason_and_is_not_the_head():
    skipped = {"A": reasons.max_loras(1, 2), "C": reasons.max_loras(1, 3)}
    why = fill([], ["A", "B", "C", "D"], {}, skipped, None, NO_BLOCKS)
    assert why == {
        "A": {"code": "max_loras", "limit": 1, "lora": 2},
        "B": {"code": "kv_blocks", "needs": 3, "free": 2, "watermark": 0},
        "C": {"code": "max_loras", "limit": 1, "lora": 3},
        "D": {"code": "head_of_line", "behind": "B", "because": "kv_blocks"},
    }


def test_after_a_preemption_everybody_waits_for_the_same_reason():
    victim, stop = reasons.preempted("A", 1, 0), reasons.after_preemption(["V"])
    assert fill(["A"], ["V", "B", "C"], {"A": 1}, {"V": victim}, None, stop) == {"V": victim, "B": stop, "C": stop}


def test_running_ones_come_first_in_queue_order():
    why = fill(["C", "A"], ["D", "B"], {}, {"A": reasons.async_finishing()}, FULL, FULL)
    assert list(why) == ["C", "A", "D", "B"]
    assert why["A"] == {"code": "async_finishing"}


CODES = {name: function for name, function in vars(reasons).items() if inspect.isfunction(function) and name != "fill"}


@pytest.mark.parametrize("name", CODES)
def test_a_code_is_named_as_its_function_and_its_operands_as_the_arguments(name):
    arguments = dict.fromkeys(inspect.signature(CODES[name]).parameters, 7)
    assert list(CODES[name](**arguments).items()) == [("code", name), *arguments.items()]


def test_the_contract_s_codes_are_here():
    assert set(CODES) >= {
        *("token_budget", "max_num_seqs", "chunked_prefill_off", "kv_blocks", "preempted", "after_preemption"),
        *("head_of_line", "prefill_interval", "encoder_budget", "encoder_cache", "max_loras", "spec_padding"),
        *("model_len", "async_finishing", "async_stale_output"),
    }
