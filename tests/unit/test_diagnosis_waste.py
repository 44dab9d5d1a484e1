"""Runs that do work twice, in the way or in vain: for each rule one, and one that only just is all right."""

import pytest

from sim.diagnosis import diagnose, try_change
from sim.diagnosis.trial import Number
from sim.engine import simulate
from sim.scenario import Scenario, parse_scenario
from tests.unit.diagnosing import codes, findings, request, scenario, sharing, the

# --- thrash, unused budget


def test_thrash():
    requests = [request("A", 16, 14), request("B", 16, 14), request("C", 24, 2, 2)]
    run = scenario(*requests, num_gpu_blocks=16, scheduler_reserve_full_isl=False)
    trace = simulate(run)
    finding = the("thrash", diagnose(run, trace))
    assert (finding.severity, finding.requests, finding.spans) == ("warning", ("C",), ((3, 3), (5, 5), (7, 7)))
    assert [record.step for record in trace.steps if record.preempted] == [3, 5, 7]
    assert finding.operands == {"preemptions": 3, "recomputed": 42, "computed": 125, "id": "C", "times": 3}
    assert finding.change == {"scheduler_reserve_full_isl": True}
    trial = try_change(run, trace, finding)
    assert (trial.helps, trial.numbers[0]) == (True, Number("recomputed", 42, 14, "tokens"))


@pytest.mark.parametrize("reserve", [True, False])
def test_thrash_of_outputs_that_grow(reserve):
    # Everyone is preempted as a decode; a look at the whole prompt keeps nobody out.
    four = [request(each, 4, 20) for each in "ABCD"]
    found = findings(*four, num_gpu_blocks=14, scheduler_reserve_full_isl=reserve)
    assert the("thrash", found).change == {"max_num_seqs": 3}


def test_one_preemption_is_no_thrash():
    assert "thrash" not in codes(request("A", 15, 8), request("B", 15, 8), num_gpu_blocks=9)


@pytest.mark.parametrize(
    ("config", "cause", "change"),
    [({"max_num_seqs": 2}, "max_num_seqs", {"max_num_seqs": 4}), ({"num_gpu_blocks": 6}, "kv_blocks", None)],
)
def test_budget_unused(config, cause, change):
    run = scenario(*(request(f"r{i}", 4, 6) for i in range(4)), **config)
    trace = simulate(run)
    finding = the("budget_unused", diagnose(run, trace))
    assert (finding.severity, finding.operands["cause"]) == ("hint", cause)
    assert finding.operands["budget"] == 16
    if change is not None:
        assert finding.change == change
        assert finding.requests == ("r2", "r3")
    assert try_change(run, trace, finding).helps


@pytest.mark.parametrize(
    "config",
    [
        # The budget is used; nobody waits; no blocks for more places.
        {"max_num_seqs": 2, "max_num_batched_tokens": 3},
        {"max_num_seqs": 4},
        {"max_num_seqs": 2, "num_gpu_blocks": 8},
    ],
)
def test_budget_used_or_of_no_use(config):
    assert "budget_unused" not in codes(*(request(f"r{i}", 4, 6) for i in range(4)), **config)


# --- work that is in the way, or done twice


def timed(prompt_tokens: int, **config) -> Scenario:
    decodes = [request(f"d{i}", 16, 60, arrival_us=0) for i in range(4)]
    prompts = [request(f"P{i}", prompt_tokens, 2, arrival_us=50_000 + 60_000 * i) for i in range(3)]
    config = {"max_num_batched_tokens": 4096, "max_num_seqs": 16} | config
    return parse_scenario({"config": config, "requests": decodes + prompts})


def test_prefill_stalls():
    run = timed(8000)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.severity) == ("prefill_stalls", "hint")
    assert set(finding.requests) >= {"d0", "d1", "d2", "d3"}
    assert finding.operands["longest_us"] > 4 * finding.operands["alone_us"]
    assert finding.change == {"max_num_batched_tokens": 1024}
    assert try_change(run, trace, finding).helps


@pytest.mark.parametrize("run", [timed(500), timed(8000, max_num_batched_tokens=256)])
def test_prefill_that_is_not_in_the_way(run):
    assert "prefill_stalls" not in [finding.code for finding in diagnose(run, simulate(run))]


def test_block_waste():
    requests = [request(f"r{i}", 3, 4) for i in range(8)]
    config = {"block_size": 16, "num_gpu_blocks": 4, "max_num_seqs": 8}
    run = scenario(*requests, **config)
    trace = simulate(run)
    finding = the("block_waste", diagnose(run, trace))
    assert finding.operands == {"block_size": 16, "empty": 39, "slots": 48}
    assert finding.change == {"block_size": 1, "num_gpu_blocks": 64}
    assert try_change(run, trace, finding).helps
    assert "block_waste" not in codes(*requests, **config | {"num_gpu_blocks": 9})
    assert "block_waste" not in codes(*requests, **config | {"block_size": 2, "num_gpu_blocks": 32})


def test_cache_off():
    run = scenario(*sharing(12))
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.severity, finding.spans) == ("cache_off", "hint", ((4, 4), (8, 8), (12, 12)))
    assert finding.requests == ("r1", "r2", "r3")
    assert finding.operands == {"lost": 36, "total": 80, "count": 3, "block_size": 4}
    assert finding.change == {"enable_prefix_caching": True}
    assert try_change(run, trace, finding).numbers[0] == Number("prefill", 80, 44, "tokens")


def test_cache_blocks():
    run = scenario(*sharing(15), enable_prefix_caching=True, block_size=16)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.operands["lost"]) == ("cache_blocks", 45)
    assert finding.change == {"block_size": 4, "num_gpu_blocks": 400}
    assert try_change(run, trace, finding).numbers[0] == Number("prefill", 80, 44, "tokens")


def test_cache_evicted():
    requests = [request(f"r{i}", 20, 2, 4 * i, prefix=[[f"S{i % 2}", 16]]) for i in range(4)]
    run = scenario(*requests, enable_prefix_caching=True, num_gpu_blocks=7)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.requests, finding.operands["lost"]) == ("cache_evicted", ("r2", "r3"), 32)
    assert finding.change == {"num_gpu_blocks": 15}
    assert try_change(run, trace, finding).helps


@pytest.mark.parametrize(
    ("requests", "config"),
    [
        (sharing(1), {}),
        (sharing(12, num=1), {}),
        (sharing(12), {"enable_prefix_caching": True}),
        ([request("A", 20, 2, prefix=[["S", 12]]), request("B", 20, 2, prefix=[["S", 12]])], {}),
        ([request("A", 20, 2, prefix=[["S", 12]], lora=1), request("B", 20, 2, 4, prefix=[["S", 12]])], {}),
        ([request("A", 20, 2, prefix=[["S", 12]]), request("B", 20, 2, 4, prefix=[["a", 1], ["S", 12]])], {}),
    ],
)
def test_nothing_to_be_found_in_a_cache(requests, config):
    assert codes(*requests, max_num_batched_tokens=64, **config) == []
