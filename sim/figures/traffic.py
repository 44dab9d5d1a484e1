"""One real excerpt of traffic, and what a budget makes of it in the integer time model.

The rows are the first 60 of the Azure conversation trace of 2023 (`data/AzureLLMInferenceTrace_conv.csv` of
Azure/AzurePublicDataset at b469a113, licence CC BY 4.0, published with "Splitwise: Efficient Generative LLM Inference
Using Phase Splitting", ISCA 2024): thirty seconds of a service for conversations. Its times are here in microseconds
from the first row on.
"""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from ..engine import simulate
from ..metrics import summarize
from ..scenario import Scenario, parse_scenario

BUDGETS = (512, 1024, 2048, 4096, 8192)
COST_MODEL = "h200-llama-3.1-8b"

# fmt: off
ROWS: tuple[tuple[int, int, int], ...] = (
    (0, 374, 44), (4314579, 396, 109), (4541877, 879, 55), (4710427, 91, 16), (5892655, 91, 16), (6311529, 381, 84),
    (7745497, 1313, 142), (8251431, 388, 84), (8337079, 242, 14), (8464985, 209, 152), (8700213, 394, 124),
    (9427468, 394, 59), (9582558, 1315, 174), (10106379, 2221, 15), (10546126, 389, 90), (11157911, 415, 106),
    (11430904, 120, 12), (11836633, 369, 74), (12886545, 206, 162), (13025088, 1353, 142), (13049843, 197, 152),
    (14059550, 181, 154), (14097780, 388, 54), (14293309, 4085, 62), (17420918, 2584, 170), (17792938, 203, 147),
    (18160513, 126, 194), (18463892, 389, 87), (18979439, 2548, 116), (19913927, 91, 16), (19945197, 4081, 74),
    (20478941, 181, 123), (20658353, 191, 217), (20941916, 27, 183), (21370065, 203, 217), (21375087, 398, 81),
    (22712872, 126, 172), (22994856, 209, 181), (23371403, 209, 181), (24146296, 28, 175), (24768385, 437, 88),
    (24894961, 181, 104), (25081422, 203, 138), (25223379, 200, 177), (25249840, 4073, 58), (25324254, 91, 16),
    (25917107, 1087, 401), (26254478, 382, 64), (26407057, 412, 102), (26461144, 194, 217), (27330266, 203, 217),
    (27552529, 200, 217), (28090234, 64, 174), (28353357, 458, 123), (28578535, 1352, 158), (28607772, 874, 404),
    (28764379, 378, 58), (29340288, 91, 16), (29686078, 4074, 50), (30181499, 389, 89),
)
# fmt: on
"""Arrival in microseconds, tokens of the prompt, tokens generated."""


class Point(NamedTuple):
    """A run under one budget. Times in us, to and between tokens as `sim/metrics.py` defines them."""

    budget: int
    ttft_p50: int
    ttft_p99: int
    itl_p50: int
    itl_p99: int
    tokens_per_second: int
    steps: int


def scenario(budget: int, density: int) -> dict[str, object]:
    """The excerpt as a scenario, its arrivals `density` times as close together."""
    requests = [
        {"id": str(place), "arrival_us": arrival // density, "prompt_tokens": prompt, "output_tokens": output}
        for place, (arrival, prompt, output) in enumerate(ROWS)
    ]
    config = {"max_num_batched_tokens": budget, "max_num_seqs": 128, "cost_model": COST_MODEL}
    return {"name": f"azure-{density}x-{budget}", "config": config, "requests": requests}


@lru_cache(maxsize=64)
def points(density: int) -> tuple[Point, ...]:
    """One run for each budget.

    Args:
        density: by how much arrival times are divided, at least 1.
    """
    parsed = parse_scenario(scenario(BUDGETS[0], density))
    configs = (replace(parsed.config, max_num_batched_tokens=budget) for budget in BUDGETS)
    return tuple(_point(replace(parsed, config=config)) for config in configs)


def _point(parsed: Scenario) -> Point:
    summary = summarize(simulate(parsed), parsed)
    ttft, itl, duration = summary.ttft_us, summary.itl_us, summary.duration_us
    assert ttft
    assert itl
    assert duration
    rate = summary.generated_tokens * 1_000_000 // duration
    return Point(parsed.config.max_num_batched_tokens, ttft.p50, ttft.p99, itl.p50, itl.p99, rate, summary.steps)
