"""`onestep`: the article's numbers, and the table."""

import pytest

from sim.parameters import ONESTEP

A = ["--D", "10", "--P", "24", "--B", "16", "--M", "32"]
B = ["--D", "16", "--P", "24", "--B", "16", "--M", "32"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (A, '{"decode": 10, "prefill": 6, "prefill_left": 18, "idle": 0, "steps_to_finish_prefill": 4}'),
        (B, '{"decode": 16, "prefill": 0, "prefill_left": 24, "idle": 0, "steps_to_finish_prefill": null}'),
        (
            [*B, "--policy", "prefill-first"],
            '{"decode": 0, "prefill": 16, "prefill_left": 8, "idle": 0, "steps_to_finish_prefill": 2}',
        ),
        (
            ["--D", "16", "--P", "8", "--B", "16", "--M", "32", "--policy", "prefill-first"],
            '{"decode": 8, "prefill": 8, "prefill_left": 0, "idle": 0, "steps_to_finish_prefill": 1}',
        ),
        (
            ["--D", "10", "--P", "24", "--B", "8", "--M", "32"],
            '{"decode": 8, "prefill": 0, "prefill_left": 24, "idle": 0, "steps_to_finish_prefill": null}',
        ),
        (
            ["--D", "10", "--P", "24", "--B", "32", "--M", "32"],
            '{"decode": 10, "prefill": 22, "prefill_left": 2, "idle": 0, "steps_to_finish_prefill": 2}',
        ),
        (
            [*A, "--no-chunked-prefill"],
            '{"decode": 10, "prefill": 0, "prefill_left": 24, "idle": 6, "steps_to_finish_prefill": null}',
        ),
        (
            ["--D", "40", "--P", "24", "--B", "64", "--M", "32"],
            '{"decode": 32, "prefill": 0, "prefill_left": 24, "idle": 32, "steps_to_finish_prefill": null}',
        ),
        (
            ["--D", "3", "--P", "0", "--B", "16", "--M", "32"],
            '{"decode": 3, "prefill": 0, "prefill_left": 0, "idle": 13, "steps_to_finish_prefill": 0}',
        ),
    ],
    ids=["group A", "group B", "group C", "group C, step 2", "table 3, B 8", "table 3, B 32", "whole", "M", "no P"],
)
def test_numbers(cli, arguments, line):
    assert cli("onestep", *arguments, "--json") == (0, line + "\n", "")


def test_defaults_are_those_of_the_table(cli):
    assert cli("onestep", "--json") == cli("onestep", *A, "--policy", "decode-first", "--chunked-prefill", "--json")


def test_table(cli):
    assert cli("onestep", *A).out == (
        "D 10, P 24, B 16, M 32, decode-first, chunked prefill on\n"
        "\n"
        "step      decode     prefill  prefill left        idle\n"
        "   0          10           6            18           0\n"
        "   1          10           6            12           0\n"
        "   2          10           6             6           0\n"
        "   3          10           6             0           0\n"
        "\n"
        "The prompt is finished after 4 steps.\n"
    )


def test_table_of_a_prompt_that_starves(cli):
    lines = cli("onestep", *B).out.splitlines()
    assert lines[3:] == [
        "   0          16           0            24           0",
        "",
        "Every step is like this one: the prompt is never finished.",
    ]


def test_a_long_table_is_cut(cli):
    lines = cli("onestep", "--D", "15", "--P", "256").out.splitlines()
    assert lines[-3:] == [" ...", "", "The prompt is finished after 256 steps."]
    assert len(lines) == 18


def test_numbers_beyond_the_sliders(cli):
    (result,) = cli("onestep", "--D", "1000", "--P", "0", "--B", "100000", "--M", "5000", "--json").values
    assert (result["decode"], result["idle"]) == (1000, 99000)


def test_help_is_made_from_the_table(cli):
    text = " ".join(cli("onestep", "--help").out.split())
    for parameter in ONESTEP:
        assert parameter.help_en.removesuffix(".") in text
        assert f"default {parameter.default}" in text
