"""What happens in a step: the places of a run that a reader wants to jump to."""

from collections.abc import Sequence
from typing import NamedTuple

from .run import Run
from .words import Words


class Event(NamedTuple):
    """Something that happens in a step.

    Args:
        code: `preempted`, `new`, `resumed`, `cached`, `encoded`, `waits`, `rejected`, `full`, `finished`,
            or `last`: the step computes its last token, and it runs until that output is there.
        ids: of the requests to which it happens; none for `full`.
    """

    code: str
    ids: tuple[str, ...] = ()


def events(run: Run, step: int) -> list[Event]:
    """The events of a step, in the order in which they come about; none after the run's last step.

    What goes on from the step before is no event: a request that still waits for the same reason, a budget that is
    spent again.
    """
    if step >= run.length:
        return []
    record = run.trace.steps[step]
    before = run.trace.steps[step - 1].why() if step else {}
    waits = [
        request_id
        for request_id, why in record.why().items()
        if why["code"] != "preempted" and why["code"] != before.get(request_id, {}).get("code")
    ]
    groups: tuple[tuple[str, Sequence[str]], ...] = (
        ("preempted", record.preempted),
        ("new", record.new),
        ("resumed", record.resumed),
        ("cached", tuple(record.cached)),
        ("encoded", tuple(record.encoder)),
        ("waits", waits),
        ("rejected", [moment.request_id for moment in run.scheduled(step) if moment.rejected]),
    )
    found = [Event(code, tuple(ids)) for code, ids in groups if ids]
    if run.used(step) == run.budget and not (step and run.used(step - 1) == run.budget):
        found.append(Event("full"))
    end = "last" if run.scenario.config.async_scheduling else "finished"
    return [*found, Event(end, tuple(record.finished))] if record.finished else found


def told(found: Sequence[Event], words: Words) -> str:
    """Events as text, such as `preempted: B; left out: C`."""
    join = words("list.short").join
    return words("list.long").join(words(f"event.{event.code}", ids=join(event.ids)) for event in found)


def all_events(run: Run, words: Words) -> list[list[object]]:
    """Every step in which something happens, with what it is: `[[0, "admitted: A"], ...]`, as the scripts take it."""
    every = ((step, events(run, step)) for step in range(run.length))
    return [[step, told(found, words)] for step, found in every if found]
