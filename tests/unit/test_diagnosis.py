"""Runs in which something fails, waits or starves: for each rule one, and one that only just is all right."""

import pytest

from sim.diagnosis import diagnose, try_change
from sim.diagnosis.trial import Number
from sim.engine import simulate
from sim.sandbox.reading import read_lanes
from sim.scenario import parse_scenario
from tests.unit.diagnosing import LIVELOCK, QUEUE, SMALL, codes, findings, request, scenario, the

# --- healthy runs


@pytest.mark.parametrize(
    ("requests", "config"),
    [
        ([request(f"r{i}", 300 + 37 * i % 500, 40 + 13 * i % 50, 5 * i) for i in range(40)], {}),
        (
            [request("A", 6, 5), request("B", 10, 3, 1), request("C", 9, 3, 2)],
            SMALL | {"max_num_batched_tokens": 8},
        ),
        ([request("A", 64, 200)], {"enable_prefix_caching": True}),
        ([], {}),
    ],
)
def test_a_healthy_run(requests, config):
    run = parse_scenario({"config": config, "requests": requests})
    assert diagnose(run, simulate(run)) == []


def test_lanes_that_are_there_are_used():
    run = scenario(request("A", 4, 30), request("B", 4, 2), max_num_seqs=1)
    trace = simulate(run)
    assert diagnose(run, trace, read_lanes(run, trace)) == diagnose(run, trace) != []


# --- refused


@pytest.mark.parametrize(
    ("config", "change"),
    [
        ({"max_num_seqs": 20}, {"max_num_batched_tokens": 20}),
        ({"enable_chunked_prefill": False}, {"max_num_batched_tokens": 64}),
        ({"max_num_active_seqs": 6}, {"max_num_active_seqs": 4}),
        ({"long_prefill_token_threshold": 65}, {"long_prefill_token_threshold": 64}),
        (
            {"max_num_seqs": 99, "enable_chunked_prefill": False, "max_num_active_seqs": 100},
            {"max_num_batched_tokens": 99, "max_num_active_seqs": 99},
        ),
    ],
)
def test_refused(config, change):
    run = scenario(request("A", 4, 2), **config)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.severity, finding.spans) == ("refused", "error", ())
    assert finding.change == change
    trial = try_change(run, trace, finding)
    assert (trial.helps, trial.numbers) == (True, (Number("unfinished", 1, 0, "requests"),))


def test_a_failed_assertion_of_vllm():
    """A decode that is filled up with drafts is cut: the threshold is raised to what it needs."""
    run = scenario(request("A", 4, 6), request("B", 1, 2, 3), num_speculative_tokens=4, long_prefill_token_threshold=2)
    trace = simulate(run)
    assert trace.error is not None
    (finding,) = diagnose(run, trace)
    assert finding.change == {"long_prefill_token_threshold": 5}
    assert try_change(run, trace, finding).helps


# --- never fits, stalled, livelock


@pytest.mark.parametrize(
    ("misfit", "config", "operands", "change"),
    [
        (
            request("A", 20, 25),
            {"num_gpu_blocks": 11},
            {"limit": "blocks", "needs": 11, "has": 10},
            {"num_gpu_blocks": 12},
        ),
        (request("A", 65, 5), {}, {"limit": "model_len", "needs": 70, "has": 64}, {"max_model_len": 70}),
        (
            request("A", 20, 5, images=[{"offset": 2, "length": 9}]),
            {"encoder_compute_budget": 8},
            {"limit": "encoder_budget", "needs": 9, "has": 8},
            {"encoder_compute_budget": 9},
        ),
        (
            request("A", 20, 5, images=[{"offset": 2, "length": 9}]),
            {"encoder_compute_budget": 12, "encoder_cache_size": 8},
            {"limit": "encoder_cache", "needs": 9, "has": 8},
            {"encoder_cache_size": 9},
        ),
        (
            request("A", 20, 5, images=[{"offset": 0, "length": 17}]),
            {"encoder_compute_budget": 32, "disable_chunked_mm_input": True},
            {"limit": "chunked_mm_input_off", "needs": 17, "has": 16},
            {"max_num_batched_tokens": 17},
        ),
        (
            request("A", 20, 5),
            {"enable_chunked_prefill": False, "max_num_batched_tokens": 64, "max_num_scheduled_tokens": 16},
            {"limit": "chunked_prefill_off", "needs": 20, "has": 16},
            {"max_num_scheduled_tokens": 20},
        ),
    ],
)
def test_never_fits(misfit, config, operands, change):
    run = scenario(request("B", 5, 5), misfit, **config)
    trace = simulate(run)
    found = diagnose(run, trace)
    finding = the("never_fits", found)
    assert (finding.severity, finding.requests) == ("error", ("A",))
    assert finding.operands == {"id": "A", **operands}
    assert finding.change == change
    assert the("stalled", found).change == change
    trial = try_change(run, trace, finding)
    assert trial.helps
    assert trial.numbers[0].after == 0


