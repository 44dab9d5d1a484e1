"""The form of a trace, as the contract has it."""

import json
from dataclasses import FrozenInstanceError

import pytest

from sim.engine import simulate
from sim.scenario import parse_scenario

CONFIG = {"max_num_batched_tokens": 8, "max_num_seqs": 4, "max_model_len": 64}
SIX_STEPS = {
    "name": "six-steps",
    "config": CONFIG,
    "requests": [
        {"id": "A", "arrival_step": 0, "prompt_tokens": 6, "output_tokens": 5},
        {"id": "B", "arrival_step": 1, "prompt_tokens": 10, "output_tokens": 3},
        {"id": "C", "arrival_step": 2, "prompt_tokens": 9, "output_tokens": 3},
    ],
}


def trace(**changes):
    return simulate(parse_scenario(SIX_STEPS | changes))


def test_the_contract_s_example():
    whole = trace().to_json()
    assert list(whole) == ["name", "engine", "outcome", "unfinished", "steps"]
    step = whole["steps"][2]
    assert json.dumps(step) == json.dumps(
        {
            "step": 2,
            "scheduled": {"A": 1, "B": 3, "C": 4},
            "new": ["C"],
            "resumed": [],
            "preempted": [],
            "cached": {},
            "encoder": {},
            "blocks": {"C": [3]},
            "running": ["A", "B", "C"],
            "waiting": [],
            "computed": {"A": 8, "B": 10, "C": 4},
            "spec": {},
            "free_blocks": 9996,
            "generated": {"A": 1, "B": 1},
            "finished": [],
        }
    )


def test_a_trace_survives_json():
    whole = trace().to_json(explain=True)
    assert json.loads(json.dumps(whole)) == whole


def test_reasons_are_added_on_request_and_change_nothing():
    steps, explained = trace().to_json()["steps"], trace().to_json(explain=True)["steps"]
    assert explained[1]["capped"] == {"B": {"code": "token_budget", "wanted": 10, "got": 7}}
    assert [step["why"] for step in explained] == [{}] * 6
    assert [{k: v for k, v in step.items() if k not in ("why", "capped")} for step in explained] == steps


def test_the_order_is_written_down_where_a_reader_may_lose_it():
    named = [{"id": name, "prompt_tokens": 2, "output_tokens": 1} for name in ("b", "10", "9", "a")]
    (step,) = trace(requests=named).to_json()["steps"]
    assert step["order"] == list(step["scheduled"]) == ["b", "10", "9", "a"]
    assert "order" not in trace().to_json()["steps"][0]


def test_times_are_there_in_scenarios_in_time():
    timed = trace(requests=[{"id": "A", "prompt_tokens": 2, "output_tokens": 1, "arrival_us": 9}]).to_json()
    assert timed["steps"][0]["start_us"] == 9
    assert "start_us" not in trace().to_json()["steps"][0]


def test_warnings_stand_before_the_steps():
    whole = trace(config=CONFIG | {"max_model_len": 5}).to_json()
    assert list(whole) == ["name", "engine", "outcome", "unfinished", "warnings", "steps"]
    assert len(whole["warnings"]) == 3


def test_an_error_has_no_steps():
    refused = trace(config={"max_num_batched_tokens": 8}).to_json()
    assert list(refused) == ["name", "engine", "error", "field", "message"]


@pytest.mark.parametrize("driver", ["plain", "fast"])
def test_a_record_cannot_be_changed(driver):
    whole = simulate(parse_scenario(SIX_STEPS), driver=driver)
    with pytest.raises(FrozenInstanceError):
        whole.steps[0].step = 9
    with pytest.raises(FrozenInstanceError):
        whole.outcome = "stalled"


def test_steps_of_every_driver_are_a_sequence():
    plain, fast = (simulate(parse_scenario(SIX_STEPS), driver=driver).steps for driver in ("plain", "fast"))
    for steps in (plain, fast):
        assert len(steps) == 6
        assert [step.step for step in steps] == [0, 1, 2, 3, 4, 5]
        assert (steps[-1].step, [step.step for step in steps[1:3]]) == (5, [1, 2])
        with pytest.raises(IndexError):
            steps[6]
