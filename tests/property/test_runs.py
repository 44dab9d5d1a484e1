"""Whole runs of random scenarios."""

import itertools
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim import fast
from sim.engine import Run, simulate
from sim.plain import PlainEngine
from sim.scenario import parse_scenario
from sim.scheduler import VllmAssertion
from tests.property.invariants import check
from tests.strategies import FEATURES, PLAIN_FEATURES, scenarios

MAX_STEPS = 300
few = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def digest(scenario, driver="auto"):
    return digest_of(simulate(scenario, max_steps=MAX_STEPS, driver=driver))


def digest_of(trace):
    return json.dumps([trace.to_json(explain=True), trace.stuck])


@few
@given(scenarios())
def test_invariants_hold_in_every_step(document):
    scenario = parse_scenario(document)
    if scenario.config.refusal():
        return
    engine = PlainEngine(scenario)
    try:
        while engine.step_index < 60 and not engine.advance(1):
            if any(
                image.offset + image.length > spec.prompt_tokens for spec in scenario.requests for image in spec.images
            ):
                return
            if all(spec.prompt_tokens < scenario.config.max_model_len for spec in scenario.requests):
                check(engine.scheduler)
    except VllmAssertion:
        return


@few
@given(scenarios())
def test_a_run_is_the_same_twice(document):
    scenario = parse_scenario(document)
    assert digest(scenario) == digest(scenario)


@few
@given(scenarios())
def test_every_finished_request_has_its_tokens(document):
    scenario = parse_scenario(document)
    trace = simulate(scenario, max_steps=MAX_STEPS)
    generated: dict[str, int] = {}
    finished = set()
    for step in trace.steps:
        for request_id, count in step.generated.items():
            generated[request_id] = generated.get(request_id, 0) + count
        finished |= set(step.finished)
    for spec in scenario.requests:
        got = generated.get(spec.id, 0)
        room = max(scenario.config.max_model_len - spec.prompt_tokens, 1)
        assert got <= min(spec.output_tokens, room)
        if spec.id in finished and not spec.images:
            assert got == min(spec.output_tokens, room)


@pytest.mark.parametrize("driver", ["plain", "awake", "fast"])
@pytest.mark.parametrize("in_time", [False, True], ids=["steps", "time"])
def test_slices_of_any_size_make_the_whole_run(driver, in_time):
    @few
    @given(scenarios(PLAIN_FEATURES if driver != "plain" else FEATURES, in_time), st.lists(st.integers(1, 20)))
    def check(document, sizes):
        scenario = parse_scenario(document)
        run = Run(scenario, max_steps=MAX_STEPS, driver=driver)
        progress = [run.progress]
        for size in itertools.chain(sizes, itertools.repeat(1)):
            if run.advance(size):
                break
            progress.append(run.progress)
        assert digest_of(run.trace) == digest(scenario, driver)
        assert progress == sorted(progress)
        assert run.progress == (len(scenario.requests), len(scenario.requests))

    check()


@few
@given(scenarios(features=PLAIN_FEATURES))
def test_all_drivers_give_the_same_trace(document):
    scenario = parse_scenario(document)
    assert fast.applies(scenario)
    plain = digest(scenario, "plain")
    assert digest(scenario, "fast") == plain
    assert digest(scenario, "awake") == plain


@few
@given(scenarios(features=PLAIN_FEATURES, in_time=True))
def test_all_drivers_keep_the_same_time(document):
    scenario = parse_scenario(document)
    assert digest(scenario, "fast") == digest(scenario, "plain")
