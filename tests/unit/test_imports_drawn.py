"""What an import looks like: the account, the offer's numbers, and measured beside simulated."""

import json
import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from sim.figures.beside import MOST_POINTS, draw_beside
from sim.figures.imports import import_file
from sim.figures.words import Words
from sim.importers import FORMATS
from sim.importers.notes import NOTES
from sim.page import handle
from sim.scenario import parse_scenario

ROOT = Path(__file__).resolve().parents[2]
TIMED = {"requests": [{"id": "A", "arrival_us": 0, "prompt_tokens": 900, "output_tokens": 700}]}
STEPS = {"requests": [{"id": "A", "prompt_tokens": 9, "output_tokens": 7}]}
SERIES = {"num_requests_running": [[0, 3], [5_000_000, 4]], "kv_cache_usage_perc": [[0, 0.25]]}


@pytest.fixture(scope="module", params=["en", "zh"])
def words(request) -> Words:
    with (ROOT / "site" / "locales" / f"{request.param}.po").open("rb") as file:
        return Words(request.param, {str(item.id): str(item.string) for item in read_po(file) if item.id})


def test_the_account(words):
    rows = "5,5,7,w\n" + "x,5,7,w\n" * 25
    data = f"Timestamp,Request tokens,Response tokens,who\n{rows}".encode()
    found = import_file({"format": "auto", "data": data, "name": "mine"}, words)
    assert (found["requests"], found["unit"], found["scenario"]["name"]) == (1, "s", "mine")
    assert found["html"].count("<li>") == 20 + 1 + 1
    assert words.html("import.more", n=5) in found["html"]
    assert 'data-list="unknown"><h3>' in found["html"]


def test_notes_are_in_the_language_of_the_page(words):
    line = b"vllm serve M -pp 2 --max-num-seqs 64 --max-model-len auto --enforce-eager=true"
    found = import_file({"format": "auto", "data": line}, words)
    html, notes = found["html"].partition('data-list="notes"')[2], found["scenario"]["imported"]["notes"]
    english = "-pp 2: several batches in flight between the stages are not modelled"
    assert english in notes
    assert {"en": english, "zh": "-pp 2：各级流水线之间会同时有好几批在跑，这里没有模拟"}[words.language] in html
    assert html.count("<li>") == len(notes)


def test_the_page_s_english_is_that_of_the_command_line(words):
    told = {f"import.note.{code}": text for code, text in NOTES.items()}
    told |= {f"import.help.{name}": importer.help for name, importer in FORMATS.items()}
    catalogue = {key: text for key, text in words._messages.items() if key.startswith(("import.note.", "import.help."))}
    assert catalogue == told if words.language == "en" else catalogue.keys() == told.keys()


def test_markup_in_a_file_stays_text(words):
    data = b'vllm serve M "<img src=x>" --<b>x</b> --max-num-seqs "<i>"'
    html = import_file({"format": "serve-command", "data": data}, words)["html"]
    assert not re.search(r"<(img|i|b)>? ?(src|x)", html)
    assert "&lt;img src=x&gt;" in html


def test_measured_and_simulated(words):
    html = draw_beside(parse_scenario(TIMED), SERIES, words)
    assert html.count("<figure") == 3
    assert [html.count(f'class="beside-{name}"') for name in ("measured", "simulated")] == [2, 3]
    points = re.findall(r'beside-simulated" d="M([^"]+)"', html)
    assert all(len(path.split("L")) <= MOST_POINTS for path in points)
    assert words.html("import.steps") in draw_beside(parse_scenario(STEPS), SERIES, words)
    assert draw_beside(parse_scenario({"requests": []}), {}, words) == ""


def test_several_engines_are_several_lines(words):
    series = {f'num_requests_waiting{{engine="{n}"}}': [[0, n], [1, 0]] for n in range(3)}
    html = draw_beside(parse_scenario({"requests": []}), series, words)
    assert html.count('class="beside-measured"') == 3


def test_every_word_is_there_and_used(words):
    sources = "".join((ROOT / "sim" / "figures" / f"{name}.py").read_text("utf-8") for name in ("imports", "beside"))
    used = set(re.findall(r'"(import\.[\w.]*\w)"', sources))
    used |= {f"import.{name}" for name in ("removed", "unknown", "peak.measured", "peak.simulated")}
    used |= {f"import.chart.{name}" for name in ("running", "waiting", "kv")}
    used |= {f"import.note.{code}" for code in NOTES} | {f"import.help.{name}" for name in FORMATS}
    assert {name for name in words._messages if name.startswith("import.")} == used


def test_through_the_page():
    question = {"do": "import", "format": "auto", "language": "en"}
    # A checkout has no catalogue: what is refused before words are needed is told all the same.
    answer = json.loads(handle(json.dumps(question), b"\x1f\x8b"))
    assert answer == {"error": "1: is not text but a gzip file, unpack it first", "field": "1"}


def joined(present: dict, imported: dict, tells: str) -> dict:
    message = {"do": "import-join", "present": present, "scenario": imported, "tells": tells}
    return json.loads(handle(json.dumps(message)))["result"]


def test_a_configuration_is_tried_on_the_requests_that_are_there():
    imported = {"name": "server", "config": {"max_num_seqs": 4}, "requests": []}
    assert joined(STEPS, imported, "configuration") == {**imported, **STEPS}
    assert joined(STEPS, imported, "all") == imported


@pytest.mark.parametrize(
    ("max_model_len", "present_counts"),
    [(901, True), (900, False)],
    ids=["a token is left for the output", "the prompt fills it"],
)
def test_requests_run_under_the_configuration_that_is_there_if_their_prompts_fit(max_model_len, present_counts):
    there = {"config": {"max_model_len": max_model_len, "max_num_batched_tokens": 999_999}, "requests": []}
    imported = {"name": "trace", "config": {"max_model_len": 4096}, **TIMED}
    assert parse_scenario({**TIMED, **there, "requests": []}).warnings()  # a warning of the configuration is no reason
    config = there["config"] if present_counts else imported["config"]
    assert joined(there, imported, "requests") == {**imported, "config": config}
