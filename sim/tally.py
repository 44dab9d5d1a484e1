"""What is counted of a run, and how: the one place that defines it, whatever the run is read from.

A step counts under the number of its `schedule()`; its outputs come at its end.
"""

from collections import Counter
from typing import NamedTuple

from .trace import StepRecord


class Moment(NamedTuple):
    """A step, and in scenarios in time when it ended."""

    step: int
    end_us: int


class Progress:
    """One request on its way: how far it is, and when its tokens came."""

    __slots__ = ("computed", "finished", "first_seen", "first_token", "latest_token", "lost", "num_outputs")

    def __init__(self) -> None:
        self.first_seen: int | None = None
        self.first_token: Moment | None = None
        self.latest_token: Moment | None = None
        self.finished: Moment | None = None
        self.num_outputs = 0
        # Tokens computed so far, without rejected drafts; and how many of them preemptions took away.
        self.computed = 0
        self.lost = 0


class Tally:
    """Sums over a run. Requests may be taken in one after the other, the steps of each in their order."""

    def __init__(self) -> None:
        self.idle_steps = self.preemptions = 0
        self.scheduled_tokens = self.prefill_tokens = self.recomputed_tokens = self.rejected_draft_tokens = 0
        self.cached_tokens = self.generated_tokens = 0
        self.waiting_max = self.waiting_sum = self.running_max = self.running_sum = 0
        self.end_us = 0
        self.requests: dict[str, Progress] = {}
        # How often each distance between a request's steps with output occurred.
        self.itl_steps: Counter[int] = Counter()
        self.itl_us: Counter[int] = Counter()

    @property
    def decode_tokens(self) -> int:
        """Tokens computed for the first time after the first output, accepted drafts included."""
        others = self.prefill_tokens + self.recomputed_tokens + self.rejected_draft_tokens
        return self.scheduled_tokens - others

    # ------------------------------------------------------------------ what things count as

    def of(self, request_id: str) -> Progress:
        """The request's own numbers."""
        found = self.requests.get(request_id)
        if found is None:
            found = self.requests[request_id] = Progress()
        return found

    def see(self, request_id: str, step: int) -> None:
        """It is there in `step`, waiting or just admitted; the first such step is its arrival."""
        progress = self.of(request_id)
        if progress.first_seen is None or step < progress.first_seen:
            progress.first_seen = step

    def lose(self, progress: Progress) -> None:
        """A preemption takes away what it has computed."""
        progress.lost = max(progress.lost, progress.computed)

    def compute(self, progress: Progress, start: int, num_tokens: int) -> None:
        """It computes `num_tokens` from position `start` on, before the output of that step.

        What was computed before and lost is recomputed; of the rest, what comes before the first output is prefill.
        """
        self.scheduled_tokens += num_tokens
        again = min(max(progress.lost - start, 0), num_tokens)
        self.recomputed_tokens += again
        if progress.first_token is None:
            self.prefill_tokens += num_tokens - again
        progress.computed = start + num_tokens

    def reject(self, progress: Progress, num_drafts: int) -> None:
        """Verification turned down `num_drafts` of the tokens that it just computed."""
        self.rejected_draft_tokens += num_drafts
        progress.computed -= num_drafts

    def output(self, progress: Progress, now: Moment, num_tokens: int) -> None:
        """It has output at `now`; several tokens of one step come together, and end one distance."""
        before = progress.latest_token
        if before is None:
            progress.first_token = now
        else:
            self.itl_steps[now.step - before.step] += 1
            self.itl_us[now.end_us - before.end_us] += 1
        progress.latest_token = now
        progress.num_outputs += num_tokens
        self.generated_tokens += num_tokens

    def queue_lengths(self, num_waiting: int, num_running: int) -> None:
        """Lengths of the queues after `schedule()` of one step."""
        self.waiting_max = max(self.waiting_max, num_waiting)
        self.waiting_sum += num_waiting
        self.running_max = max(self.running_max, num_running)
        self.running_sum += num_running

    # ------------------------------------------------------------------ step by step

    def add(self, record: StepRecord) -> None:
        """Take in the next step."""
        self.idle_steps += not record.scheduled
        self.cached_tokens += sum(record.cached.values())
        self.queue_lengths(len(record.waiting), len(record.running))
        known = self.requests
        for queue in (record.new, record.waiting):
            for request_id in [request_id for request_id in queue if request_id not in known]:
                self.see(request_id, record.step)
        self.preemptions += len(record.preempted)
        for request_id in record.preempted:
            self.lose(self.of(request_id))
        for request_id, num_tokens in record.scheduled.items():
            self.compute(self.of(request_id), record.computed[request_id] - num_tokens, num_tokens)
        for request_id in record.spec:
            self.reject(self.of(request_id), record.num_rejected(request_id))
        if record.start_us is not None and record.step_us is not None and record.scheduled:
            self.end_us = record.start_us + record.step_us
        now = Moment(record.step, self.end_us)
        for request_id, num_tokens in record.generated.items():
            self.output(self.of(request_id), now, num_tokens)
        for request_id in record.finished:
            self.of(request_id).finished = now
