"""The trade-off on real traffic: where its rows come from, and what the five budgets make of them."""

from pathlib import Path

import pytest

from sim.figures.charts import ceiling
from sim.figures.traffic import BUDGETS, ROWS, points
from sim.importers import azure
from sim.metrics import percentiles

FILE = Path(__file__).resolve().parents[1] / "data" / "azure.first60.csv"


def test_rows_are_those_of_the_file() -> None:
    with FILE.open("r", encoding="utf-8", newline="") as lines:
        requests = azure.read(lines).requests
    found = [(request["arrival_us"], request["prompt_tokens"], request["output_tokens"]) for request in requests]
    assert found == list(ROWS)


def test_numbers_of_the_default_density() -> None:
    assert [tuple(point) for point in points(24)] == [
        (512, 54886, 199947, 6167, 13448, 2056, 555),
        (1024, 45780, 159157, 6066, 24320, 2056, 528),
        (2048, 44713, 145638, 6064, 46926, 2051, 516),
        (4096, 43550, 157341, 6050, 92856, 2043, 510),
        (8192, 43790, 159461, 6050, 99709, 2041, 510),
    ]


@pytest.mark.parametrize("density", range(8, 33))
def test_what_the_chapter_says_of_the_gaps(density: int) -> None:
    gaps = [point.itl_p99 for point in points(density)]
    assert gaps == sorted(gaps)
    assert (len(set(gaps)), gaps[-2] == gaps[-1]) == ((4, True) if density < 11 else (5, False))
    assert gaps[-1] > 3 * gaps[0]
    medians = [point.itl_p50 for point in points(density)]
    assert max(medians) * 10 < min(medians) * 12


@pytest.mark.parametrize("density", range(25, 33))
def test_first_tokens_come_later_again_where_it_is_crowded(density: int) -> None:
    medians = {point.budget: point.ttft_p50 for point in points(density)}
    best = 2048 if density < 29 else 1024
    assert all(medians[budget] > medians[best] for budget in BUDGETS if budget > best)


def test_what_the_chapter_says_of_first_tokens() -> None:
    assert [points(32)[place].ttft_p50 // 1000 for place in range(5)] == [108, 71, 73, 105, 129]
    assert [point.budget for point in points(32)] == list(BUDGETS)


def test_the_p99_of_sixty_first_tokens_is_the_slowest() -> None:
    found = percentiles(range(len(ROWS)))
    assert found is not None
    assert (len(ROWS), found.p99) == (60, 59)


def test_axis_ends_at_a_round_number() -> None:
    assert [ceiling(value) for value in (0, 1, 7, 10, 11, 99, 101, 2056)] == [1, 1, 8, 10, 20, 100, 200, 3000]
