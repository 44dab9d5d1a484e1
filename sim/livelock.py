"""When a run that goes on has no end to wait for: stalls and livelocks, the same for both drivers."""

from collections.abc import Callable

LIVELOCK_STEPS = 1500
"""Runs are watched from this step on, and a livelock that began before is recorded up to it."""

IDLE_STEPS = 4
"""So many empty steps in a row, with nothing still to arrive or to be aborted, are a stall."""


class LivelockWatch:
    """Finds out whether a run goes round in a circle: the same state again, and nothing came of the steps between.

    A state is kept as a mark and compared with each later one; the mark moves on at twice the distance (Brent), so that
    a circle of any length is found.
    """

    def __init__(self) -> None:
        self._mark: tuple[int, object] | None = None

    def end(self, step_index: int, last_progress: int, state: Callable[[], object]) -> int | None:
        """The step before which a livelock is cut, or `None` while there is none.

        Args:
            step_index: the step to come; the one before was not empty, and nothing is still to arrive.
            last_progress: the last step with an arrival, an abort or a token.
            state: gives all that decides what comes next.
        """
        if step_index < LIVELOCK_STEPS or last_progress == step_index - 1:
            return None  # a circle does not begin with a step of which something came
        now = state()
        mark = self._mark
        if mark is not None and last_progress < mark[0]:
            if now == mark[1]:
                # One that began later is recorded with a whole round.
                return LIVELOCK_STEPS if last_progress < LIVELOCK_STEPS else step_index
            if step_index < 2 * mark[0]:
                return None
        self._mark = (step_index, now)
        return None
