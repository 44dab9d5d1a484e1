"""What can eat the budget of a real vLLM, and what cannot: every number from the simulated scheduler."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.figures.starvation import CODES, CONTROLS, PRESETS, outcome


@pytest.mark.parametrize(
    ("preset", "numbers", "steps", "why"),
    [
        ("places", (16, 0, 0, 16), None, "max_num_seqs"),
        ("cap", (16, 0, 0, 0), None, "token_budget"),
        ("drafts", (8, 24, 0, 0), None, "token_budget"),
        ("free", (16, 0, 16, 0), 2, None),
    ],
)
def test_presets(preset: str, numbers: tuple[int, ...], steps: int | None, why: str | None) -> None:
    found = outcome(PRESETS[preset])
    assert (tuple(found.numbers().values()), found.steps) == (numbers, steps)
    assert found.record.why().get("P", {}).get("code") == why


def test_group_b_as_written_is_refused() -> None:
    error = outcome(PRESETS["literal"]).trace.error
    assert error is not None
    assert error.message.endswith("max_num_batched_tokens (16) must be greater than or equal to max_num_seqs (32).")


@given(st.fixed_dictionaries({row.name: st.integers(int(row.minimum or 0), int(row.maximum or 0)) for row in CONTROLS}))
def test_the_prompt_starves_or_is_told_when_it_is_read(values: dict[str, int]) -> None:
    found = outcome(values)
    if found.trace.error is not None:
        assert values["B"] < values["M"]
        return
    why = found.record.why().get("P")
    assert (found.steps is None) == (why is not None)
    assert why is None or why["code"] in CODES
    # Without drafts and without a cap, tokens never run out before places do.
    if values["K"] == 0 and values["S"] >= values["B"] and why is not None:
        assert why["code"] == "max_num_seqs" or values["D"] >= values["M"] == values["B"]
