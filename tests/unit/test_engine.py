"""The run: arrivals, the clock, aborts, and how it ends."""

import pytest

from sim.engine import simulate
from sim.scenario import parse_scenario

SMALL = {"max_num_batched_tokens": 8, "max_num_seqs": 4, "max_model_len": 64, "block_size": 4, "num_gpu_blocks": 40}
DRIVERS = ("plain", "awake", "fast")


def scenario(*requests: tuple, **config):
    """Requests are `(id, prompt_tokens, output_tokens, others)`."""
    listed = [
        {"id": name, "prompt_tokens": prompt, "output_tokens": output, **(others[0] if others else {})}
        for name, prompt, output, *others in requests
    ]
    return parse_scenario({"config": SMALL | config, "requests": listed})


@pytest.fixture(params=DRIVERS)
def run(request):
    """A run of requests under one driver; the trace as JSON."""
    return lambda *requests, max_steps=None, **config: simulate(
        scenario(*requests, **config), max_steps=max_steps, driver=request.param
    ).to_json(explain=True)


# --- arrivals and departures


def test_a_request_arrives_before_its_step(run):
    steps = run(("A", 4, 1, {"arrival_step": 2}))["steps"]
    assert [step["scheduled"] for step in steps] == [{}, {}, {"A": 4}]


def test_requests_of_one_step_arrive_in_list_order(run):
    late, early = ("late", 3, 1, {"arrival_step": 1}), ("early", 2, 1)
    steps = run(late, ("A", 3, 1, {"arrival_step": 1}), early)["steps"]
    assert [list(step["scheduled"]) for step in steps] == [["early"], ["late", "A"]]


def test_nothing_runs_after_the_end(run):
    trace = run(("A", 4, 1))
    assert (trace["outcome"], trace["unfinished"], len(trace["steps"])) == ("finished", [], 1)


def test_no_requests_are_a_run_of_no_steps(run):
    trace = run()
    assert (trace["outcome"], trace["unfinished"], trace["steps"]) == ("finished", [], [])


@pytest.mark.parametrize(("abort_step", "scheduled"), [(0, 0), (1, 1), (3, 3), (9, 4)])
def test_an_abort_ends_a_request_before_its_step(run, abort_step, scheduled):
    trace = run(("A", 4, 4, {"abort_step": abort_step}))
    assert sum("A" in step["scheduled"] for step in trace["steps"]) == scheduled
    assert (trace["outcome"], trace["unfinished"]) == ("finished", [])
    assert ["A"] not in [step["finished"] for step in trace["steps"][:-1]]


def test_a_request_may_be_aborted_while_it_waits(run):
    steps = run(("A", 4, 3), ("B", 4, 1, {"abort_step": 1}), max_num_seqs=1)["steps"]
    assert [step["waiting"] for step in steps] == [["B"], [], []]


def test_when_all_are_aborted_the_clock_jumps_to_the_next_arrival(run):
    late = ("B", 4, 1, {"arrival_us": 900_000})
    steps = run(("A", 4, 40, {"arrival_us": 0, "abort_step": 3}), late)["steps"]
    assert [step["scheduled"] for step in steps if step["scheduled"]] == [{"A": 4}, {"A": 1}, {"A": 1}, {"B": 4}]
    assert steps[-1]["start_us"] == 900_000


# --- the clock


def test_the_clock_advances_by_the_time_of_each_step(run):
    steps = run(("A", 16, 1, {"arrival_us": 0}), ("B", 4, 1, {"arrival_us": 1}))["steps"]
    assert [step["scheduled"] for step in steps] == [{"A": 8}, {"A": 8}, {"B": 4}]
    assert steps[0]["start_us"] == 0
    assert all(step["step_us"] > 0 for step in steps)
    assert [step["start_us"] for step in steps[1:]] == [step["start_us"] + step["step_us"] for step in steps[:-1]]


def test_the_clock_jumps_to_the_next_arrival(run):
    steps = run(("A", 4, 1, {"arrival_us": 500}), ("B", 4, 1, {"arrival_us": 1_000_000}))["steps"]
    assert [(step["start_us"], step["scheduled"]) for step in steps] == [(500, {"A": 4}), (1_000_000, {"B": 4})]


def test_a_request_waits_for_the_end_of_the_step_in_which_it_comes(run):
    steps = run(("A", 4, 2, {"arrival_us": 0}), ("B", 4, 1, {"arrival_us": 1}))["steps"]
    assert [list(step["scheduled"]) for step in steps] == [["A"], ["A", "B"]]


def test_equal_times_keep_list_order(run):
    steps = run(("B", 2, 1, {"arrival_us": 7}), ("A", 2, 1, {"arrival_us": 7}), ("C", 2, 1, {"arrival_us": 0}))["steps"]
    assert [list(step["scheduled"]) for step in steps] == [["C"], ["B", "A"]]


# --- two batches in flight


def test_outputs_come_one_step_late_under_async():
    steps = simulate(scenario(("A", 4, 2), ("B", 4, 1, {"arrival_step": 2}), async_scheduling=True)).steps
    assert [dict(step.scheduled) for step in steps] == [{"A": 4}, {"A": 1}, {"B": 4}]
    assert [list(step.running) for step in steps] == [["A"], ["A"], ["A", "B"]]


