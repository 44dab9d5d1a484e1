"""Every reason is true: what it says follows from the trace and the scenario, derived anew."""

import inspect

import pytest

from sim import reasons
from sim.engine import simulate
from sim.scenario import parse_scenario
from tests.golden.claims import CLAIMS, capped
from tests.golden.recordings import by_family
from tests.golden.replay import Replay

FAMILIES = {
    family: [recording for recording in recordings if "error" not in recording.trace]
    for family, recordings in by_family().items()
}


def wrong_in(moment):
    """What is wrong with the reasons of one step."""
    step, why = moment.step, moment.step["why"]
    without = [r for r in (*step["running"], *step["waiting"]) if r not in step["scheduled"]]
    if list(why) != without:
        yield f"reasons for {list(why)}, without tokens are {without}"
    if set(step["running"]) | set(step["waiting"]) != set(moment.lives):
        yield f"in the queues {step['running']} {step['waiting']}, there are {list(moment.lives)}"
    for request_id, reason in why.items():
        yield from (f"{request_id}: {reason}: {text}" for text in CLAIMS[reason["code"]](moment, request_id, reason))
    for request_id, reason in step.get("capped", {}).items():
        yield from (f"{request_id}: capped {reason}: {text}" for text in capped(moment, request_id, reason))
    # Who got all that it wanted samples, whoever did not is capped.
    short = {r for r in step["scheduled"] if r not in step["generated"] and r in step["running"]}
    late = {r for r in short if moment.lives[r].known > step["computed"][r]}
    if missing := late - set(step.get("capped", {})):
        yield f"{sorted(missing)} got less than they wanted, and it is not told why"


def moments(recording):
    trace = simulate(parse_scenario(recording.scenario)).to_json(explain=True)
    return Replay(recording.scenario, trace).moments()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_reason_is_true(family):
    wrong = [
        f"{recording.name}, step {moment.step['step']}: {text}"
        for recording in FAMILIES[family]
        for moment in moments(recording)
        for text in wrong_in(moment)
    ]
    assert not wrong, "\n".join(wrong[:40])


def made_for_reasons():
    """The steps of the recordings that were chosen for the reasons in them, one after the other."""
    for family in ("reason", "disorder"):
        for recording in FAMILIES[family]:
            yield from moments(recording)


def test_every_code_occurs():
    steps = [moment.step for moment in made_for_reasons()]
    why = {reason["code"] for step in steps for reason in step["why"].values()}
    got_less = {reason["code"] for step in steps for reason in step.get("capped", {}).values()}
    made = {name for name, function in vars(reasons).items() if inspect.isfunction(function) and name != "fill"}
    # With two batches in flight the output of a victim is back before the victim is looked at.
    assert why | got_less == made - {"async_stale_output"}
    assert why == set(CLAIMS)
    assert got_less == {
        *("token_budget", "long_prefill_token_threshold", "model_len"),
        *("encoder_budget", "encoder_cache", "chunked_mm_input_off"),
    }


def test_a_wrong_operand_is_found():
    operands, found = set(), set()
    for moment in made_for_reasons():
        for request_id, reason in moment.step["why"].items():
            for operand, value in reason.items():
                if isinstance(value, int):
                    operands.add((reason["code"], operand))
                    changed = [reason | {operand: value + 1}, reason | {operand: value - 1}]
                    if any(list(CLAIMS[reason["code"]](moment, request_id, other)) for other in changed):
                        found.add((reason["code"], operand))
    # The image that came first under the hash may be gone: only that its length is another one can be told.
    assert operands - found == {("encoder_mismatch", "known")}
