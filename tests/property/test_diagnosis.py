"""The diagnosis of random scenarios."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from build import read_catalogs
from sim.diagnosis import CODES, SEVERITIES, diagnose, try_change
from sim.diagnosis.changes import changed
from sim.diagnosis.draw import draw_findings, draw_trial
from sim.engine import simulate
from sim.figures.words import Words
from sim.scenario import parse_scenario
from tests.strategies import scenarios

MAX_STEPS = 300
few = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
WORDS = [Words(language, messages) for language, messages in read_catalogs("", "diagnosis.").items()]


@pytest.mark.parametrize("in_time", [False, True])
def test_findings_are_of_the_run(in_time):
    @few
    @given(scenarios(in_time=in_time))
    def check(document):
        scenario = parse_scenario(document)
        trace = simulate(scenario)
        ids = {spec.id for spec in scenario.requests}
        for finding in diagnose(scenario, trace):
            assert (finding.code in CODES, finding.severity in SEVERITIES) == (True, True)
            steps = [step for span in finding.spans for step in span]
            assert steps == sorted(steps)
            assert all(0 <= step < len(trace.steps) for step in steps)
            if finding.code == "thrash":
                assert all(trace.steps[first].preempted for first, _ in finding.spans)
            assert len(set(finding.requests)) == len(finding.requests)
            assert set(finding.requests) <= ids
            assert {type(value) for value in finding.operands.values()} <= {int, str}
            if finding.change:
                config = changed(scenario.config, finding.change)
                assert (config == scenario.config, config.refusal()) == (False, None)

    check()


@few
@given(scenarios(max_requests=5))
def test_findings_and_trials_are_drawn(document):
    scenario = parse_scenario(document)
    trace = simulate(scenario, max_steps=MAX_STEPS)
    found = diagnose(scenario, trace)
    trials = [try_change(scenario, trace, finding) for finding in found if finding.change]
    for words in WORDS:
        assert draw_findings(found, words).count("data-finding=") == len(found)
        assert all(draw_trial(trial, words) for trial in trials)


@few
@given(scenarios(features=("overlong", "tight", "nochunk", "scheduled_cap", "encoder", "lookahead", "long_run")))
def test_one_change_makes_all_requests_and_outputs_fit(document):
    scenario = parse_scenario(document)
    for finding in diagnose(scenario, simulate(scenario, max_steps=MAX_STEPS)):
        if finding.code in {"never_fits", "output_cut"}:
            after = replace(scenario, config=changed(scenario.config, finding.change))
            codes = [each.code for each in diagnose(after, simulate(after, max_steps=MAX_STEPS))]
            assert not {"never_fits", finding.code} & set(codes)
