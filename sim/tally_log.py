"""The same tally straight from the log of a run, without opening its steps."""

from array import array
from collections.abc import Sequence
from itertools import accumulate

from .residency import ASLEEP, RunLog, Stay, Wait
from .tally import Moment, Tally


def tally_log(log: RunLog, num_steps: int) -> Tally:
    """What `Tally.add` would make of the first `num_steps` steps one by one."""
    return _Reader(log, num_steps).read()


class _Reader:
    def __init__(self, log: RunLog, num_steps: int) -> None:
        self._log = log
        self._num_steps = num_steps
        self._ends = log.end_times(num_steps)
        self._tally = Tally()
        self._visited = bytearray(num_steps)
        # How many more sleep in a step than in the one before.
        self._more_asleep = array("i", bytes(4 * (num_steps + 1)))

    def read(self) -> Tally:
        tally, log = self._tally, self._log
        tally.waiting_max, tally.waiting_sum = self._lengths(log.waiting)
        tally.running_max, tally.running_sum = self._lengths(log.running)
        tally.preemptions = sum(len(ids) for step, ids in log.preempted.items() if step < self._num_steps)
        for wait in log.waiting:
            if wait.first <= self._last(wait):
                tally.see(wait.request_id, wait.first)
        for stay in log.running:
            if stay.first <= self._last(stay):
                self._served(stay)
        for step, ids in log.finished.items():
            if step < self._num_steps:
                for request_id in ids:
                    tally.of(request_id).finished = self._moment(step)
        self._steps()
        return tally

    def _last(self, stay: Wait) -> int:
        return min(stay.last, self._num_steps - 1)

    def _moment(self, step: int) -> Moment:
        return Moment(step, self._ends[step] if self._ends else 0)

    def _lengths(self, stays: Sequence[Wait]) -> tuple[int, int]:
        """The greatest length of a queue, and the sum of its lengths over all steps."""
        more = array("i", bytes(4 * (self._num_steps + 1)))
        total = 0
        for stay in stays:
            last = self._last(stay)
            if stay.first <= last:
                more[stay.first] += 1
                more[last + 1] -= 1
                total += last - stay.first + 1
        return max(accumulate(more)), total

    def _served(self, stay: Stay) -> None:
        """What a running request got from its admission on."""
        tally, progress, final = self._tally, self._tally.of(stay.request_id), self._last(stay)
        if stay.is_new:
            tally.see(stay.request_id, stay.first)
        else:
            tally.lose(progress)
        ends = [entry[0] - 1 for entry in stay.log[1:]] + [final]
        for (step, num_tokens, computed, _, sampled), end in zip(stay.log, ends, strict=True):
            if step > final:
                break
            if num_tokens == ASLEEP:
                # Here `computed` holds the origin of the sleep.
                self._slept(stay.request_id, step, min(end, final), step - computed)
            elif num_tokens:
                self._visited[step] = 1
                tally.compute(progress, computed - num_tokens, num_tokens)
                if sampled:
                    tally.output(progress, self._moment(step), 1)

    def _slept(self, request_id: str, first: int, last: int, start: int) -> None:
        """One token a step from `first` to `last`; a sleep begins in the step after an output."""
        num_tokens = last - first + 1
        if num_tokens <= 0:
            return
        tally, progress = self._tally, self._tally.of(request_id)
        tally.compute(progress, start, num_tokens)
        tally.generated_tokens += num_tokens
        progress.num_outputs += num_tokens
        progress.latest_token = self._moment(last)
        tally.itl_steps[1] += num_tokens
        self._more_asleep[first] += 1
        self._more_asleep[last + 1] -= 1

    def _steps(self) -> None:
        """What concerns whole steps: which were idle, when the last one ended, how long sleepers wait for a token."""
        tally, before, last_busy = self._tally, 0, -1
        itl_us = tally.itl_us
        for step, (visited, num_asleep) in enumerate(zip(self._visited, accumulate(self._more_asleep), strict=False)):
            if not (visited or num_asleep):
                tally.idle_steps += 1
                continue
            last_busy = step
            end = self._ends[step] if self._ends else 0
            if num_asleep:
                itl_us[end - before] += num_asleep
            before = end
        tally.end_us = self._moment(last_busy).end_us if last_busy >= 0 else 0
