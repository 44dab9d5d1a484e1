"""The rules of the scheduler, each in a scenario of a few requests; every trace is that of the real one."""

import pytest

from sim.config import Config
from sim.engine import simulate
from sim.request import Request
from sim.scenario import RequestSpec, parse_scenario
from sim.scheduler import Scheduler


def trace(*requests: tuple, **config) -> list[dict]:
    """The steps of requests `(id, prompt_tokens, output_tokens, others)`, with reasons."""
    listed = [
        {"id": name, "prompt_tokens": prompt, "output_tokens": output, **(others[0] if others else {})}
        for name, prompt, output, *others in requests
    ]
    settings = {"max_num_batched_tokens": 16, "max_num_seqs": 4, "max_model_len": 64, "block_size": 4, **config}
    return simulate(parse_scenario({"config": settings, "requests": listed})).to_json(explain=True)["steps"]


def scheduled(*requests: tuple, **config) -> list[dict[str, int]]:
    return [step["scheduled"] for step in trace(*requests, **config)]


# --- one budget for all


def test_the_article_s_six_steps():
    requests = [("A", 6, 5), ("B", 10, 3, {"arrival_step": 1}), ("C", 9, 3, {"arrival_step": 2})]
    assert scheduled(*requests, max_num_batched_tokens=8) == [
        {"A": 6},
        {"A": 1, "B": 7},
        {"A": 1, "B": 3, "C": 4},
        {"A": 1, "B": 1, "C": 5},
        {"A": 1, "B": 1, "C": 1},
        {"C": 1},
    ]


def test_running_requests_come_first():
    assert scheduled(("A", 4, 2), ("B", 20, 1, {"arrival_step": 1}))[1] == {"A": 1, "B": 15}


def test_max_num_scheduled_tokens_is_the_budget_when_it_is_less():
    assert scheduled(("A", 20, 1), max_num_scheduled_tokens=10) == [{"A": 10}, {"A": 10}]


def test_slots_bound_admission():
    steps = trace(("A", 2, 2), ("B", 2, 2), ("C", 2, 2), max_num_active_seqs=2)
    assert [step["scheduled"] for step in steps] == [{"A": 2, "B": 2}, {"A": 1, "B": 1}, {"C": 2}, {"C": 1}]
    assert steps[0]["why"] == {"C": {"code": "max_num_seqs", "limit": 2, "running": 2}}


def test_a_prompt_is_not_cut_without_chunked_prefill():
    steps = trace(("A", 10, 1), ("B", 8, 1), ("C", 2, 1), enable_chunked_prefill=False, max_model_len=16)
    assert [step["scheduled"] for step in steps] == [{"A": 10}, {"B": 8, "C": 2}]
    assert steps[0]["why"] == {
        "B": {"code": "chunked_prefill_off", "needs": 8, "left": 6},
        "C": {"code": "head_of_line", "behind": "B", "because": "chunked_prefill_off"},
    }


def test_the_threshold_bounds_one_request():
    steps = trace(("A", 12, 1), ("B", 3, 1), long_prefill_token_threshold=5)
    assert [step["scheduled"] for step in steps] == [{"A": 5, "B": 3}, {"A": 7}]
    assert steps[0]["capped"] == {"A": {"code": "long_prefill_token_threshold", "wanted": 12, "got": 5}}


def test_the_threshold_does_not_bound_a_request_that_is_alone():
    assert scheduled(("A", 12, 1), long_prefill_token_threshold=5) == [{"A": 12}]


def test_an_adaptive_threshold_is_at_least_a_fair_share():
    settings = {"long_prefill_token_threshold": 2, "long_prefill_token_threshold_adaptive": True}
    assert scheduled(("A", 12, 1), ("B", 12, 1), **settings)[0] == {"A": 8, "B": 8}


def test_a_sequence_ends_at_max_model_len():
    steps = trace(("A", 5, 20), max_model_len=8)
    assert [step["computed"] for step in steps] == [{"A": 5}, {"A": 6}, {"A": 7}]
    assert steps[-1]["finished"] == ["A"]


