"""Figures: pure functions from values to HTML and SVG text, used by the build, the page's worker and a notebook."""

from .batching import BATCHING
from .budgets import BUDGETS
from .figure import Figure
from .hardware import HARDWARE
from .one_step import ONE_STEP
from .schedules import SCHEDULES
from .starvation import STARVATION
from .tradeoff import TRADEOFF

_SINGLE = (ONE_STEP, BATCHING, BUDGETS, STARVATION, TRADEOFF)
FIGURES: dict[str, Figure] = {
    figure.name: figure for figure in (*_SINGLE, *(schedule.figure() for schedule in SCHEDULES), HARDWARE)
}
"""All figures by name, in the order of the page."""

__all__ = ["FIGURES", "Figure"]