def test_an_empty_step_brings_all_that_is_in_flight():
    steps = simulate(scenario(("A", 4, 2), ("B", 4, 1, {"arrival_step": 4}), async_scheduling=True)).steps
    assert [list(step.running) for step in steps] == [["A"], ["A"], ["A"], [], ["B"]]


# --- ends without an end


def test_a_request_that_can_never_fit_is_a_stall(run):
    trace = run(("A", 4, 1), ("B", 30, 1), num_gpu_blocks=5)
    assert (trace["outcome"], trace["unfinished"], len(trace["steps"])) == ("stalled", ["B"], 1)
    assert trace["steps"][0]["why"] == {"B": {"code": "kv_blocks", "needs": 8, "free": 3, "watermark": 0}}


def test_a_stall_waits_for_arrivals(run):
    requests = (("B", 30, 1, {"priority": 1}), ("A", 4, 1, {"arrival_step": 20}))
    trace = run(*requests, num_gpu_blocks=5, policy="priority")
    assert (trace["outcome"], trace["unfinished"], len(trace["steps"])) == ("stalled", ["B"], 21)
    assert trace["steps"][20]["scheduled"] == {"A": 4}


def test_a_stall_waits_for_an_abort(run):
    trace = run(("B", 30, 1, {"abort_step": 20}), ("A", 4, 1), num_gpu_blocks=5)
    assert (trace["outcome"], len(trace["steps"])) == ("finished", 21)
    assert trace["steps"][20]["scheduled"] == {"A": 4}


TURN = {"num_gpu_blocks": 4, "scheduler_reserve_full_isl": False}
"""Admitted with their first chunk only, requests of more than 12 tokens begin, end their room, and begin again."""


def test_a_livelock_is_recorded_to_step_1500(run):
    trace = run(("A", 8, 9), ("B", 8, 9), **TURN)
    assert (trace["outcome"], trace["unfinished"], len(trace["steps"])) == ("max_steps", ["A", "B"], 1500)
    assert [step["preempted"] for step in trace["steps"][-4:]] == [[], ["A"], [], ["A"]]
    assert not any(step["generated"] for step in trace["steps"][20:])


def test_a_livelock_after_a_long_run_is_found(run):
    blocks = {"block_size": 64, "num_gpu_blocks": 28, "max_num_batched_tokens": 512, "max_model_len": 4_000}
    late = ("A", 2_000, 1, {"arrival_step": 1_600})
    trace = run(("L", 4, 1_600), late, **TURN | blocks)
    assert (trace["outcome"], trace["unfinished"]) == ("max_steps", ["A"])
    assert 1_600 < len(trace["steps"]) < 5_000
    # What is kept holds a whole round: A is preempted and comes back.
    last = [step for step in trace["steps"] if step["generated"]][-1]["step"]
    circle = trace["steps"][last + 1 :]
    assert any(step["preempted"] for step in circle)
    assert any(step["resumed"] for step in circle)


def test_a_long_run_that_makes_progress_is_not_cut(run):
    trace = run(("A", 4, 2_000), max_model_len=4_000, num_gpu_blocks=1_000)
    assert (trace["outcome"], len(trace["steps"])) == ("finished", 2_000)


def test_a_long_prefill_is_progress(run):
    trace = run(("A", 2_000, 1), max_num_batched_tokens=1, max_num_seqs=1, max_model_len=4_000, num_gpu_blocks=1_000)
    assert (trace["outcome"], len(trace["steps"])) == ("finished", 2_000)


def test_max_steps_cuts_before_that_step(run):
    trace = run(("A", 4, 9), max_steps=3)
    assert (trace["outcome"], trace["unfinished"]) == ("max_steps", ["A"])
    assert [step["step"] for step in trace["steps"]] == [0, 1, 2]


def test_max_steps_0_runs_nothing(run):
    trace = run(("A", 4, 9), max_steps=0)
    assert (trace["outcome"], trace["unfinished"], trace["steps"]) == ("max_steps", ["A"], [])


def test_a_stall_is_told_from_a_livelock_whenever_it_begins(run):
    trace = run(("A", 1_500, 1), max_num_batched_tokens=1, max_num_seqs=1, max_model_len=1_500, num_gpu_blocks=1_000)
    assert (trace["outcome"], len(trace["steps"])) == ("stalled", 1_499)


# --- what vLLM refuses


def test_a_refused_configuration_is_a_trace_without_steps(run):
    trace = run(("A", 4, 1), max_num_batched_tokens=2)
    assert trace == {
        "name": None,
        "engine": "vllm 0.33.0",
        "error": "ValidationError",
        "field": "max_num_batched_tokens",
        "message": "Value error, max_num_batched_tokens (2) must be greater than or equal to max_num_seqs (4).",
    }


def test_a_failed_assertion_of_vllm_is_an_error_too():
    config = {"num_speculative_tokens": 4, "long_prefill_token_threshold": 2, "max_num_batched_tokens": 16}
    trace = simulate(scenario(("A", 4, 6), ("B", 1, 2, {"arrival_step": 3}), **config)).to_json()
    assert (trace["error"], trace["field"]) == ("AssertionError", "long_prefill_token_threshold")
    assert trace["message"].startswith("long_prefill_token_threshold (2) cuts a decode that was filled up to 5 tokens")
