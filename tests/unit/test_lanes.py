"""Lanes of a run: read from its log they are those of its steps."""

from dataclasses import asdict

import pytest
from hypothesis import given

from sim.engine import simulate
from sim.residency import LazySteps
from sim.sandbox.lanes import walk_lanes
from sim.sandbox.reading import read_lanes
from sim.scenario import parse_scenario
from tests.strategies import PLAIN_FEATURES, scenarios


@pytest.mark.parametrize("in_time", [False, True], ids=["steps", "time"])
@pytest.mark.parametrize("max_steps", [None, 7])
@pytest.mark.parametrize("driver", ["fast", "awake"])
def test_the_log_gives_what_the_steps_give(in_time, max_steps, driver):
    @given(scenarios(PLAIN_FEATURES, in_time))
    def check(document):
        scenario = parse_scenario(document)
        trace = simulate(scenario, max_steps=max_steps, driver=driver)
        if trace.error is None:
            assert isinstance(trace.steps, LazySteps)
            assert asdict(read_lanes(scenario, trace)) == asdict(walk_lanes(scenario, trace))

    check()


@pytest.mark.parametrize("driver", ["plain", "fast"])
def test_a_preempted_request_waits_and_computes_again(driver):
    # Of four blocks each takes two; for the ninth token of A, B gives up its own until A is done.
    scenario = parse_scenario(
        {
            "config": {"block_size": 4, "num_gpu_blocks": 5, "max_model_len": 64, "max_num_batched_tokens": 128},
            "requests": [
                {"id": "A", "prompt_tokens": 8, "output_tokens": 5},
                {"id": "B", "prompt_tokens": 8, "output_tokens": 3},
            ],
        }
    )
    found = read_lanes(scenario, simulate(scenario, driver=driver))
    first, second = found.lanes
    assert first.stretches == [(0, 0, "prefill"), (1, 4, "decode")]
    assert second.stretches == [(0, 0, "prefill"), (1, 4, "waiting"), (5, 5, "recompute"), (6, 6, "decode")]
    assert (first.preempted, first.finished) == ([], 4)
    assert (second.preempted, second.finished) == ([1], 6)
    assert list(found.used) == [16, 1, 1, 1, 1, 9, 1]
    assert list(found.free) == [0, 1, 1, 1, 1, 1, 1]
    assert list(found.running) == [2, 1, 1, 1, 1, 1, 1]
    assert list(found.waiting) == [0, 1, 1, 1, 1, 0, 0]
    assert found.events == {
        "admission": [0, 5],
        "preemption": [1],
        "cache_hit": [],
        "finish": [4, 6],
        "budget_full": [],
        "starvation": [],
    }
