"""Small parts of the importers."""

from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from sim.figures.imports import import_file
from sim.figures.words import Words
from sim.importers import FORMATS
from sim.importers.dates import day_number
from sim.importers.notes import NOTES
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


def read_messages(language):
    path = Path(__file__).resolve().parents[2] / "site" / "locales" / f"{language}.po"
    with path.open("rb") as file:
        return {str(message.id): str(message.string) for message in read_po(file) if message.id}


def test_the_page_s_english_is_that_of_the_command_line():
    told = {f"import.note.{code}": text for code, text in NOTES.items()}
    told |= {f"import.help.{name}": importer.help for name, importer in FORMATS.items()}
    messages = read_messages("en")
    assert {key: text for key, text in messages.items() if key.startswith(("import.note.", "import.help."))} == told


def test_an_account_is_in_the_language_of_the_page():
    line = b"vllm serve M -pp 2 --max-num-seqs 64 --max-model-len auto --enforce-eager=true"
    told = import_file({"data": line, "format": "auto"}, Words("zh", read_messages("zh")))
    notes = told["html"].partition('data-list="notes"')[2]
    assert "-pp 2：各级流水线之间会同时有好几批在跑，这里没有模拟" in notes
    assert "max_num_batched_tokens在H100或H200上是8192，在其他多数GPU上是2048" in notes
    assert notes.count("<li>") == len(told["scenario"]["imported"]["notes"])
    english = "-pp 2: several batches in flight between the stages are not modelled"
    assert english in told["scenario"]["imported"]["notes"]