# --- blocks and victims


def test_the_last_running_request_is_the_victim():
    steps = trace(("A", 3, 6), ("B", 4, 6), num_gpu_blocks=4)
    assert [(step["scheduled"], step["preempted"]) for step in steps[:3]] == [
        ({"A": 3, "B": 4}, []),
        ({"A": 1, "B": 1}, []),
        ({"A": 1}, ["B"]),
    ]
    assert steps[2]["blocks"] == {"A": [3]}
    assert steps[2]["why"] == {"B": {"code": "preempted", "by": "A", "needs": 1, "free": 0}}


def test_the_last_running_request_may_be_its_own_victim():
    steps = trace(("A", 4, 6), ("B", 4, 6), num_gpu_blocks=4)
    assert (steps[1]["scheduled"], steps[1]["preempted"]) == ({"A": 1}, ["B"])
    assert steps[1]["why"] == {"B": {"code": "preempted", "by": "B", "needs": 1, "free": 0}}


def test_a_victim_keeps_its_tokens_and_computes_them_again():
    steps = trace(("A", 3, 6), ("B", 4, 6), num_gpu_blocks=4)
    resumed = next(step for step in steps if step["resumed"])
    assert resumed["resumed"] == ["B"]
    assert resumed["scheduled"] == {"B": 6}
    assert sum(step["generated"].get("B", 0) for step in steps) == 6


def test_a_victim_goes_to_the_front_and_nobody_is_admitted_meanwhile():
    steps = trace(("A", 3, 6), ("B", 4, 6), ("C", 4, 1, {"arrival_step": 1}), num_gpu_blocks=4)
    assert steps[1]["why"]["C"] == {"code": "kv_blocks", "needs": 1, "free": 0, "watermark": 0}
    assert (steps[2]["waiting"], steps[2]["free_blocks"]) == (["B", "C"], 1)
    assert steps[2]["why"]["C"] == {"code": "after_preemption", "victims": ["B"]}
    assert steps[3]["why"] == {
        "B": {"code": "kv_blocks", "needs": 2, "free": 1, "watermark": 0},
        "C": {"code": "head_of_line", "behind": "B", "because": "kv_blocks"},
    }


PRIORITY = {
    "policy": "priority",
    "max_num_batched_tokens": 12,
    "num_gpu_blocks": 8,
    "scheduler_reserve_full_isl": False,
    "long_prefill_token_threshold": 4,
    "encoder_compute_budget": 4,
    "encoder_cache_size": 16,
}
VICTIM = ("V", 24, 2, {"priority": 5, "images": [{"offset": 16, "length": 4}]})


def test_the_worst_priority_is_the_victim_wherever_it_stands():
    steps = trace(VICTIM, ("H", 8, 2, {"arrival_step": 1}), ("E", 8, 2, {"arrival_step": 1, "priority": 1}), **PRIORITY)
    assert (steps[1]["running"], steps[2]["running"]) == (["V", "H", "E"], ["H", "E"])
    assert steps[2]["why"] == {"V": {"code": "preempted", "by": "H", "needs": 1, "free": 0}}


def test_a_victim_gives_tokens_and_encoder_budget_of_the_step_back():
    image = {"arrival_step": 1, "priority": 1, "images": [{"offset": 4, "length": 4}]}
    steps = trace(VICTIM, ("H", 8, 2, {"arrival_step": 1}), ("E", 8, 2, image), **PRIORITY)
    assert steps[2]["scheduled"] == {"H": 4, "E": 4}
    assert steps[2]["encoder"] == {"E": [0]}


def test_a_priority_does_not_displace_for_a_slot():
    requests = (("A", 4, 3, {"priority": 9}), ("B", 4, 3, {"arrival_step": 1}))
    assert scheduled(*requests, policy="priority", max_num_seqs=1)[1] == {"A": 1}


