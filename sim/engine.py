"""The run: arrivals, `schedule()`, outputs, again and again until nothing is left or nothing can come of it.

`simulate` is the pure function from a scenario to a trace; `Run` is the same, slice by slice.
"""

from typing import NamedTuple

from . import fast
from .collector import collector_resting
from .config import Refusal
from .plain import PlainEngine
from .residency import FOR_EVER
from .scenario import Scenario
from .scheduler import Scheduler, VllmAssertion
from .trace import Trace

SLICE_REQUESTS = 2000
"""A slice for those who show how far the run is: `Run.advance` with it takes well under 100 ms, in WebAssembly too."""


class Progress(NamedTuple):
    """How many requests are done with, finished or aborted, and how many there are."""

    num_done: int
    num_requests: int


class Run:
    """A run that goes on when it is told to; in what pieces changes nothing in its trace.

    Args:
        scenario: configuration and requests.
        max_steps: cut the run before this step; without it only a livelock is cut.
        driver: `plain` visits every request in every step, with all rules; `fast` lets decodes sleep, and `awake` is
            the same driver without sleep, both only where `fast.applies`; `auto` is `fast` where it applies.
        scheduler: another one than ours; the plain driver then runs it, the others have ours built in.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        max_steps: int | None = None,
        driver: str = "auto",
        scheduler: type[Scheduler] = Scheduler,
    ) -> None:
        self._scenario = scenario
        self._warnings = tuple(scenario.warnings())
        self._trace: Trace | None = None
        self._engine: fast.FastEngine | PlainEngine
        refusal = scenario.config.refusal()
        if refusal is not None:
            self._trace = self._refused(refusal)
        elif driver != "plain" and scheduler is Scheduler and fast.applies(scenario):
            self._engine = fast.FastEngine(scenario, driver != "awake", max_steps)
        else:
            self._engine = PlainEngine(scenario, max_steps, scheduler)

    @property
    def progress(self) -> Progress:
        """How far it is."""
        num_requests = len(self._scenario.requests)
        return Progress(num_requests if self._trace else num_requests - self._engine.num_left, num_requests)

    @property
    def trace(self) -> Trace:
        """What it left, once `advance` has said that it is over; with an `error` where vLLM refuses or stops."""
        assert self._trace is not None
        return self._trace

    def advance(self, num_requests: int = FOR_EVER) -> bool:
        """Go on until about `num_requests` requests have been looked at, or to the end.

        Args:
            num_requests: a request counts in each step that looks at it; at least one step is taken.

        Returns:
            Whether the run is over.
        """
        if self._trace is None:
            with collector_resting():
                try:
                    is_over = self._engine.advance(num_requests)
                except VllmAssertion as stop:
                    self._trace = self._refused(Refusal("AssertionError", stop.field, str(stop)))
                else:
                    self._trace = self._finished() if is_over else None
        return self._trace is not None

    def _finished(self) -> Trace:
        engine = self._engine
        unfinished = tuple(sorted(engine.unfinished))
        outcome, steps, stuck = engine.outcome, engine.steps, engine.stuck
        return Trace(self._scenario.name, outcome, unfinished, steps, self._warnings, stuck=stuck)

    def _refused(self, refusal: Refusal) -> Trace:
        return Trace(self._scenario.name, "", (), (), self._warnings, refusal)


def simulate(
    scenario: Scenario, *, max_steps: int | None = None, driver: str = "auto", scheduler: type[Scheduler] = Scheduler
) -> Trace:
    """Run `scenario` to its end; arguments as of `Run`.

    Returns:
        The trace; it has an `error` instead of steps where vLLM refuses the configuration or stops.
    """
    run = Run(scenario, max_steps=max_steps, driver=driver, scheduler=scheduler)
    run.advance()
    return run.trace
