"""The one-step model: the article's groups and Table 3, its rules one by one, and agreement with the scheduler."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.engine import simulate
from sim.errors import ConfigError
from sim.onestep import coming_steps, deciding_rule, onestep
from sim.scenario import parse_scenario

SLIDERS = {
    "D": st.integers(0, 64),
    "P": st.integers(0, 256),
    "B": st.integers(1, 128),
    "M": st.integers(1, 64),
}
ALL = SLIDERS | {"policy": st.sampled_from(("decode-first", "prefill-first")), "chunked_prefill": st.booleans()}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((10, 24, 16, 32), (10, 6, 18, 0, 4)),
        ((16, 24, 16, 32), (16, 0, 24, 0, None)),
        ((16, 24, 16, 32, "prefill-first"), (0, 16, 8, 0, 2)),
        ((10, 24, 8, 32), (8, 0, 24, 0, None)),
        ((10, 24, 32, 32), (10, 22, 2, 0, 2)),
    ],
)
def test_groups_and_table_3(arguments: tuple[object, ...], expected: tuple[int | None, ...]) -> None:
    assert tuple(onestep(*arguments).to_json().values()) == expected  # type: ignore[arg-type]


def test_group_c_takes_eight_and_eight_in_its_second_step() -> None:
    second = list(coming_steps(16, 24, 16, 32, "prefill-first"))[1]
    assert (second.decode, second.prefill, second.prefill_left) == (8, 8, 0)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # All places are taken: the prompt stays out, whatever the budget.
        ((16, 24, 32, 16), (16, 0, 24, 16, None)),
        # More decodes than places: the others do not run.
        ((20, 24, 32, 16), (16, 0, 24, 16, None)),
        # The prompt may not be cut and does not fit; under either policy the decodes have the budget.
        ((10, 24, 16, 32, "decode-first", False), (10, 0, 24, 6, None)),
        ((10, 24, 16, 32, "prefill-first", False), (10, 0, 24, 6, None)),
        ((10, 24, 34, 32, "decode-first", False), (10, 24, 0, 0, 1)),
        # Nothing to read: done before it starts.
        ((10, 0, 16, 32), (10, 0, 0, 6, 0)),
        ((0, 24, 16, 32), (0, 16, 8, 0, 2)),
    ],
)
def test_rules(arguments: tuple[object, ...], expected: tuple[int | None, ...]) -> None:
    assert tuple(onestep(*arguments).to_json().values()) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ((10, 0, 16, 32), "no_prompt"),
        ((16, 24, 32, 16), "max_num_seqs"),
        ((10, 24, 16, 32), "token_budget"),
        ((16, 24, 16, 32), "token_budget"),
        ((16, 24, 16, 32, "decode-first", False), "token_budget"),
        ((10, 24, 16, 32, "decode-first", False), "chunked_prefill_off"),
        ((10, 24, 16, 32, "prefill-first", False), "chunked_prefill_off"),
        ((16, 24, 16, 32, "prefill-first"), "prefill_first"),
        ((10, 24, 64, 32), "fits"),
    ],
)
def test_deciding_rule(arguments: tuple[object, ...], rule: str) -> None:
    assert deciding_rule(*arguments) == rule  # type: ignore[arg-type]


def test_enormous_prompt_is_counted_not_stepped() -> None:
    assert onestep(10, 6 * 10**30, 16, 32).steps_to_finish_prefill == 10**30


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"D": -1}, "D"),
        ({"P": -1}, "P"),
        ({"B": 0}, "B"),
        ({"M": 0}, "M"),
        ({"D": 1.5}, "D"),
        ({"B": True}, "B"),
        ({"policy": "fcfs"}, "policy"),
        ({"chunked_prefill": 1}, "chunked_prefill"),
    ],
)
def test_bad_values_name_their_field(change: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        onestep(**{"D": 10, "P": 24, "B": 16, "M": 32} | change)  # type: ignore[arg-type]
    assert caught.value.field == field


@given(**ALL)
def test_budget_and_prompt_are_conserved(**values: object) -> None:
    step = onestep(**values)  # type: ignore[arg-type]
    assert step.decode + step.prefill + step.idle == values["B"]
    assert step.prefill + step.prefill_left == values["P"]
    assert min(step.decode, step.prefill, step.prefill_left, step.idle) >= 0


@given(**ALL)
def test_coming_steps_agree_with_the_count(**values: object) -> None:
    total = onestep(**values).steps_to_finish_prefill  # type: ignore[arg-type]
    steps = list(islice(coming_steps(**values), 300))  # type: ignore[arg-type]
    if total is None:
        assert len(steps) == 300
        assert len(set(steps)) == 1
    else:
        assert len(steps) == max(total, 1)
        assert sum(step.prefill for step in steps) == values["P"]
        assert [step.steps_to_finish_prefill for step in steps] == list(range(total, 0, -1)) or total == 0


@given(D=st.integers(0, 20), P=st.integers(1, 60), B=st.integers(1, 40), M=st.integers(1, 24))
def test_decode_first_agrees_with_the_scheduler(D: int, P: int, B: int, M: int) -> None:
    """With at most M decodes; those beyond would wait, and the scheduler admits in order of arrival."""
    D = min(D, M)
    decodes = [{"id": f"d{i}", "prompt_tokens": 1, "output_tokens": 400} for i in range(D)]
    # All of them run before the prompt arrives, however few go in a step.
    arrival = -(-D // B) if D else 0
    prompt = {"id": "P", "arrival_step": arrival, "prompt_tokens": P, "output_tokens": 400}
    config = {
        "max_num_batched_tokens": max(B, M),
        "max_num_scheduled_tokens": B,
        "max_num_seqs": M,
        "max_model_len": 1024,
    }
    scenario = parse_scenario({"name": "one step", "config": config, "requests": [*decodes, prompt]})
    trace = simulate(scenario, max_steps=arrival + 1)
    scheduled = dict(trace.steps[arrival].scheduled) if len(trace.steps) > arrival else {}
    prefill = scheduled.pop("P", 0)
    expected = onestep(D, P, B, M)
    running = len(trace.steps[arrival].running) - bool(prefill) if len(trace.steps) > arrival else 0
    if running < D:  # The budget is too small ever to admit them all.
        assert D > B
        assert prefill == expected.prefill == 0
        return
    assert (sum(scheduled.values()), prefill) == (expected.decode, expected.prefill)