def test_the_whole_prompt_must_fit_before_its_first_chunk():
    requests = (("A", 8, 8), ("B", 20, 1))
    assert scheduled(*requests, num_gpu_blocks=6)[0] == {"A": 8}
    assert scheduled(*requests, num_gpu_blocks=6, scheduler_reserve_full_isl=False)[0] == {"A": 8, "B": 8}


def test_the_watermark_is_kept_free_for_those_that_run():
    steps = trace(("A", 4, 2), ("B", 8, 1), num_gpu_blocks=5, watermark=0.4)
    assert steps[0]["scheduled"] == {"A": 4}
    assert steps[0]["why"] == {"B": {"code": "kv_blocks", "needs": 2, "free": 3, "watermark": 2}}


# --- prefix cache


def test_a_prefix_is_found_even_in_the_step_that_computes_it():
    prefix = {"prefix": [["s", 8]]}
    steps = trace(("A", 9, 1, prefix), ("B", 9, 1, prefix), enable_prefix_caching=True)
    assert steps[0]["cached"] == {"B": 8}
    assert steps[0]["scheduled"] == {"A": 9, "B": 1}
    assert steps[0]["blocks"] == {"A": [1, 2, 3], "B": [1, 2, 4]}


def test_a_full_hit_computes_its_last_block_again():
    prefix = {"prefix": [["s", 8]]}
    assert scheduled(("A", 8, 1, prefix), ("B", 8, 1, prefix), enable_prefix_caching=True) == [{"A": 8, "B": 4}]


# --- speculation


def test_accepted_drafts_are_kept_and_the_others_computed_in_vain():
    steps = trace(("A", 4, 6, {"accepts": [2, 0]}), num_speculative_tokens=2)
    assert [step["generated"] for step in steps] == [{"A": 1}, {"A": 3}, {"A": 1}, {"A": 1}]
    assert [step["computed"]["A"] for step in steps] == [4, 7, 10, 11]
    assert [step["spec"] for step in steps] == [{}, {"A": 2}, {"A": 2}, {"A": 2}]


def test_drafts_are_cut_to_the_budget():
    steps = trace(("A", 2, 6), ("B", 2, 6), num_speculative_tokens=3, max_num_batched_tokens=6)
    assert steps[1]["scheduled"] == {"A": 4, "B": 2}
    assert steps[1]["spec"] == {"A": 3, "B": 1}


def test_drafts_are_cut_to_the_model_length():
    steps = trace(("A", 4, 6), num_speculative_tokens=3, max_model_len=7)
    assert [step["spec"] for step in steps] == [{}, {"A": 1}, {}]


def test_a_new_decode_is_filled_up_beside_others():
    steps = trace(("A", 4, 6), ("B", 1, 2, {"arrival_step": 1}), num_speculative_tokens=2)
    assert steps[1]["scheduled"] == {"A": 3, "B": 3}
    assert steps[1]["spec"] == {"A": 2, "B": 2}


def test_draft_slots_take_of_the_input_positions():
    settings = {"num_speculative_tokens": 2, "draft_slots_per_request": 3}
    steps = trace(("A", 4, 1), ("B", 9, 1), ("C", 1, 1), **settings)
    assert steps[0]["scheduled"] == {"A": 4, "B": 6}
    assert steps[0]["why"] == {"C": {"code": "draft_slots", "needs": 3, "left": 0}}


# --- async scheduling


def test_with_two_batches_in_flight_the_next_step_does_not_wait():
    steps = trace(("A", 4, 3), async_scheduling=True)
    assert [step["scheduled"] for step in steps] == [{"A": 4}, {"A": 1}, {"A": 1}]
    assert [step["generated"] for step in steps] == [{"A": 1}] * 3


def test_a_request_that_ends_for_certain_gets_no_step_too_many():
    steps = trace(("A", 4, 1), ("B", 4, 2), async_scheduling=True)
    assert [step["scheduled"] for step in steps] == [{"A": 4, "B": 4}, {"B": 1}]
    assert steps[1]["why"] == {"A": {"code": "async_finishing"}}


