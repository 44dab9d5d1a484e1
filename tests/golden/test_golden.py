"""Our traces equal the recorded ones of the real scheduler, in every field of every step."""

import pytest

from sim import fast
from sim.engine import simulate
from sim.parameters import CONFIG, by_name
from sim.scenario import parse_scenario
from tests.golden.recordings import by_family, first_difference

FAMILIES = by_family()


SCENARIOS = {r.name: parse_scenario(r.scenario) for recordings in FAMILIES.values() for r in recordings}
# `simulate` has several ways through the same rules; only `plain` knows them all.
WAYS = [(family, "plain") for family in FAMILIES] + [
    (family, driver)
    for driver in ("awake", "fast")
    for family, recordings in FAMILIES.items()
    if any(fast.applies(SCENARIOS[recording.name]) for recording in recordings)
]


@pytest.mark.parametrize(("family", "driver"), WAYS)
def test_traces_equal_the_recorded_ones(family, driver):
    differences = {}
    for recording in FAMILIES[family]:
        scenario = SCENARIOS[recording.name]
        if driver == "plain" or fast.applies(scenario):
            ours = simulate(scenario, driver=driver).to_json()
            if difference := first_difference(ours, recording.trace):
                differences[recording.name] = difference
    assert not differences, "\n".join(f"{name}: {difference}" for name, difference in differences.items())


def test_every_family_is_here():
    text = "basic nochunk tightkv priority prefix longprefill watermark spec async asyncspec limits abort encoder mix"
    assert {*text.split(), "corner", "cases"} <= set(FAMILIES)


def test_every_outcome_is_here():
    outcomes = [
        recording.trace.get("outcome", recording.trace.get("error"))
        for recordings in FAMILIES.values()
        for recording in recordings
    ]
    assert {outcome: outcomes.count(outcome) >= 10 for outcome in set(outcomes)} == {
        "finished": True,
        "stalled": True,
        "max_steps": True,
        "ValidationError": True,
    }


def test_a_refusal_names_its_parameter():
    refused = [r for recordings in FAMILIES.values() for r in recordings if "error" in r.trace]
    fields = {simulate(SCENARIOS[recording.name]).to_json()["field"] for recording in refused}
    assert fields
    assert fields <= set(by_name(CONFIG))


# --- the comparison itself


@pytest.fixture
def recorded():
    recording = next(r for r in FAMILIES["basic"] if len(r.trace["steps"]) > 2 and len(r.scenario["requests"]) > 1)
    return recording.trace


@pytest.mark.parametrize("field", ["scheduled", "blocks", "running", "computed", "free_blocks", "generated"])
def test_comparison_sees_a_field(recorded, field):
    step = recorded["steps"][1]
    changed = {**recorded, "steps": [recorded["steps"][0], {**step, field: None}, *recorded["steps"][2:]]}
    assert first_difference(changed, recorded) == f"step 1, {field}: None, recorded {step[field]!r}"


def test_comparison_sees_the_order_of_keys(recorded):
    steps = [
        {**step, "computed": dict(reversed(step["computed"].items()))} if len(step["computed"]) > 1 else step
        for step in recorded["steps"]
    ]
    assert steps == recorded["steps"]
    assert ", computed: " in first_difference({**recorded, "steps": steps}, recorded)


def test_comparison_sees_steps_too_few_and_too_many(recorded):
    steps = recorded["steps"]
    shorter = {**recorded, "steps": steps[:-1]}
    assert first_difference(shorter, recorded) == f"{len(steps) - 1} steps, recorded {len(steps)}"
    assert first_difference(recorded, shorter) == f"{len(steps)} steps, recorded {len(steps) - 1}"


def test_comparison_sees_a_livelock_that_is_cut_too_early():
    recorded = next(r.trace for rs in FAMILIES.values() for r in rs if r.trace.get("outcome") == "max_steps")
    assert first_difference(recorded, recorded) == "a livelock of 200 steps, expected 1500"


def test_comparison_sees_a_field_too_many(recorded):
    steps = [{**step, "extra": 1} for step in recorded["steps"]]
    assert first_difference({**recorded, "steps": steps}, recorded) == "step 0, fields added: ['extra']"