@pytest.mark.parametrize(
    ("fits", "config"),
    [
        (request("A", 20, 25), {"num_gpu_blocks": 12}),
        (request("A", 59, 5), {}),
        (request("A", 20, 5, images=[{"offset": 2, "length": 8}]), {"encoder_compute_budget": 8}),
        (request("A", 16, 5), {"enable_chunked_prefill": False, "max_num_batched_tokens": 64}),
    ],
)
def test_just_fits(fits, config):
    assert codes(request("B", 5, 5), fits, **config) == []


@pytest.mark.parametrize(
    ("requests", "config", "told", "change"),
    [
        # None ever runs, as the first one stands in front of a pool that is too small for it.
        (
            [request("A", 153, 5), request("B", 60, 20), request("C", 10, 5)],
            {"num_gpu_blocks": 16},
            {"model_len": ("A",), "blocks": ("B",)},
            {"max_model_len": 158, "num_gpu_blocks": 41},
        ),
        # The prompt fits, and leaves no room for its first token.
        (
            [request("A", 64, 5), request("B", 60, 20)],
            {"num_gpu_blocks": 16},
            {"model_len": ("A",), "blocks": ("B",)},
            {"max_model_len": 80, "num_gpu_blocks": 21},
        ),
        # B has been cut at max_model_len; with a larger one it becomes as long as it is asked for.
        (
            [request("A", 65, 5, 40), request("B", 60, 45)],
            {"num_gpu_blocks": 18},
            {"model_len": ("A",)},
            {"max_model_len": 105, "num_gpu_blocks": 27},
        ),
        (
            [request("A", 80, 5, images=[{"offset": 0, "length": 30}])],
            {
                "max_model_len": 90,
                "enable_chunked_prefill": False,
                "max_num_batched_tokens": 90,
                "max_num_scheduled_tokens": 40,
                "encoder_compute_budget": 20,
                "num_gpu_blocks": 9,
            },
            {"blocks": ("A",)},
            {"max_num_scheduled_tokens": 80, "num_gpu_blocks": 22, "encoder_compute_budget": 30},
        ),
    ],
)
def test_one_change_raises_all_limits_that_are_exceeded(requests, config, told, change):
    run = scenario(*requests, **config)
    trace = simulate(run)
    found = [finding for finding in diagnose(run, trace) if finding.code == "never_fits"]
    assert {finding.operands["limit"]: finding.requests for finding in found} == told
    assert {tuple(finding.change.items()) for finding in found} == {tuple(change.items())}
    assert try_change(run, trace, found[0]).numbers[0].after == 0


def test_a_prompt_that_no_configuration_takes_is_offered_nothing():
    finding = the("never_fits", findings(request("A", 10_000_000, 1), max_model_len=64))
    assert (finding.operands["limit"], finding.change) == ("model_len", {})


@pytest.mark.parametrize("more", [{}, {"async_scheduling": True}])
def test_output_cut(more):
    run = scenario(request("A", 30, 30), request("B", 5, 5, 2), request("C", 38, 4), max_model_len=40, **more)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.severity, finding.requests) == ("output_cut", "warning", ("A", "C"))
    assert finding.spans == ((5, 5), (10, 10))
    assert finding.operands == {"id": "A", "got": 10, "wanted": 30, "has": 40, "missing": 22, "count": 2}
    assert finding.change == {"max_model_len": 60}
    trial = try_change(run, trace, finding)
    assert (trial.helps, trial.numbers[0]) == (True, Number("missing", 22, 0, "tokens"))


