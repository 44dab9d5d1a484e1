"""What counts as an event of a step, in single runs and in all of them."""

import itertools
import json

import pytest

from sim.figures.events import events, told
from sim.figures.schedules import SCHEDULES
from tests.unit.test_schedule_figures import ALL, WORDS, draw, run_of


def happenings(name: str, **values: bool | int | str) -> list[list[tuple[str, str]]]:
    this = run_of(name, **values)
    return [[(event.code, "".join(event.ids)) for event in events(this, step)] for step in range(this.length + 1)]


def test_a_preemption_and_what_comes_of_it() -> None:
    assert happenings("preemption") == [
        [("new", "A"), ("waits", "B"), ("full", "")],
        [("new", "B")],
        [("waits", "CD")],
        [("preempted", "B"), ("waits", "CD")],
        [("waits", "BCD"), ("finished", "A")],
        [("resumed", "B"), ("waits", "C"), ("full", "")],
        [("new", "CD")],
        [("finished", "C")],
        [("finished", "BD")],
        [],
    ]


def test_hits_images_and_drafts_are_events() -> None:
    assert happenings("prefix-cache")[1] == [("new", "B"), ("cached", "B")]
    assert happenings("encoder")[:2] == [[("new", "A"), ("encoded", "A"), ("waits", "B"), ("full", "")], [("new", "B")]]
    assert [("rejected", "AB") in step for step in happenings("speculation")] == [False, False, True, True, True, False]


def test_who_still_waits_for_the_same_reason_is_no_event() -> None:
    waiting = [[event for event in step if event[0] == "waits"] for step in happenings("kv-blocks")]
    assert waiting[:6] == [[], [("waits", "C")], [], [], [], []]


@pytest.mark.parametrize(
    ("language", "expected"),
    [("en", "left out: B, C, D; finishes: A"), ("zh", "没分到：B、C、D；做完：A")],
)
def test_requests_are_listed_as_the_language_lists(language: str, expected: str) -> None:
    assert told(events(run_of("preemption"), 4), WORDS[language]) == expected


@pytest.mark.parametrize(("name", "values"), ALL)
def test_every_admission_preemption_and_end_is_an_event(name: str, values: dict[str, bool | int | str]) -> None:
    this = run_of(name, **values)
    for step in range(this.length):
        record, found = this.trace.steps[step], {event.code: event.ids for event in events(this, step)}
        for code, ids in (("new", record.new), ("resumed", record.resumed), ("preempted", record.preempted)):
            assert found.get(code, ()) == tuple(ids)
        end = "last" if this.scenario.config.async_scheduling else "finished"
        assert found.get(end, ()) == tuple(record.finished)
        assert ("full" in found) <= (this.used(step) == this.budget)


@pytest.mark.parametrize(("name", "language"), list(itertools.product([one.name for one in SCHEDULES], WORDS)))
def test_listed_events_are_those_of_the_run(name: str, language: str) -> None:
    (listed,) = [
        json.loads(found.attrib["data-events"])
        for found in draw(name, language).iter()
        if "data-events" in found.attrib
    ]
    this = run_of(name)
    assert [step for step, _ in listed] == [step for step in range(this.length) if events(this, step)]
    assert all(text for _, text in listed)
    assert events(this, this.length) == []
