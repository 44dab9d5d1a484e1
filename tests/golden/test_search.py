"""The search for scenarios that the real scheduler runs otherwise, with a scheduler that is wrong on purpose."""

import pytest

from oracle import search
from sim.engine import simulate
from sim.scenario import parse_scenario


def right(scenario, max_steps):
    return simulate(parse_scenario(scenario), max_steps=max_steps).to_json()


def wrong_with_two(scenario, max_steps):
    """One block too many is free wherever two requests run."""
    trace = right(scenario, max_steps)
    for step in trace.get("steps", ()):
        step["free_blocks"] += len(step["running"]) == 2
    return trace


@pytest.fixture
def found(monkeypatch):
    monkeypatch.setattr(search, "RUN", 60)
    monkeypatch.setattr(search, "MOST_MISMATCHES", 1)
    monkeypatch.setattr(search, "say", lambda text: None)

    def run(ask):
        one = search.Search(ask)
        one.run(count=40, first_seed=1)
        return one

    return run


def test_equal_traces_are_counted(found):
    result = found(right)
    assert result.count >= 40
    assert result.mismatches == []
    assert result.by_feature["prompt_tokens"] == result.count


def test_a_mismatch_is_made_small(found):
    smallest, *_ = found(wrong_with_two).mismatches
    assert "free_blocks" in smallest["difference"]
    assert len(smallest["scenario"]["requests"]) == 2
    assert [request["prompt_tokens"] for request in smallest["scenario"]["requests"]] == [1, 1]


def test_the_order_of_errors_does_not_matter():
    step = {"finished": ["C", "B", "A"], "generated": {"C": 1}}
    assert search.with_errors_sorted({"steps": [step]})["steps"][0]["finished"] == ["C", "A", "B"]
