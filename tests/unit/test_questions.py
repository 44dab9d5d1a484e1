"""Questions: what is right is what the figure shows, what is wrong is what a known mistake gives."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from babel.messages.pofile import read_po

from sim.figures import FIGURES
from sim.figures.questions import QUESTIONS, Answer, Question, draw_question
from sim.figures.run import run
from sim.figures.schedules import ASYNC, PREEMPTION
from sim.figures.words import Words
from sim.parameters import Value
from tests.languages import numbers

LOCALES = Path(__file__).resolve().parents[2] / "site" / "locales"
BY_NAME = {question.name: question for question in QUESTIONS}

EXPECTED: dict[str, tuple[Answer, dict[str, Answer]]] = {
    "one-step": (3, {"unchanged": 6, "prompt_first": 16, "whole": 0, "shared": 8, "outside": 24}),
    "batching": ("same", {"always": "iteration", "ready": "request", "full": "static"}),
    "budgets": (10, {"off_by_one": 11, "whole": 23, "both": 33, "slower": 0}),
    "starvation": (8, {"free": 24, "starved": 0, "drafts_only": 16}),
    "tradeoff": ("1024", {"largest": "8192", "smallest": "512", "unchanged": "4096", "near": "2048"}),
    "six-steps": ("t3", {"decode": "t4", "admitted": "t2", "end": "t5"}),
    "chunked-prefill": ("t5", {"first_fit": "t2", "with": "t4", "next": "t3", "late": "t6"}),
    "kv-blocks": (10, {"admitted": 8, "null_block": 9, "reserved": 11}),
    "victim": ("D", {"needs": "A", "same": "B", "smallest": "C", "nobody": "nobody"}),
    "recompute": (4, {"lost": 3, "swapped": 1, "nothing": 0}),
    "prefix-cache": (8, {"by_token": 11, "rounded_up": 12, "whole_only": 0, "own": 14}),
    "speculation": (7, {"free": 5, "faster": 4, "none": 9}),
    "priority": ("t3", {"evicts": "t2", "later": "t4", "fifo": "t5"}),
    "async": ("t4", {"sync": "t3", "same": "t2", "places": "t1"}),
    "encoder": (12, {"cut": 11, "unread": 6, "own": 4, "more": 9}),
    "long-prefill": ("t2", {"capped": "t0", "alone": "t3", "turns": "t1"}),
}


def read_messages(prefix: str, language: str) -> dict[str, str]:
    with (LOCALES / f"{prefix}{language}.po").open("rb") as file:
        return {str(message.id): str(message.string) for message in read_po(file) if message.id}


MESSAGES = {language: read_messages("question.", language) for language in ("en", "zh")}
WORDS = {language: Words(language, read_messages("", language) | MESSAGES[language]) for language in MESSAGES}


def draw(figure: str, values: Mapping[str, Value]) -> ET.Element:
    """The picture of a figure as a tree."""
    return ET.fromstring(f"<root>{FIGURES[figure].render(FIGURES[figure].check(values), WORDS['en'])}</root>")


def parse(html: str) -> ET.Element:
    """A question as a tree: inputs are closed, attributes without a value get one."""
    html = re.sub(r"<input((?:\s[^<>]*)?)>", r"<input\1/>", html)
    return ET.fromstring(re.sub(r"(\s(?:hidden|data-guess|data-check|data-told))(?=[\s/>])", r'\1=""', html))


def output(tree: ET.Element, name: str, place: int = 0) -> str:
    return [found.attrib["data-value"] for found in tree.iter("output") if found.attrib["name"] == name][place]


def pieces(tree: ET.Element, request_id: str) -> dict[int, int]:
    """What a request gets, by step."""
    found = [item.attrib for item in tree.iter() if "data-tokens" in item.attrib]
    return {int(a["data-step"]): int(a["data-tokens"]) for a in found if a["data-request"] == request_id}


def reasons(tree: ET.Element) -> set[tuple[int, str, str]]:
    found = [item.attrib for item in tree.iter() if "data-why" in item.attrib]
    return {(int(a["data-step"]), a["data-request"], a["data-why"]) for a in found}


# ---------------------------------------------------------------- what is right, what is wrong


def test_answers_and_mistakes() -> None:
    assert {question.name: (question.right, dict(question.mistakes)) for question in QUESTIONS} == EXPECTED
    assert len({question.figure for question in QUESTIONS}) >= 8


@pytest.mark.parametrize("question", QUESTIONS, ids=BY_NAME)
def test_every_mistake_can_be_made_and_none_is_right(question: Question) -> None:
    assert question.right in question.answers
    wrong = list(question.mistakes.values())
    assert set(wrong) <= set(question.answers) - {question.right}
    assert len(wrong) == len(set(wrong)), "each mistake has an answer of its own"
    if question.options:
        assert set(question.answers) == {question.right, *wrong}


@pytest.mark.parametrize("question", QUESTIONS, ids=BY_NAME)
def test_the_figure_does_not_start_with_what_is_asked(question: Question) -> None:
    figure = FIGURES[question.figure]
    if question.shows:
        asked = {name: value for name, value in question.shows.items() if name in figure.defaults}
        assert asked == question.shows
        assert figure.check(asked) != figure.check({})


def shown(name: str) -> ET.Element:
    return draw(BY_NAME[name].figure, BY_NAME[name].shows)


def test_the_figure_shows_what_is_right() -> None:
    assert output(shown("one-step"), "prefill") == "3"
    assert [output(shown("batching"), "steps", place) for place in range(3)] == ["12"] * 3
    assert output(shown("budgets"), "steps_to_finish_prefill", -1) == "never"
    assert output(draw("budgets", {"B": 11}), "steps_to_finish_prefill", -1) == "24"
    assert output(shown("starvation"), "prefill") == "8"
    assert pieces(shown("six-steps"), "C") == {2: 4, 3: 5, 4: 1, 5: 1}, "five complete its prompt of nine in t3"
    assert min(pieces(shown("chunked-prefill"), "D")) == 5
    assert not reasons(shown("kv-blocks"))
    assert (3, "D", "preempted") in reasons(shown("victim"))
    assert (3, "C", "preempted") in reasons(shown("recompute"))
    assert pieces(shown("recompute"), "C") == {2: 3, 5: 4}
    assert max(pieces(shown("speculation"), "B")) == 6, "seven steps"
    assert pieces(shown("encoder"), "B")[1] == 4, "one token of text and three of the image"
    assert min(pieces(shown("long-prefill"), "B")) == 2


def test_without_a_tail_no_cells_are_saved_but_waiting_is() -> None:
    """The numbers that the answers on batching state."""
    tree = shown("batching")
    counted = {name: [int(output(tree, name, place)) for place in range(3)] for name in ("held", "free", "waited")}
    assert counted == {"held": [3, 3, 0], "free": [16, 16, 19], "waited": [15, 7, 0]}
    for language, messages in MESSAGES.items():
        stated = {
            message_id.rpartition("batching.")[2]: numbers(text, language)
            for message_id, text in messages.items()
            if message_id.startswith(("question.batching.because", "question.batching.wrong"))
        }
        assert stated == {"because": {19, 3, 15, 7}, "wrong.always": set(), "wrong.ready": {15, 7}, "wrong.full": {15}}


def test_each_wrong_way_to_choose_a_victim_chooses_another_or_none() -> None:
    this = PREEMPTION.run({"num_gpu_blocks": 10})
    before, now = this.trace.steps[2:4]
    assert before.running == ["A", "B", "C", "D"]
    assert now.preempted == ["D"]
    line = {moment.request_id: moment for moment in this.moments[3]}
    held = {name: sum(moment.place in block.owners for block in this.blocks[2]) for name, moment in line.items()}
    assert held == {"A": 3, "B": 3, "C": 1, "D": 2}, "neither the smallest nor the largest"
    assert before.computed == {"A": 12, "B": 10, "C": 3, "D": 5}, "nor the one that has computed least"
    assert {name: moment.known - moment.prompt for name, moment in line.items()} == {"A": 3, "B": 2, "C": 1, "D": 1}
    arrivals = {request.id: request.arrival_step for request in this.scenario.requests}
    assert arrivals == {"A": 0, "B": 0, "C": 2, "D": 2}, "two came last, and two have written least"
    assert now.why()["D"]["by"] == "A", "nor the one that asks"


def test_a_place_is_taken_for_one_empty_step() -> None:
    config = {"max_num_seqs": 1, "max_num_batched_tokens": 8, "async_scheduling": True}
    this = run({"name": "one place", "config": config, "requests": list(ASYNC.requests)}, 0)
    assert [dict(step.scheduled) for step in this.trace.steps[:5]] == [{"A": 5}, {"A": 1}, {"A": 1}, {}, {"B": 6}]


def test_the_best_budget_is_the_one_with_the_lowest_point() -> None:
    waits = {}
    for option in BY_NAME["tradeoff"].options:
        tree = draw("tradeoff", {"density": 32, "budget": option.name})
        waits[option.name] = int(output(tree, "ttft_p50"))
        assert option.amount == waits[option.name] // 1000
    assert min(waits, key=lambda budget: waits[budget]) == "1024"


# ---------------------------------------------------------------- what is written


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("question", QUESTIONS, ids=BY_NAME)
def test_all_of_it_is_in_the_page(question: Question, language: str) -> None:
    html = draw_question(question, WORDS[language])
    assert " style=" not in html
    assert " name=" not in html, "no control of the figure"
    tree = parse(html)
    assert (tree.attrib["data-part"], tree.attrib["data-right"]) == ("question", str(question.right))
    assert json.loads(tree.attrib["data-shows"]) == dict(question.shows)
    told = {
        item.attrib["data-verdict"]: "".join(item.itertext()) for item in tree.iter() if "data-verdict" in item.attrib
    }
    assert all(item.attrib["hidden"] == "" for item in tree.iter() if "data-verdict" in item.attrib)
    wrong = {str(answer) for answer in question.mistakes.values()}
    general = set() if question.options else {"more", "less", "outside"}
    assert set(told) == wrong | general | {str(question.right)}
    assert len(set(told.values())) == len(told)
    (because,) = ["".join(item.itertext()) for item in tree.iter("p") if item.attrib.get("class") == "because"]
    if question.name != "batching":
        assert because.startswith(str(question.right))


def test_guess_and_truth_share_an_axis() -> None:
    tree = parse(draw_question(BY_NAME["one-step"], WORDS["en"]))
    drawn = {item.attrib.get("class"): item.attrib for item in tree.iter("path")}
    assert drawn["cells guess"]["d"].count("M") == 24
    assert drawn["cells truth"]["d"].count("M") == 3
    assert drawn["cells guess"]["d"].split("h")[0] == "M2 2"
    assert drawn["cells truth"]["d"].startswith("M2 ")
    (cut,) = [item.attrib for item in tree.iter("svg") if item.attrib["class"] == "cut"]
    assert (cut["width"], cut["data-pitch"]) == ("0", "16")


def test_amounts_of_options_share_a_scale() -> None:
    tree = parse(draw_question(BY_NAME["victim"], WORDS["en"]))
    drawn = [item.attrib["d"] for item in tree.iter("path") if item.attrib["class"] == "cells share"]
    assert [path.count("M") for path in drawn] == [3, 3, 1, 2], "blocks that each one holds"
    tree = parse(draw_question(BY_NAME["tradeoff"], WORDS["en"]))
    assert [item.attrib["width"] for item in tree.iter("rect")] == ["83", "55", "56", "81", "100"]


def test_catalogues_are_complete_and_alike() -> None:
    asked: set[str] = set()

    class Asking(Words):
        def __call__(self, message_id: str, **values: object) -> str:
            asked.add(message_id)
            return super().__call__(message_id, **values)

    for language, messages in MESSAGES.items():
        for question in QUESTIONS:
            draw_question(question, Asking(language, messages))
    assert asked == set(MESSAGES["en"])
    assert list(MESSAGES["en"]) == list(MESSAGES["zh"])
    for message_id, english in MESSAGES["en"].items():
        texts = (english, MESSAGES["zh"][message_id])
        tags = [sorted(re.findall(r"<\w+>", text)) for text in texts]
        assert tags[0] == tags[1], message_id
        known = set().union(*(BY_NAME[name].values for name in BY_NAME if f".{name}." in message_id))
        for text in texts:
            assert set(re.findall(r"\{(\w+)", text)) <= known | {"n", "right", "lowest", "highest"}, message_id


def test_chinese_has_no_typed_spaces_between_scripts() -> None:
    han = "[\u4e00-\u9fff\uff00-\uffef]"
    for message_id, text in MESSAGES["zh"].items():
        plain = re.sub(r"</?\w+>", "", text)
        assert not re.search(f"{han} [A-Za-z0-9{{]|[A-Za-z0-9}}] {han}", plain), message_id