def test_whole_output_needs_blocks_too():
    run = scenario(request("A", 30, 30), max_model_len=40, num_gpu_blocks=11)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert finding.change == {"max_model_len": 60, "num_gpu_blocks": 16}
    assert try_change(run, trace, finding).helps


@pytest.mark.parametrize("whole", [request("A", 30, 10), request("A", 30, 30, abort_step=4)])
def test_output_that_is_not_cut(whole):
    assert codes(whole, max_model_len=40) == []


def test_what_is_aborted_was_not_too_large():
    """Only a run tells what is never finished; an abort ends it first."""
    assert "never_fits" not in codes(request("A", 20, 25, abort_step=3), num_gpu_blocks=11)


def test_stalled():
    finding = the("stalled", findings(request("A", 20, 25), request("B", 5, 5, 3), num_gpu_blocks=10))
    assert finding.spans == ((7, 18),)
    assert finding.requests == ("A", "B")
    assert finding.operands == {"cause": "kv_blocks", "count": 2}


def test_stalled_before_the_first_step():
    finding = the("stalled", findings(request("A", 41, 1), request("B", 4, 1), num_gpu_blocks=11))
    assert (finding.spans, finding.requests) == ((), ("A", "B"))


def test_stalled_by_drafts():
    run = scenario(
        request("A", 5, 4, accepts=[0]), num_speculative_tokens=2, draft_slots_per_request=16, max_num_batched_tokens=16
    )
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.operands, finding.change) == ({"cause": "draft_slots", "count": 1}, {"max_num_batched_tokens": 32})
    assert try_change(run, trace, finding).helps


def test_livelock():
    run = scenario(request("A", 50, 5), request("B", 5, 5), **LIVELOCK)
    trace = simulate(run)
    found = diagnose(run, trace)
    finding = the("livelock", found)
    assert finding.spans == ((1, 1499),)
    assert finding.operands == {"steps": 1499, "since": 1, "preemptions": 500}
    assert finding.change == {"num_gpu_blocks": 15}
    assert [finding.code for finding in found] == ["never_fits", "livelock"]
    assert try_change(run, trace, finding).helps


def test_a_run_that_was_cut_is_no_livelock():
    run = scenario(request("A", 5, 50))
    assert diagnose(run, simulate(run, max_steps=30)) == []


# --- starvation


def test_starvation_behind_a_long_prompt():
    long = [request("L", 400, 2), *(request(f"s{i}", 4, 3, 1) for i in range(2))]
    run = scenario(*long, max_model_len=512, num_gpu_blocks=200)
    trace = simulate(run)
    finding = the("starvation", diagnose(run, trace))
    assert (finding.severity, finding.requests, finding.spans) == ("warning", ("s0", "s1"), ((1, 24),))
    assert finding.operands == {"cause": "token_budget", "id": "s0", "longest": 24, "count": 2, "first": 1, "last": 24}
    assert finding.change == {"long_prefill_token_threshold": 4}
    trial = try_change(run, trace, finding)
    assert (trial.helps, trial.first_difference) == (True, 1)
    assert trial.numbers[0] == Number("waited", 48, 0, "steps")


@pytest.mark.parametrize(("output_tokens", "starves"), [(19, False), (20, True)])
def test_starvation_begins_with_so_many_steps(output_tokens, starves):
    found = codes(request("A", 4, output_tokens), request("B", 4, 2), max_num_seqs=1, max_num_batched_tokens=4)
    assert ("starvation" in found) == starves


@pytest.mark.parametrize(
    ("num_gpu_blocks", "change"),
    [
        (100, {"max_num_seqs": 3}),
        (14, {"max_num_seqs": 2}),
        # No block for another one: six more for each of the two that wait.
        (12, {"max_num_seqs": 3, "num_gpu_blocks": 24}),
    ],
)
def test_places_are_offered_with_the_blocks_that_they_lack(num_gpu_blocks, change):
    three = [request(f"r{i}", 4, 21) for i in range(3)]
    run = scenario(*three, max_num_seqs=1, max_num_batched_tokens=4, num_gpu_blocks=num_gpu_blocks)
    trace = simulate(run)
    finding = the("starvation", diagnose(run, trace))
    assert (finding.operands["cause"], finding.change) == ("max_num_seqs", change)
    assert try_change(run, trace, finding).helps


