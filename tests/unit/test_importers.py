"""Small parts of the importers."""

import pytest

from sim.importers.dates import day_number
from sim.importers.select import sample
from sim.importers.sharegpt import estimate
from sim.importers.shell import commands
from sim.importers.vllm_log import VLLM_LOG


@pytest.mark.parametrize(
    ("date", "number"),
    [((1, 1, 1), 1), ((2000, 2, 29), 730179), ((1970, 1, 1), 719163), ((2026, 12, 1), 739951)],
)
def test_days(date, number):
    assert day_number(*date) == number


@pytest.mark.parametrize("date", [(0, 1, 1), (2023, 2, 29), (1900, 2, 29), (2023, 13, 1), (2023, 0, 1), (2023, 4, 31)])
def test_dates_that_are_none(date):
    assert day_number(*date) is None


def test_words_of_a_shell():
    (command, other) = commands("""a "b c"'d' e\\ f $'g' # h 'i\nj=1 k "$j" ${x:-2} $y""")
    assert [(word.text, word.line) for word in command.words] == [("a", 1), ("b cd", 1), ("e f", 1), ("g", 1)]
    assert [word.text for word in other.words] == ["j=1", "k", "$j", "2", "$y"]
    assert [command.closed for command in commands("a 'b\nc 'd'")] == [False]


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abc", 1), ("abcde", 2), ("先到", 2), ("ab先", 2)])
def test_estimates(text, tokens):
    assert estimate(text) == tokens


def test_a_sample_of_fewer_is_all_of_them():
    line = (
        "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 1 reqs, "
        "Waiting: 0 reqs, GPU KV cache usage: 1.0%"
    )
    imported = VLLM_LOG.read([line], None)
    sample(imported, 3)
    assert (imported.requests, len(imported.notes)) == ([], 1)
