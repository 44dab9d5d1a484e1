"""Figures: pure functions from values to HTML and SVG text, used by the build, the page's worker and a notebook."""

from .batching import BATCHING
from .budgets import BUDGETS
from .figure import Figure
from .one_step import ONE_STEP
from .six_steps import SIX_STEPS
from .tradeoff import TRADEOFF

FIGURES: dict[str, Figure] = {figure.name: figure for figure in (ONE_STEP, BATCHING, BUDGETS, SIX_STEPS, TRADEOFF)}
"""All figures by name, in the order of the page."""

__all__ = ["FIGURES", "Figure"]
