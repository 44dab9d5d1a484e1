"""The three rules of batching, in literal cells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.batching import RULES, Job, Rule, batching
from sim.figures.batching import COLUMNS, SLOTS, TAIL, jobs

THREE = [Job("A", 0, 1), Job("B", 0, 4), Job("C", 1, 2)]
JOBS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 12)), min_size=1, max_size=12).map(
    lambda rows: [Job(str(place), arrival, length) for place, (arrival, length) in enumerate(sorted(rows))]
)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("static", [("A", 0, 0, 1, 4), ("B", 1, 0, 4, 4), ("C", 0, 4, 6, 6)]),
        ("request", [("A", 0, 0, 1, 4), ("B", 1, 0, 4, 4), ("C", 0, 4, 6, 6)]),
        ("iteration", [("A", 0, 0, 1, 1), ("B", 1, 0, 4, 4), ("C", 0, 1, 3, 3)]),
    ],
)
def test_who_is_where(rule: Rule, expected: list[tuple[str, int, int, int, int]]) -> None:
    run = batching(THREE, 2, rule)
    assert [(stay.job.id, stay.slot, stay.start, stay.end, stay.release) for stay in run.stays] == expected


def test_a_static_batch_waits_until_it_is_full_and_a_dynamic_one_does_not() -> None:
    late = [Job("A", 0, 2), Job("B", 5, 2)]
    assert [batching(late, 2, rule).stays[0].start for rule in RULES] == [5, 0, 0]
    assert [batching(late, 2, rule).steps for rule in RULES] == [7, 7, 7]


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        (2, [(12, 23, 15), (12, 23, 7), (12, 23, 0)]),
        (10, [(22, 47, 31), (18, 31, 19), (14, 15, 0)]),
        (12, [(26, 59, 39), (20, 35, 23), (16, 19, 0)]),
    ],
)
def test_numbers_of_the_figure(tail: int, expected: list[tuple[int, int, int]]) -> None:
    runs = [batching(jobs(tail), SLOTS, rule) for rule in RULES]
    assert [(run.steps, run.empty, run.waited) for run in runs] == expected


def test_no_run_is_wider_than_the_picture() -> None:
    assert max(batching(jobs(int(TAIL.maximum or 0)), SLOTS, rule).steps for rule in RULES) <= COLUMNS


@given(JOBS, st.integers(1, 5), st.sampled_from(RULES))
def test_every_request_gets_its_iterations_once_and_alone(requests: list[Job], slots: int, rule: Rule) -> None:
    run = batching(requests, slots, rule)
    assert [stay.job for stay in run.stays] == requests
    assert all(stay.start >= stay.job.arrival and stay.release >= stay.end for stay in run.stays)
    taken = [(stay.slot, step) for stay in run.stays for step in range(stay.start, stay.release)]
    assert len(taken) == len(set(taken)) == run.busy + run.held
    assert run.free >= 0
    if rule == "iteration":
        assert run.held == 0
