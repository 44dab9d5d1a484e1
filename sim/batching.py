"""Three ways to batch, on the same requests: what a slot does in every iteration, and how often it does nothing.

A model of its own, for Table 1 of the explainer: no tokens, no budget, no memory. A request needs one slot for `length`
iterations in a row; the last of them is its last token. All three rules take requests in the order of their arrival.

* `static`: batches are fixed beforehand, the first `slots` requests, the next `slots`, and so on. A batch starts when
  all of its requests are there and the batch before has ended.
* `request`: when nothing runs, whoever is there forms the next batch, up to `slots` of them.
* `iteration`: before every iteration, each free slot takes the next request that is there.

Under the first two a slot is released when the longest request of its batch is done; under the third, when its own is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Rule = Literal["static", "request", "iteration"]
RULES: tuple[Rule, ...] = ("static", "request", "iteration")


class Job(NamedTuple):
    """A request: its name, the iteration before which it arrives, and for how many iterations it needs a slot."""

    id: str
    arrival: int
    length: int


class Stay(NamedTuple):
    """A request in a slot: it works from `start` up to `end`, and holds the slot until `release`; both exclusive."""

    job: Job
    slot: int
    start: int
    release: int

    @property
    def end(self) -> int:
        """The iteration after its last."""
        return self.start + self.job.length


class Counts(NamedTuple):
    """Cells of the picture up to some iteration, and what the requests waited up to it.

    Args:
        steps: iterations that have passed.
        busy, held, free: slots in which a request works, in which one is done and still there, in which nobody is.
        waited: iterations that the requests waited for a slot, all together.
    """

    steps: int
    busy: int
    held: int
    free: int
    waited: int


@dataclass(frozen=True, slots=True)
class Run:
    """What became of the requests under one rule. Counts are of slots in iterations: cells of the picture.

    Args:
        rule: which.
        slots: places in a batch.
        stays: every request, in the order of arrival.
    """

    rule: Rule
    slots: int
    stays: tuple[Stay, ...]

    @property
    def steps(self) -> int:
        """Iterations from the first arrival on until all are done."""
        return max((stay.release for stay in self.stays), default=0)

    def after(self, steps: int) -> Counts:
        """The counts once so many iterations have passed; those of the whole run, when that is shorter."""
        steps = min(steps, self.steps)
        busy = sum(max(0, min(stay.end, steps) - stay.start) for stay in self.stays)
        held = sum(max(0, min(stay.release, steps) - stay.end) for stay in self.stays)
        waited = sum(max(0, min(stay.start, steps) - stay.job.arrival) for stay in self.stays)
        return Counts(steps, busy, held, self.slots * steps - busy - held, waited)

    @property
    def busy(self) -> int:
        """Cells in which a request works."""
        return sum(stay.job.length for stay in self.stays)

    @property
    def held(self) -> int:
        """Cells that a request holds though it is done."""
        return sum(stay.release - stay.end for stay in self.stays)

    @property
    def free(self) -> int:
        """Cells in which nobody is."""
        return self.slots * self.steps - self.busy - self.held

    @property
    def empty(self) -> int:
        """Cells in which nothing is computed."""
        return self.held + self.free

    @property
    def waited(self) -> int:
        """Iterations that the requests waited for a slot, all together."""
        return sum(stay.start - stay.job.arrival for stay in self.stays)


def batching(jobs: Sequence[Job], slots: int, rule: Rule) -> Run:
    """Run `jobs` under a rule.

    Args:
        jobs: in order of arrival.
        slots: places, at least one.
        rule: see the module.

    >>> jobs = [Job("A", 0, 1), Job("B", 0, 4), Job("C", 0, 2)]
    >>> [batching(jobs, 2, rule).empty for rule in RULES]
    [5, 5, 1]
    """
    stays = _iterations(jobs, slots) if rule == "iteration" else _batches(jobs, slots, is_fixed=rule == "static")
    return Run(rule, slots, tuple(stays))


def _batches(jobs: Sequence[Job], slots: int, *, is_fixed: bool) -> Iterator[Stay]:
    first = now = 0
    while first < len(jobs):
        batch = jobs[first : first + slots]
        now = max(now, batch[-1 if is_fixed else 0].arrival)
        batch = [job for job in batch if job.arrival <= now]
        release = now + max(job.length for job in batch)
        yield from (Stay(job, slot, now, release) for slot, job in enumerate(batch))
        first, now = first + len(batch), release


def _iterations(jobs: Sequence[Job], slots: int) -> Iterator[Stay]:
    """Each job takes the slot that is free at its turn; of several, the lowest."""
    released = [0] * slots
    turn = 0
    for job in jobs:
        turn = max(turn, job.arrival, min(released))
        slot = next(slot for slot in range(slots) if released[slot] <= turn)
        released[slot] = turn + job.length
        yield Stay(job, slot, turn, released[slot])
