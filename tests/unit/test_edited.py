"""An edited scheduler: loaded from its text, run, held against recorded traces, drawn."""

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from scripts.editor import golden_sample
from sim.compare import first_difference
from sim.edited import Broken, Fault, Parted, against_recording, diff, load, run
from sim.engine import simulate
from sim.figures.edits import draw_edit, draw_recordings
from sim.figures.words import Words
from sim.scenario import parse_scenario

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (ROOT / "sim" / "scheduler.py").read_text("utf-8")
LAST, FIRST = "victim = self.running.pop()", "victim = self.running.pop(0)"
LINE = 1 + SOURCE[: SOURCE.index(LAST)].count("\n")
TIGHT = {
    "config": {"block_size": 4, "num_gpu_blocks": 5},
    "requests": [
        {"id": "A", "prompt_tokens": 7, "output_tokens": 7},
        {"id": "B", "prompt_tokens": 4, "output_tokens": 6},
    ],
}
SAMPLE = golden_sample()


@pytest.fixture(scope="module", params=["en", "zh"])
def words(request) -> Words:
    with (ROOT / "site" / "locales" / f"{request.param}.po").open("rb") as file:
        return Words(request.param, {str(item.id): str(item.string) for item in read_po(file) if item.id})


def edited(found: str, text: str) -> str:
    assert SOURCE.count(found) == 1
    return SOURCE.replace(found, text)


def fault(source: str) -> Fault:
    with pytest.raises(Broken) as caught:
        run(load(source), parse_scenario(TIGHT))
    return caught.value.fault


def test_the_original_agrees_with_itself_and_with_every_recording_of_the_sample():
    original = load(SOURCE)
    scenario = parse_scenario(TIGHT)
    assert first_difference(run(original, scenario), simulate(scenario)) is None
    assert len(SAMPLE) > 300
    assert [item["scenario"]["name"] for item in SAMPLE if against_recording(original, item) is not None] == []


def test_an_edit_parts_from_the_original_where_it_acts():
    scenario = parse_scenario(TIGHT)
    found = first_difference(simulate(scenario, driver="plain"), run(load(edited(LAST, FIRST)), scenario))
    assert (found.step, found.field, found.left, found.right) == (2, "preempted", ["B"], ["A"])


EDITS = {
    (LAST, FIRST): 12,
    ("if step.token_budget <= 0:", "if step.token_budget <= 1:"): 15,
    ("if threshold and self.config.long_prefill_token_threshold_adaptive:", "if False:"): 2,
    ("return num_drafts if pads else 0", "return 0"): 2,
    ("if step.preempted:\n            step.waiting_stop", "if False:\n            step.waiting_stop"): 2,
}


@pytest.mark.parametrize(("edit", "least"), EDITS.items())
def test_the_sample_notices_edits(edit, least, words):
    items = draw_recordings(edited(*edit), SAMPLE, words)
    assert len(items) >= least


def test_where_a_recording_is_left():
    recording = next(item for item in SAMPLE if item["scenario"]["name"] == "C23")
    parted = against_recording(load(edited(LAST, FIRST)), recording)
    assert isinstance(parted, Parted)
    assert parted.recorded != parted.ours


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = (", Fault("SyntaxError", "'(' was never closed", 1)),
        ("\n\nimport nothing_of_this_name", Fault("ModuleNotFoundError", "No module named 'nothing_of_this_name'", 3)),
        ("x = 1", Fault("NameError", "it must define the class Scheduler(SchedulerState)", None)),
        ("class Scheduler: pass", Fault("NameError", "it must define the class Scheduler(SchedulerState)", None)),
        ("raise SystemExit(3)", Fault("SystemExit", "3", 1)),
        (edited(LAST, "victim = self.running[99]"), Fault("IndexError", "list index out of range", LINE)),
        (edited(LAST, "raise ValueError"), Fault("ValueError", "without a message", LINE)),
    ],
)
def test_faults_have_their_line(source, expected):
    assert fault(source) == expected


def test_what_is_drawn(words):
    scenario = parse_scenario(TIGHT)
    same = draw_edit(SOURCE, SOURCE, scenario, words)
    assert (same["state"], same["line"], same["diff"]) == ("same", None, f"<p>{words.html('edit.diff.none')}</p>")
    differs = draw_edit(SOURCE, edited(LAST, FIRST), scenario, words)
    assert differs["state"] == "differs"
    assert "<code>[B]</code>" in differs["html"]
    assert 'class="edit-added">+            victim = self.running.pop(0)\n' in differs["diff"]
    broken = draw_edit(SOURCE, edited(LAST, "raise ValueError('<b>')"), scenario, words)
    assert (broken["state"], broken["line"]) == ("fault", LINE)
    assert "&lt;b&gt;" in broken["html"]


def test_a_difference_of_texts():
    assert list(diff("a\nb\n", "a\nc\n")) == ["@@ -1,2 +1,2 @@", " a", "-b", "+c"]
    assert list(diff("a", "a")) == []


def test_every_word_is_there_and_used(words):
    used = set(re.findall(r'"(edit\.[\w.]+)"', (ROOT / "sim" / "figures" / "edits.py").read_text("utf-8")))
    assert {name for name in words._messages if name.startswith("edit.")} == used
