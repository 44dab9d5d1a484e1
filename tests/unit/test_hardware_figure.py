"""The figure of recordings: its numbers are those of the files, its plan is the simulator's, its errors add up."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from babel.messages.pofile import read_po

from sim.cost import COST_MODELS
from sim.figures import FIGURES
from sim.figures.measured import Bar, ms, percent
from sim.figures.recorded import NAMES, packed, recordings
from sim.figures.words import Words
from sim.recordings.recording import parse_recording
from sim.spread import Spread

ROOT = Path(__file__).resolve().parents[2]
FIGURE = FIGURES["hardware"]


def read_words() -> Words:
    with (ROOT / "site" / "locales" / "en.po").open("rb") as file:
        return Words("en", {str(message.id): str(message.string) for message in read_po(file) if message.id})


WORDS = read_words()


def draw(**values: object) -> ET.Element:
    html = FIGURE.render(FIGURE.check(values), WORDS)
    return ET.fromstring(f"<root>{re.sub(r'<(input|br)([^<>]*)>', r'<1 2/>', html)}</root>")


def outputs(tree: ET.Element) -> dict[str, int]:
    return {found.attrib["name"]: int(found.attrib["data-value"]) for found in tree.iter("output")}


@pytest.mark.parametrize("backend", ["torch", "vllm"])
@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_those_of_the_file(name: str, backend: str) -> None:
    recording = parse_recording((ROOT / "site" / "recordings" / f"{name}.{backend}-cpu.json").read_bytes())
    model, published = COST_MODELS[f"cpu-{backend}-tiny"], COST_MODELS["h200-llama-3.1-8b"]
    for step in recording.steps[::3]:
        told = outputs(draw(recording=name, backend=f"{backend}-cpu", step=step.step))
        median, said = step.spread_us().median, model.step_us(step.batch)
        assert told["tokens"] == sum(n for _, n in step.batch)
        assert (told["median_us"], told["model_us"]) == (median, said)
        assert told["residual_permille"] == int((said - median) * 1000 / median)
        assert told["published_us"] == published.step_us(step.batch)


def test_pieces_are_the_plan_and_marks_the_times() -> None:
    tree = draw(recording="long-512", backend="vllm-cpu", step=4)
    found = recordings()["long-512", "vllm-cpu"]
    pieces = [
        (int(p.attrib["data-step"]), p.attrib["data-request"], int(p.attrib["data-tokens"]))
        for p in tree.iter()
        if "data-tokens" in p.attrib
    ]
    plan = [(step.step, rid, n) for step in found.trace.steps for rid, n in step.scheduled.items()]
    assert pieces == plan
    marks = [int(mark.attrib["data-median"]) for mark in tree.iter() if "data-median" in mark.attrib]
    assert marks == [spread.median for spread in found.spreads if spread]


def test_budgets_side_by_side() -> None:
    told = outputs(draw(recording="six-steps", backend="vllm-cpu", step=0))
    for budget in (128, 512, 2048):
        medians = [spread.median for spread in recordings()[f"long-{budget}", "vllm-cpu"].spreads if spread]
        steps = -(-1024 // (budget - 8))
        assert told[f"gap_us_{budget}"] == max(medians[1:])
        assert told[f"first_us_{budget}"] == sum(medians[4 : 4 + steps])
    assert told["gap_us_128"] < told["gap_us_512"] < told["gap_us_2048"] == told["first_us_2048"]


def test_what_was_not_recorded_is_said() -> None:
    assert "no recording" in "".join(draw(recording="six-steps", backend="torch-cuda", step=0).itertext())


def test_the_page_gets_the_spread_alone() -> None:
    recording = parse_recording((ROOT / "site" / "recordings" / "six-steps.torch-cpu.json").read_bytes())
    document = {**recording.head, "steps": [step.to_json() for step in recording.steps]}
    small = packed(document)
    assert small["us"] == [step.spread_us() for step in recording.steps]
    assert "steps" not in small


def test_numbers_in_words() -> None:
    assert [ms(us) for us in (0, 940, 3847, 9_999, 20_493, 205_043)] == ["0.00", "0.94", "3.85", "10.0", "20.5", "205"]
    assert [percent(value) for value in (-83, 120, 0)] == ["−8.3", "+12.0", "0.0"]
    assert Bar(0, (), Spread(1, 1, 300, 1, 1), 200).residual == -333
    assert Bar(0, (), Spread(1, 1, 300, 1, 1), None).residual is None
