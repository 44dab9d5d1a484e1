"""The time of a batch: known sums of the published table, and both forms by hand."""

import pytest

from sim.cost import COST_MODELS

BATCHES = {
    "1 decode": [(255, 1)],
    "32 decodes": [(1023, 1)] * 32,
    "128 decodes": [(1023, 1)] * 128,
    "prefill 1024": [(0, 1024)],
    "prefill 8192": [(0, 8192)],
    "mixed": [(1023, 1)] * 32 + [(0, 512)],
}
TIMES = {
    "h200-llama-3.1-8b": (4928, 6358, 9889, 21254, 200209, 12854),
    "h100-llama-3.1-8b": (6197, 8409, 13000, 21915, 201559, 13893),
    "a100-llama-3.1-8b": (11102, 14102, 24453, 63408, 558674, 38396),
    "l40s-llama-3.1-8b": (22603, 30396, 53049, 70651, 678554, 46451),
}


@pytest.mark.parametrize("name", TIMES)
def test_published_table(name):
    assert tuple(COST_MODELS[name].step_us(batch) for batch in BATCHES.values()) == TIMES[name]


def test_order_in_the_batch_does_not_matter():
    model = COST_MODELS["h200-llama-3.1-8b"]
    assert model.step_us(reversed(BATCHES["mixed"])) == model.step_us(BATCHES["mixed"])


def test_between_and_beyond_the_knots():
    model = COST_MODELS["h200-llama-3.1-8b"]
    assert [model.linear_us(tokens) for tokens in (1, 2, 16, 40, 8192, 8193, 16384)] == [
        4920,
        4920 + 290 // 15,
        5210,
        5210 + 292 * 24 // 48,
        170193,
        85133 + 85060 * 4097 // 4096,
        85133 + 85060 * 3,
    ]


def test_a_chunk_that_starts_late_reads_what_is_before_it():
    model = COST_MODELS["h200-llama-3.1-8b"]
    assert model.step_us([(4096, 512)]) == 11080 + (938 * (512 * (2 * 4096 + 512) // 2) >> 20)


def test_knee():
    model = COST_MODELS["h200-llama-3.1-8b-knee"]
    assert model.step_us([(255, 1)]) == 4074 + 1062 + (31574 * 256 >> 20)
    assert model.step_us([(0, 1024)]) == 4074 + 1062 * 1024 // 64 + (2056 * 524288 >> 20)
