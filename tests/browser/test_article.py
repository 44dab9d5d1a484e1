"""Every number of the article: on the page, and equal to what the command line says."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

Numbers = dict[str, int | None]

GROUPS: dict[str, tuple[dict[str, int | str], Numbers]] = {
    "group-a": (
        {"D": 10, "P": 24, "B": 16, "M": 32},
        {"decode": 10, "prefill": 6, "prefill_left": 18, "idle": 0, "steps_to_finish_prefill": 4},
    ),
    "group-b": (
        {"D": 16, "P": 24, "B": 16, "M": 32},
        {"decode": 16, "prefill": 0, "prefill_left": 24, "idle": 0, "steps_to_finish_prefill": None},
    ),
    "group-c": (
        {"D": 16, "P": 24, "B": 16, "M": 32, "policy": "prefill-first"},
        {"decode": 0, "prefill": 16, "prefill_left": 8, "idle": 0, "steps_to_finish_prefill": 2},
    ),
}
TABLE_3: dict[int, Numbers] = {
    8: {"decode": 8, "prefill": 0, "prefill_left": 24, "steps_to_finish_prefill": None},
    16: {"decode": 10, "prefill": 6, "prefill_left": 18, "steps_to_finish_prefill": 4},
    32: {"decode": 10, "prefill": 22, "prefill_left": 2, "steps_to_finish_prefill": 2},
}


@pytest.fixture(scope="module", params=["en", "zh"])
def live(request: pytest.FixtureRequest, browser: Browser, site_url: str) -> Iterator[Page]:
    """A page whose engine is ready, in each language."""
    with browser.new_page(viewport={"width": 1440, "height": 900}) as page:
        page.goto(f"{site_url}/{request.param}/")
        expect(page.locator("html")).to_have_attribute("data-engine", "ready", timeout=60_000)
        yield page


@pytest.fixture(scope="module")
def command_line(root: Path) -> Callable[..., Numbers]:
    """`python -m sim onestep` with parameters by name."""

    def onestep(**params: int | str) -> Numbers:
        flags = [text for name, value in params.items() for text in (f"--{name}", str(value))]
        command = [sys.executable, "-m", "sim", "onestep", *flags, "--json"]
        answer = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        numbers: Numbers = json.loads(answer.stdout)
        return numbers

    return onestep


def expect_numbers(place: Locator, numbers: Numbers) -> None:
    """The results shown at one place of the page."""
    for name, value in numbers.items():
        shown = place.locator(f'output[name="{name}"]')
        expect(shown).to_have_attribute("data-value", "never" if value is None else str(value))


@pytest.mark.parametrize(("name", "control"), [("one-step", "D"), ("budgets", "B"), ("six-steps", "step")])
def test_worker_draws_what_the_build_drew(live: Page, name: str, control: str) -> None:
    figure = live.locator(f'batch-loom[figure="{name}"]')
    figure.scroll_into_view_if_needed()
    drawn = "(figure) => figure.shadowRoot.querySelector('[data-part=result]').innerHTML"
    before = figure.evaluate(drawn)
    slider = figure.locator(f'input[name="{control}"]')
    value = slider.input_value()
    slider.fill("1")
    expect(figure).to_have_attribute("data-state", "current")
    assert figure.evaluate(drawn) != before
    slider.fill(value)
    expect(figure).to_have_attribute("data-state", "current")
    assert figure.evaluate(drawn) == before


@pytest.mark.parametrize("group", GROUPS)
def test_group_is_one_click_away(live: Page, command_line: Callable[..., Numbers], group: str) -> None:
    params, numbers = GROUPS[group]
    assert command_line(**params) == numbers
    figure = live.locator('batch-loom[figure="one-step"]')
    figure.locator(f'[data-preset="{group}"]').click()
    expect(figure).to_have_attribute("data-state", "current")
    expect_numbers(figure, numbers)
    assert live.evaluate("(params) => window.batchloom.onestep(params)", params) == numbers


def test_second_step_of_group_c(live: Page, command_line: Callable[..., Numbers]) -> None:
    numbers = command_line(D=16, P=8, B=16, M=32, policy="prefill-first")
    assert (numbers["prefill"], numbers["decode"], numbers["steps_to_finish_prefill"]) == (8, 8, 1)
    figure = live.locator('batch-loom[figure="one-step"]')
    figure.locator('[data-preset="group-c"]').click()
    expect(figure).to_have_attribute("data-state", "current")
    pieces = figure.locator('[data-request="P"][data-kind="prefill"]')
    expect(pieces).to_have_count(2)
    assert [piece.get_attribute("data-tokens") for piece in pieces.all()] == ["16", "8"]
    figure.locator('input[name="P"]').fill("8")
    expect_numbers(figure, numbers)


def test_starved_prompt_is_told_why(live: Page) -> None:
    figure = live.locator('batch-loom[figure="one-step"]')
    figure.locator('[data-preset="group-b"]').click()
    expect(figure).to_have_attribute("data-state", "current")
    expect(figure.locator('[data-request="P"][data-why]').first).to_have_attribute("data-why", "token_budget")
    expect(figure.locator('[data-request="P"][data-kind="prefill"]')).to_have_count(0)


@pytest.mark.parametrize("budget", TABLE_3)
def test_row_of_table_3(live: Page, command_line: Callable[..., Numbers], budget: int) -> None:
    numbers = command_line(D=10, P=24, B=budget, M=32)
    assert {name: numbers[name] for name in TABLE_3[budget]} == TABLE_3[budget]
    row = live.locator(f'batch-loom[figure="budgets"] [data-budget="{budget}"]').first
    expect_numbers(row, TABLE_3[budget])


def test_any_other_budget_of_table_3(live: Page, command_line: Callable[..., Numbers]) -> None:
    figure = live.locator('batch-loom[figure="budgets"]')
    figure.scroll_into_view_if_needed()
    for budget in (10, 11, 12, 34, 128):
        figure.locator('input[name="B"]').fill(str(budget))
        expect(figure).to_have_attribute("data-state", "current")
        numbers = command_line(D=10, P=24, B=budget, M=32)
        row = figure.locator(f'[data-part="yours"] li[data-budget="{budget}"]')
        expect_numbers(row, {name: numbers[name] for name in TABLE_3[8]})


def test_six_steps_come_from_the_simulator(live: Page, root: Path) -> None:
    scenario = {
        "name": "six-steps",
        "config": {"max_num_batched_tokens": 8, "max_num_seqs": 4, "max_model_len": 64},
        "requests": [
            {"id": "A", "arrival_step": 0, "prompt_tokens": 6, "output_tokens": 5},
            {"id": "B", "arrival_step": 1, "prompt_tokens": 10, "output_tokens": 3},
            {"id": "C", "arrival_step": 2, "prompt_tokens": 9, "output_tokens": 3},
        ],
    }
    command = [sys.executable, "-m", "sim", "trace", "-"]
    answer = subprocess.run(command, cwd=root, input=json.dumps(scenario), capture_output=True, text=True, check=True)
    steps = json.loads(answer.stdout)["steps"]
    assert steps[2]["scheduled"] == {"A": 1, "B": 3, "C": 4}
    figure = live.locator('batch-loom[figure="six-steps"]')
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_attribute("data-state", "current")
    pieces = figure.locator("[data-step][data-request][data-tokens]").evaluate_all(
        "(all) => all.map(({ dataset }) => [Number(dataset.step), dataset.request, Number(dataset.tokens)])"
    )
    told = {(step["step"], request, tokens) for step in steps for request, tokens in step["scheduled"].items()}
    assert {tuple(piece) for piece in pieces} == told
