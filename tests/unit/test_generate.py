"""Generated requests: fixed by their seed, within what was asked for, each quality by a chance of its own."""

import json
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.errors import ConfigError
from sim.generate import GENERATOR, generate
from sim.page import handle
from sim.parameters import by_name
from sim.scenario import parse_scenario
from sim.splitmix import SplitMix64, minus_ln

FIXED = {"prompt_lengths": "fixed", "prompt_tokens": 10, "output_lengths": "fixed", "output_tokens": 5}


def of(key, **values):
    return [request[key] for request in generate(values)]


def test_the_generator_is_splitmix64():
    chance = SplitMix64(1234567)
    assert [chance.next() for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("numerator", [1, 2, 3, 10**6, 2**40 + 1, 2**63, 2**64 - 1, 2**64])
def test_a_logarithm_in_integers(numerator):
    assert abs(minus_ln(numerator) + log(numerator / 2**64) * 2**20) < 40


def test_one_seed_is_one_list_for_ever():
    assert generate({"count": 4, "priorities": "0,5", "prefix_groups": 2}) == [
        {"id": "r0", "arrival_step": 0, "prompt_tokens": 153, "output_tokens": 22}
        | {"priority": 0, "prefix": [["prefix-1", 64]]},
        {"id": "r1", "arrival_step": 3, "prompt_tokens": 672, "output_tokens": 43}
        | {"priority": 0, "prefix": [["prefix-1", 64]]},
        {"id": "r2", "arrival_step": 4, "prompt_tokens": 614, "output_tokens": 21, "priority": 5},
        {"id": "r3", "arrival_step": 16, "prompt_tokens": 115, "output_tokens": 140, "priority": 5},
    ]


@pytest.mark.parametrize(
    ("values", "arrivals"),
    [
        ({"arrivals": "at-once"}, [0, 0, 0, 0, 0]),
        ({"arrivals": "regular", "interval_steps": 3}, [0, 3, 6, 9, 12]),
        ({"arrivals": "bursts", "burst": 2, "interval_steps": 10}, [0, 0, 10, 10, 20]),
        ({"arrivals": "random", "per_1000_steps": 100}, [0, 9, 10, 41, 44]),
    ],
)
def test_arrivals_in_steps(values, arrivals):
    assert of("arrival_step", count=5, **values) == arrivals


def test_arrivals_in_time():
    assert of("arrival_us", count=3, clock="us", arrivals="regular", interval_us=7) == [0, 7, 14]
    random = of("arrival_us", count=2001, clock="us", per_second=100)
    assert random == sorted(random)
    assert 19_000_000 < random[-1] < 21_000_000


def test_lengths():
    count = 4000
    assert set(of("prompt_tokens", count=count, **FIXED)) == {10}
    uniform = of("prompt_tokens", count=count, prompt_lengths="uniform", prompt_tokens=5, prompt_max_tokens=8)
    assert [900 < uniform.count(length) < 1100 for length in (5, 6, 7, 8)] == [True] * 4
    two = of("output_tokens", count=count, output_lengths="bimodal", output_long_permille=250)
    assert set(two) == {50, 500}
    assert 900 < two.count(500) < 1100
    tail = of("output_tokens", count=count, output_tokens=50, output_max_tokens=10_000)
    assert 48 * count < sum(tail) < 52 * count
    assert sorted(tail)[count // 2] < 40
    assert max(of("output_tokens", count=count, output_tokens=50, output_max_tokens=60)) == 60


def test_shared_prefixes_and_priorities():
    requests = generate({"count": 1000, "prefix_groups": 3, "prefix_permille": 400, "priorities": "1, 2"})
    members = [request["prefix"][0] for request in requests if "prefix" in request]
    assert 350 < len(members) < 450
    assert {tuple(member) for member in members} == {("prefix-0", 64), ("prefix-1", 64), ("prefix-2", 64)}
    assert {request["priority"] for request in requests} == {1, 2}


def test_one_quality_leaves_the_others_as_they_were():
    plain = generate({"count": 30})
    changed = generate({"count": 30, "output_lengths": "fixed", "priorities": "0,1", "prefix_groups": 2})
    for key in ("arrival_step", "prompt_tokens"):
        assert [request[key] for request in changed] == [request[key] for request in plain]
    assert generate({"count": 10}) == plain[:10]


@st.composite
def valid_values(draw):
    values = {"count": draw(st.integers(1, 40)), "seed": draw(st.integers(0, 2**32 - 1))}
    for name in ("arrivals", "clock", "prompt_lengths", "output_lengths"):
        values[name] = draw(st.sampled_from(by_name(GENERATOR)[name].choices))
    for what in ("prompt", "output"):
        values[f"{what}_tokens"], values[f"{what}_max_tokens"] = sorted(
            draw(st.lists(st.integers(1, 10_000_000), min_size=2, max_size=2))
        )
    values["prefix_groups"] = draw(st.integers(0, 3))
    values["priorities"] = draw(st.sampled_from(["0", "-1,3", "2"]))
    return values


@given(valid_values())
def test_any_values_give_a_scenario_within_its_ranges(values):
    requests = generate(values)
    assert requests == generate(values)
    scenario = parse_scenario({"requests": requests})
    assert len(scenario.requests) == values["count"]
    assert scenario.in_time == (values["clock"] == "us")
    assert [spec.index for spec in scenario.arrivals()] == list(range(values["count"]))
    for what in ("prompt", "output"):
        least = 1 if values[f"{what}_lengths"] == "long-tail" else values[f"{what}_tokens"]
        lengths = [request[f"{what}_tokens"] for request in requests]
        assert min(lengths) >= least
        assert max(lengths) <= values[f"{what}_max_tokens"]


@pytest.mark.parametrize("row", GENERATOR, ids=by_name(GENERATOR))
def test_the_table(row):
    assert row.check(row.default, row.name) == row.default
    assert row.help_en.endswith(".")
    assert row.help_zh.endswith("。")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"requests": 3}, "requests: unknown key, must be one of count, seed, "),
        ({"count": 0}, "count: 0 is not allowed, must be an integer from 1 to 100000"),
        ({"seed": "x"}, 'seed: "x" is not allowed, must be an integer from 0 to 4294967295'),
        ({"arrivals": "never"}, "arrivals: \"never\" is not allowed, must be 'at-once' or "),
        ({"output_max_tokens": 49}, "output_max_tokens: 49 is not allowed, must be at least output_tokens (50)"),
        ({"priorities": "0,x"}, 'priorities: "0,x" is not allowed, must be integers separated by commas'),
        ({"priorities": "0,2147483648"}, "priorities: 2147483648 is not allowed, must be an integer from "),
        (
            {"count": 3, "arrivals": "regular", "interval_steps": 600_000},
            "interval_steps: the last request would arrive at step 1200000, at most 1000000 is allowed",
        ),
        ({"count": 10_000, "per_1000_steps": 1}, "per_1000_steps: the last request would arrive at step "),
    ],
)
def test_what_cannot_be_generated(values, problem):
    with pytest.raises(ConfigError) as caught:
        generate(values)
    assert str(caught.value).startswith(problem)


def test_through_the_page():
    def ask(**question):
        return json.loads(handle(json.dumps({"do": "generate", **question})))

    assert ask(values={"count": 2, "arrivals": "at-once"} | FIXED) == {
        "result": [{"id": f"r{i}", "arrival_step": 0, "prompt_tokens": 10, "output_tokens": 5} for i in range(2)]
    }
    assert len(ask()["result"]) == 40
    assert ask(values=[]) == {
        "error": "values: [] is not allowed, must be an object of parameters",
        "field": "values",
    }
