"""Questions of the figures that are no run of steps: places, budgets, starvation, the trade-off."""

from collections.abc import Iterator

from ...batching import RULES, batching
from ...onestep import onestep
from ...parameters import Value
from .. import starvation
from ..batching import SLOTS, jobs
from ..budgets import YOURS, D, M, P
from ..one_step import DEFAULTS
from ..tradeoff import DENSITY
from ..traffic import points
from .question import Option, Question


def questions() -> Iterator[Question]:
    """All of them, in the order of the page."""
    yield _one_step()
    yield _batching()
    yield _budgets()
    yield _starvation()
    yield _tradeoff()


def _one_step() -> Question:
    """Three more decodes than the picture has: how much of the prompt gets in?"""
    d, p, b, m = (int(str(DEFAULTS[name])) for name in ("D", "P", "B", "M"))
    found = onestep(d + 3, p, b, m)
    mistakes = {
        "unchanged": onestep(d, p, b, m).prefill,
        "prompt_first": onestep(d + 3, p, b, m, policy="prefill-first").prefill,
        "whole": onestep(d + 3, p, b, m, chunked_prefill=False).prefill,
        "shared": b // 2,
        "outside": p,
    }
    values = {"usual": d, "D": d + 3, "P": p, "B": b, "steps": found.steps_to_finish_prefill}
    shows = dict(DEFAULTS) | {"D": d + 3}
    return Question("one-step", "one-step", found.prefill, mistakes, shows, values, highest=p)


def _batching() -> Question:
    """All answers of about the same length: which rule wastes least?"""
    tail = 4
    empty = {rule: batching(jobs(tail), SLOTS, rule).empty for rule in RULES}
    least = [rule for rule, cells in empty.items() if cells == min(empty.values())]
    options = [Option(rule, amount=cells) for rule, cells in empty.items()]
    right = least[0] if len(least) == 1 else "same"
    mistakes = {"always": "iteration", "ready": "request", "full": "static"}
    shows = {"tail": tail}
    return Question("batching", "batching", right, mistakes, shows, {"tail": tail}, [*options, Option("same")])


def _budgets() -> Question:
    """The largest budget that leaves the prompt nothing, for ever."""
    axis = range(1, 41)
    right = max(budget for budget in axis if onestep(D, P, budget, M).steps_to_finish_prefill is None)
    mistakes = {
        "off_by_one": right + 1,
        "whole": max(budget for budget in axis if not onestep(0, P, budget, M, chunked_prefill=False).prefill),
        "both": max(budget for budget in axis if onestep(D, P, budget, M).prefill_left),
        "slower": 0,
    }
    values = {"D": D, "P": P, "steps": onestep(D, P, right + 1, M).steps_to_finish_prefill}
    return Question("budgets", "budgets", right, mistakes, {YOURS.name: right}, values, (), 0, axis[-1])


def _starvation() -> Question:
    """Eight decodes with two drafts each: what is left for the prompt?"""
    decodes, drafts = 8, 2
    asked = starvation.ENOUGH | {"D": decodes, "K": drafts}
    found = starvation.outcome(asked)
    right = found.numbers()["prefill"]
    mistakes = {
        "free": starvation.outcome(asked | {"K": 0}).numbers()["prefill"],
        "starved": starvation.outcome(asked | {"K": drafts + 1}).numbers()["prefill"],
        "drafts_only": found.budget - decodes * drafts,
    }
    values = {**asked, "P": starvation.PROMPT, "each": 1 + drafts, "used": found.budget - right}
    return Question("starvation", "starvation", right, mistakes, asked, values, highest=starvation.PROMPT)


def _tradeoff() -> Question:
    """Denser traffic: which budget brings the first token soonest?"""
    density = 32
    runs = points(density)
    options = [Option(str(point.budget), str(point.budget), point.ttft_p50 // 1000) for point in runs]
    by_wait = sorted(runs, key=lambda point: point.ttft_p50)
    usual = int(str(DENSITY.default))
    before = min(points(usual), key=lambda point: point.ttft_p50)
    mistakes = {
        "largest": str(runs[-1].budget),
        "smallest": str(runs[0].budget),
        "unchanged": str(before.budget),
        "near": str(by_wait[1].budget),
    }
    right = str(by_wait[0].budget)
    shows: dict[str, Value] = {"density": density, "budget": right}
    return Question("tradeoff", "tradeoff", right, mistakes, shows, {"density": density, "usual": usual}, options)