def test_places_and_blocks_for_no_more_than_there_are():
    many = [request(f"r{i}", 10, 12) for i in range(24)]
    sizes = {"max_num_batched_tokens": 64, "block_size": 64, "num_gpu_blocks": 9}
    finding = the("starvation", findings(*many, max_num_seqs=8, **sizes))
    assert finding.change == {"max_num_seqs": 24, "num_gpu_blocks": 25}


def test_who_waits_while_others_are_preempted_lacks_blocks():
    sizes = [(1, 48, 35), (5, 46, 29), (0, 43, 39), (2, 42, 31), (1, 17, 26)]
    requests = [request(f"r{i}", prompt, output, arrival) for i, (arrival, prompt, output) in enumerate(sizes)]
    config = {"max_num_batched_tokens": 32, "max_num_seqs": 8, "max_model_len": 128, "num_gpu_blocks": 29}
    run = scenario(*requests, **config, scheduler_reserve_full_isl=False, prefill_schedule_interval=4)
    trace = simulate(run)
    (finding,) = [each for each in diagnose(run, trace) if each.operands.get("cause") == "after_preemption"]
    assert (finding.requests, finding.change) == (("r4",), {"num_gpu_blocks": 40})
    assert try_change(run, trace, finding).helps


def test_active_places_are_offered_first():
    found = findings(request("A", 4, 20), request("B", 4, 2), max_num_active_seqs=1, max_num_batched_tokens=4)
    assert the("starvation", found).change == {"max_num_active_seqs": 2}


def test_starvation_for_blocks():
    run = scenario(request("A", 36, 24), request("B", 28, 4), num_gpu_blocks=16)
    trace = simulate(run)
    finding = the("starvation", diagnose(run, trace))
    assert (finding.operands["cause"], finding.requests) == ("kv_blocks", ("B",))
    assert try_change(run, trace, finding).helps


def test_starvation_for_an_adapter():
    two = [request("A", 4, 30, lora=1), request("B", 4, 2, lora=2)]
    run = scenario(*two, max_loras=1)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.operands["cause"], finding.change) == ("starvation", "max_loras", {"max_loras": 2})
    assert try_change(run, trace, finding).helps
    assert codes(*two) == []


def test_waiting_alone_is_no_starvation():
    """Nobody else gets tokens while an engine is idle."""
    assert codes(request("A", 4, 2), request("B", 4, 2, 100)) == []


# --- the head of the queue


def test_head_of_line():
    run = scenario(*QUEUE, num_gpu_blocks=13, max_num_batched_tokens=64)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.severity, finding.spans) == ("head_of_line", "warning", ((1, 5),))
    assert finding.requests == ("C", "D")
    assert finding.operands == {"cause": "kv_blocks", "head": "B", "needs": 8, "left": 4, "count": 2, "steps": 5}
    assert finding.change == {"num_gpu_blocks": 18}
    trial = try_change(run, trace, finding)
    assert (trial.helps, trial.numbers[0].before) == (True, 11)


@pytest.mark.parametrize(
    ("requests", "config"),
    [
        # B fits; B waits alone; those behind it are as large; they have run before; it is over too soon.
        (QUEUE, {"num_gpu_blocks": 17}),
        (QUEUE[:2], {"num_gpu_blocks": 13}),
        ([*QUEUE[:2], request("C", 32, 2, 1)], {"num_gpu_blocks": 13}),
        ([request("A", 24, 3), *QUEUE[1:]], {"num_gpu_blocks": 13}),
    ],
)
def test_no_head_of_line(requests, config):
    assert "head_of_line" not in codes(*requests, max_num_batched_tokens=64, **config)


def test_head_of_line_that_may_not_be_cut():
    requests = [request(f"d{i}", 4, 8) for i in range(3)] + [request("P", 14, 2, 1), request("S", 2, 2, 1)]
    config = {"enable_chunked_prefill": False, "max_num_batched_tokens": 64, "max_num_scheduled_tokens": 16}
    finding = the("head_of_line", findings(*requests, max_num_seqs=8, **config))
    assert finding.operands["cause"] == "chunked_prefill_off"
    assert (finding.requests, finding.change) == (("S",), {"enable_chunked_prefill": True})