def test_the_output_of_a_victim_is_delivered_and_not_counted_as_computed():
    steps = trace(("A", 3, 6), ("B", 4, 6), num_gpu_blocks=4, async_scheduling=True)
    preempting = next(step for step in steps if step["preempted"])
    before = steps[preempting["step"] - 1]
    assert (preempting["preempted"], before["generated"]["B"]) == (["B"], 1)
    assert sum(step["generated"].get("B", 0) for step in steps) == 6


def test_a_victim_waits_for_its_output_in_flight():
    """Three batches in flight, which the run never has: the output of the victim is still to come."""
    scheduler = Scheduler(Config(max_num_batched_tokens=16, block_size=4, num_gpu_blocks=4, async_scheduling=True))
    for index, (name, prompt) in enumerate([("A", 3), ("B", 4)]):
        scheduler.add_request(Request(RequestSpec(name, index, prompt, 6)))
    first, second, third = scheduler.schedule(), scheduler.schedule(), scheduler.schedule()
    assert third.preempted == ["B"]
    scheduler.update_from_output(first, {"A": 1, "B": 1})
    scheduler.finish_request("A")
    fourth = scheduler.schedule()
    assert fourth.skipped == {"B": {"code": "async_stale_output"}}
    scheduler.update_from_output(second, {"B": 1})
    assert scheduler.schedule().num_scheduled_tokens == {"B": 6}


# --- cadence of prefill, adapters, images


def test_prefill_is_held_back_for_an_interval():
    requests = (("A", 4, 6), ("B", 4, 1, {"arrival_step": 1}))
    steps = trace(*requests, prefill_schedule_interval=3)
    assert [step["scheduled"] for step in steps[:4]] == [{"A": 4}, {"A": 1}, {"A": 1}, {"A": 1, "B": 4}]
    assert [step["why"].get("B") for step in steps[1:3]] == [
        {"code": "prefill_interval", "steps_left": 2},
        {"code": "prefill_interval", "steps_left": 1},
    ]


def test_prefill_is_not_held_back_when_it_could_not_take_in_all_that_waits():
    requests = (("A", 4, 6), ("B", 16, 1), ("C", 4, 1))
    assert scheduled(*requests, prefill_schedule_interval=3)[:3] == [
        {"A": 4, "B": 12},
        {"A": 1, "B": 4, "C": 4},
        {"A": 1},
    ]


def test_a_request_without_a_free_adapter_slot_is_passed_over():
    requests = (("A", 4, 3, {"lora": 1}), ("B", 4, 1, {"lora": 2}), ("C", 4, 1, {"lora": 1}), ("D", 4, 1))
    steps = trace(*requests, max_loras=1)
    assert steps[0]["scheduled"] == {"A": 4, "C": 4, "D": 4}
    assert steps[0]["why"] == {"B": {"code": "max_loras", "limit": 1, "lora": 2}}


def test_an_image_waits_for_encoder_budget():
    requests = (
        ("A", 6, 1, {"images": [{"offset": 0, "length": 5}]}),
        ("B", 6, 1, {"images": [{"offset": 2, "length": 4}]}),
    )
    steps = trace(*requests, encoder_compute_budget=6)
    assert [step["scheduled"] for step in steps] == [{"A": 6, "B": 2}, {"B": 4}]
    assert [step["encoder"] for step in steps] == [{"A": [0]}, {"B": [0]}]
    assert steps[0]["capped"] == {"B": {"code": "encoder_budget", "wanted": 6, "got": 2}}


@pytest.mark.parametrize("async_scheduling", [False, True])
def test_an_abort_frees_what_the_request_held(async_scheduling):
    steps = trace(("A", 8, 9, {"abort_step": 2}), ("B", 2, 3), num_gpu_blocks=5, async_scheduling=async_scheduling)
    assert [step["free_blocks"] for step in steps] == [1, 0, 3]
    assert steps[2]["running"] == ["B"]
