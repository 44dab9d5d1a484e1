"""Numbers of a run: read from its log they are those of its steps."""

from dataclasses import replace

import pytest
from hypothesis import given

from sim.engine import simulate
from sim.metrics import Objectives, percentiles, summarize
from sim.residency import LazySteps
from sim.scenario import parse_scenario
from tests.strategies import PLAIN_FEATURES, scenarios

OBJECTIVES = Objectives(ttft_us=30_000, tpot_us=5_200, e2el_us=200_000)


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
            opened = replace(trace, steps=tuple(trace.steps))
            assert summarize(trace, scenario, OBJECTIVES) == summarize(opened, scenario, OBJECTIVES)
            assert summarize(trace) == summarize(opened)

    check()


def timed(*requests: tuple[int, int, int], **config):
    keys = ("arrival_us", "prompt_tokens", "output_tokens")
    listed = [{"id": f"r{i}", **dict(zip(keys, numbers, strict=True))} for i, numbers in enumerate(requests)]
    scenario = parse_scenario({"config": config, "requests": listed})
    return simulate(scenario), scenario


def test_time_between_tokens():
    # Steps of 5503, 4922, 4922 us: the first makes the first token, the others one each.
    trace, scenario = timed((0, 64, 3))
    assert [record.step_us for record in trace.steps] == [5503, 4922, 4922]
    summary = summarize(trace, scenario)
    assert summary.itl_us == (4922, 4922, 4922)
    assert summary.itl_steps == (1, 1, 1)
    assert summarize(*timed((0, 64, 1))).itl_us is None


def test_tokens_of_one_step_come_together():
    document = {
        "config": {"num_speculative_tokens": 2},
        "requests": [{"id": "A", "prompt_tokens": 10, "output_tokens": 5, "accepts": [1, 1], "arrival_us": 0}],
    }
    scenario = parse_scenario(document)
    trace = simulate(scenario)
    assert [dict(record.generated) for record in trace.steps] == [{"A": 1}, {"A": 2}, {"A": 2}]
    ends = [record.start_us + record.step_us for record in trace.steps]
    summary = summarize(trace, scenario)
    assert summary.itl_us.p50 == ends[1] - ends[0]
    assert summary.itl_us.p99 == max(ends[1] - ends[0], ends[2] - ends[1])


def test_a_preemption_is_a_long_time_between_tokens():
    # For the ninth token of the first, the second gives up its blocks until the first is done, see test_summary.py.
    trace, scenario = timed((0, 8, 5), (0, 8, 3), block_size=4, num_gpu_blocks=5, max_model_len=64)
    summary = summarize(trace, scenario)
    assert summary.preemptions == 1
    assert summary.itl_steps == (1, 5, 5)
    ends = [record.start_us + record.step_us for record in trace.steps]
    assert summary.itl_us.p99 == ends[5] - ends[0]


@pytest.mark.parametrize(
    ("objectives", "good"),
    [
        (Objectives(), 2),
        (Objectives(ttft_us=5503), 2),
        (Objectives(ttft_us=5502), 0),
        (Objectives(tpot_us=4922), 2),
        (Objectives(tpot_us=4921), 1),
        (Objectives(e2el_us=5503), 1),
        (Objectives(ttft_us=5503, tpot_us=4922, e2el_us=5503 + 2 * 4922), 2),
    ],
)
def test_goodput(objectives, good):
    """The second request has one token, hence no time between tokens."""
    trace, scenario = timed((0, 64, 3), (100_000, 64, 1))
    goodput = summarize(trace, scenario, objectives).goodput
    assert goodput == (*objectives, good, good * 10**9 // 105_503)


def test_goodput_needs_time_and_an_end():
    scenario = parse_scenario({"requests": [{"id": "A", "prompt_tokens": 6, "output_tokens": 3}]})
    assert summarize(simulate(scenario), scenario, OBJECTIVES).goodput is None
    trace, scenario = timed((0, 64, 30))
    cut = simulate(scenario, max_steps=3)
    assert summarize(trace, scenario, Objectives()).goodput.requests == 1
    assert summarize(cut, scenario, Objectives()).goodput.requests == 0


def test_percentiles_of_a_histogram():
    sample = [5, 1, 5, 5, 9, 1, 5, 5, 5, 5]
    assert percentiles(sample) == (5, 5, 9)
