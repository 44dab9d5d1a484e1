"""What tests of the sandbox read off its page, and the same from the simulator."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from sim.engine import simulate
from sim.sandbox.controls import FIRST_CONFIG, REQUESTS
from sim.scenario import parse_scenario

OpenPage = Callable[..., Page]
WaitReady = Callable[..., Page]

FIRST = {"name": "sandbox", "config": FIRST_CONFIG, "requests": list(REQUESTS)}


def current(page: Page) -> Locator:
    """The figure, once its picture belongs to its controls."""
    figure = page.locator('batch-loom[figure="sandbox"]')
    expect(figure).to_have_attribute("data-state", "current")
    return figure


def control(figure: Locator, name: str) -> Locator:
    """A control of the form."""
    return figure.locator(f'[name="{name}"]:not(output)')


def drawn(figure: Locator) -> dict[int, dict[str, int]]:
    """Tokens by step and request, as the pieces of the timeline say."""
    pieces = figure.locator("g[data-tokens]").evaluate_all("list => list.map(({dataset}) => ({...dataset}))")
    steps: dict[int, dict[str, int]] = {}
    for piece in pieces:
        steps.setdefault(int(piece["step"]), {})[piece["request"]] = int(piece["tokens"])
    return steps


def planned(document: dict) -> dict[int, dict[str, int]]:
    """The same from the simulator."""
    return {step.step: dict(step.scheduled) for step in simulate(parse_scenario(document)).steps if step.scheduled}


def open_group(figure: Locator, name: str) -> Locator:
    """A group of the form, opened."""
    group = figure.locator(f"#sandbox-group-{name}")
    if group.get_attribute("open") is None:
        group.locator("summary").first.click()
    return group
