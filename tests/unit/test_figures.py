"""Figures: what is drawn is what is told, in both languages, as well-formed markup without styles."""

import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from babel.messages.pofile import read_po
from hypothesis import given
from hypothesis import strategies as st

from sim.errors import ConfigError
from sim.figures import FIGURES
from sim.figures.html import element, escape
from sim.figures.recorded import BACKENDS as RECORDED_BACKENDS
from sim.figures.recorded import NAMES as RECORDED_NAMES
from sim.figures.schedules import SCHEDULES
from sim.figures.starvation import PRESETS as STARVATION_PRESETS
from sim.figures.words import Words
from sim.parameters import Parameter, Value

LOCALES = Path(__file__).resolve().parents[2] / "site" / "locales"
LANGUAGES = ("en", "zh")
ALL_VALUES = {
    "D": st.integers(0, 64),
    "P": st.integers(0, 256),
    "B": st.integers(1, 128),
    "M": st.integers(1, 64),
    "policy": st.sampled_from(("decode-first", "prefill-first")),
    "chunked_prefill": st.booleans(),
}


def read_messages(language: str) -> dict[str, str]:
    """The catalogue of the figures."""
    with (LOCALES / f"{language}.po").open("rb") as file:
        return {str(message.id): str(message.string) for message in read_po(file) if message.id}


WORDS = {language: Words(language, read_messages(language)) for language in LANGUAGES}


def draw(figure: str, **values: Value) -> ET.Element:
    """The picture of a figure as a tree, in English."""
    checked = FIGURES[figure].check(values)
    return parse(FIGURES[figure].render(checked, WORDS["en"]))


def parse(html: str) -> ET.Element:
    """HTML as XML: elements without content are closed, attributes without a value get one."""
    html = re.sub(r"<(input|br)((?:\s[^<>]*)?)>", r"<\1\2/>", html)
    html = re.sub(r"(\s(?:checked|hidden|disabled|open))(?=[\s/>])", r'\1=""', html)
    return ET.fromstring(f"<root>{html}</root>")


def numbers(tree: ET.Element) -> dict[str, str]:
    """What the outputs say, by name."""
    return {output.attrib["name"]: output.attrib["data-value"] for output in tree.iter("output")}


def by_class(tree: ET.Element, name: str) -> list[ET.Element]:
    """The elements of a class."""
    return [found for found in tree.iter() if name in found.attrib.get("class", "").split()]


def cells(tree: ET.Element, kind: str) -> int:
    """How many cells of a kind are drawn."""
    return sum(path.attrib["d"].count("M") for path in by_class(tree, kind) if path.tag == "path")


def frame_area(tree: ET.Element, pitch: int) -> int:
    """The area inside the frame, in cells."""
    (path,) = [found for found in by_class(tree, "frame") if found.tag == "path"]
    x = y = area = 0
    for command, amount in re.findall(r"([hv])(-?\d+)", path.attrib["d"]):
        if command == "h":
            x += int(amount)
        else:
            area += x * int(amount)
            y += int(amount)
    return abs(area) // pitch**2


# ---------------------------------------------------------------- one-step


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, ("10", "6", "0", "18", "4")),
        ({"D": 16}, ("16", "0", "0", "24", "never")),
        ({"D": 16, "policy": "prefill-first"}, ("0", "16", "0", "8", "2")),
    ],
)
def test_groups(change: Mapping[str, Value], expected: tuple[str, ...]) -> None:
    told = numbers(draw("one-step", **change))
    assert tuple(told.values()) == expected
    assert tuple(told) == ("decode", "prefill", "idle", "prefill_left", "steps_to_finish_prefill")


@given(**ALL_VALUES)
def test_what_is_drawn_is_what_is_told(**values: Value) -> None:
    tree = draw("one-step", **values)
    (picture,) = by_class(tree, "picture")
    door, budget, prompt = by_class(picture, "row")
    told = {name: 0 if value == "never" else int(value) for name, value in numbers(tree).items()}
    assert cells(budget, "decode") == cells(budget, "inner") == told["decode"] == cells(door, "gone")
    assert cells(budget, "prefill") == cells(prompt, "prefill") == told["prefill"]
    assert cells(budget, "idle") == told["idle"]
    assert cells(prompt, "todo") == told["prefill_left"]
    assert cells(door, "wait") + cells(door, "barred") == int(str(values["D"])) - told["decode"]


@pytest.mark.parametrize(("budget", "pitch"), [(1, 40), (16, 40), (17, 40), (32, 40), (33, 20), (100, 20), (128, 20)])
def test_frame_holds_exactly_the_budget(budget: int, pitch: int) -> None:
    (row,) = by_class(draw("one-step", D=1, B=budget), "of-frame")
    assert frame_area(row, pitch) == budget


def test_strip_shows_every_step_of_a_short_prompt() -> None:
    strip = by_class(draw("one-step"), "mini")
    assert [item.attrib["data-step"] for item in strip] == ["1", "2", "3", "4"]
    assert [item.attrib["data-tokens"] for item in strip] == ["6", "6", "6", "6"]
    assert [cells(item, "done") for item in strip] == [0, 6, 12, 18]


def test_strip_never_ends_where_the_prompt_starves() -> None:
    strip = by_class(draw("one-step", D=16), "mini")
    assert [item.attrib.get("data-why") for item in strip] == ["token_budget"] * 5 + [None]
    assert [cells(item, "todo") for item in strip] == [24] * 5 + [0]
    assert "∞" in "".join(strip[-1].itertext())


def test_strip_leaves_out_the_middle_of_a_long_prompt() -> None:
    strip = by_class(draw("one-step", P=250), "mini")
    assert [item.attrib.get("data-step") for item in strip] == ["1", "2", "3", "4", None, "42"]
    assert "37 more steps" in "".join(strip[4].itertext())
    assert cells(strip[5], "prefill") == 2 * 4


# ---------------------------------------------------------------- budgets


def test_table_3() -> None:
    rows = [
        (plan.attrib["data-budget"], *(output.attrib["data-value"] for output in plan.iter("output")))
        for plan in by_class(draw("budgets"), "plan")
    ]
    assert rows == [
        ("8", "8", "0", "24", "never"),
        ("16", "10", "6", "18", "4"),
        ("32", "10", "22", "2", "2"),
        ("11", "10", "1", "23", "24"),
    ]


@given(B=ALL_VALUES["B"])
def test_every_budget_is_drawn_as_told(B: int) -> None:
    plan = by_class(draw("budgets", B=B), "plan")[-1]
    told = numbers(plan)
    assert plan.attrib["data-budget"] == str(B)
    assert cells(plan, "decode") == int(told["decode"])
    assert cells(plan, "prefill") == int(told["prefill"])
    assert cells(plan, "wait") == 10 - int(told["decode"])
    assert cells(plan, "idle") == B - int(told["decode"]) - int(told["prefill"])
    assert frame_area(plan, 20) == B


# ---------------------------------------------------------------- starvation


@pytest.mark.parametrize("asked", [{"S": 16}, {"S": 32}, {"S": 32, "D": 8, "K": 3}, {"S": 32, "D": 8, "K": 2}])
@pytest.mark.parametrize(("language", "word"), [("en", "draft"), ("zh", "草稿")])
def test_drafts_are_told_where_there_are_any(asked: Mapping[str, Value], language: str, word: str) -> None:
    figure = FIGURES["starvation"]
    (sentence,) = by_class(parse(figure.render(figure.check(asked), WORDS[language])), "why")
    assert (word in "".join(sentence.itertext())) == ("K" in asked)


# ---------------------------------------------------------------- six-steps


def test_six_steps_and_their_pieces() -> None:
    pieces = [
        tuple(piece.attrib[f"data-{name}"] for name in ("step", "request", "tokens", "kind"))
        for piece in by_class(draw("six-steps"), "piece")
    ]
    assert pieces == [
        ("0", "A", "6", "prefill"),
        ("1", "A", "1", "decode"),
        ("1", "B", "7", "prefill"),
        ("2", "A", "1", "decode"),
        ("2", "B", "3", "prefill"),
        ("2", "C", "4", "prefill"),
        ("3", "A", "1", "decode"),
        ("3", "B", "1", "decode"),
        ("3", "C", "5", "prefill"),
        ("4", "A", "1", "decode"),
        ("4", "B", "1", "decode"),
        ("4", "C", "1", "decode"),
        ("5", "C", "1", "decode"),
    ]


@pytest.mark.parametrize("step", range(6))
def test_counters_of_a_step(step: int) -> None:
    computed = [{"A": 6}, {"A": 7, "B": 7}, {"A": 8, "B": 10, "C": 4}, {"A": 9, "B": 11, "C": 9}]
    computed += [{"A": 10, "B": 12, "C": 10}, {"C": 11}]
    tree = draw("six-steps", step=step)
    told = {
        output.attrib["data-request"]: int(output.attrib["data-value"])
        for output in tree.iter("output")
        if output.attrib["name"] == "num_computed_tokens"
    }
    assert told == computed[step]
    assert numbers(tree)["budget_used"] == str([6, 8, 8, 7, 3, 1][step])


def test_cells_of_a_column_fill_its_frame() -> None:
    tree = draw("six-steps")
    (timeline,) = by_class(tree, "timeline")
    for step in range(6):
        pieces = [piece for piece in by_class(timeline, "piece") if piece.attrib["data-step"] == str(step)]
        for piece in pieces:
            assert cells(piece, "cells") == int(piece.attrib["data-tokens"])
    assert cells(timeline, "cells") == 6 * 8


def test_selected_step_speaks() -> None:
    told = [found.attrib["data-valuetext"] for found in draw("six-steps").iter() if "data-valuetext" in found.attrib]
    assert told == ["t2: A 1, B 3, C 4; 8 of 8 tokens; admitted: C"]


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize(("name", "language"), list(itertools.product(FIGURES, LANGUAGES)))
def test_markup(name: str, language: str) -> None:
    figure, words = FIGURES[name], WORDS[language]
    html = figure.form(words) + figure.render(figure.check({}), words)
    tree = parse(html)
    assert " style=" not in html
    assert "<script" not in html
    assert not re.search(r"\son\w+=", html)
    ids = [found.attrib["id"] for found in tree.iter() if "id" in found.attrib]
    assert len(ids) == len(set(ids))
    for picture in tree.iter():
        if picture.attrib.get("role") == "img":
            assert picture.attrib["aria-label"]
    assert tree.find(".//details//table") is not None


@pytest.mark.parametrize("name", FIGURES)
def test_form_has_the_controls_of_the_figure(name: str) -> None:
    figure = FIGURES[name]
    tree = parse(figure.form(WORDS["en"]))
    controls = {control.attrib["name"]: control.attrib for control in tree.iter("input") if "name" in control.attrib}
    assert set(controls) == {parameter.name for parameter in figure.controls} == set(figure.defaults)
    for parameter in figure.controls:
        control = controls[parameter.name]
        if parameter.kind == "int":
            limits = (control["type"], control["min"], control["max"], control["value"])
            assert limits == (
                "range",
                str(parameter.minimum),
                str(parameter.maximum),
                str(figure.defaults[parameter.name]),
            )
    for button in tree.iter("button"):
        if "data-set" in button.attrib:
            assert figure.check(json.loads(button.attrib["data-set"]))


def test_check_refuses_what_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"^X: unknown control"):
        FIGURES["one-step"].check({"X": 1})
    with pytest.raises(ConfigError, match=r"^B: 0 is not allowed"):
        FIGURES["one-step"].check({"B": 0})
    assert FIGURES["budgets"].check({}) == {"B": 11}


# ---------------------------------------------------------------- words


def _extremes(parameter: Parameter) -> tuple[Value, ...]:
    if parameter.kind == "bool":
        return False, True
    return parameter.choices or (parameter.minimum, parameter.default, parameter.maximum)


def test_every_word_is_there_and_used() -> None:
    asked: set[str] = set()

    class Asking(Words):
        def __call__(self, message_id: str, **values: object) -> str:
            asked.add(message_id)
            return super().__call__(message_id, **values)

    for language in LANGUAGES:
        words = Asking(language, read_messages(language))
        for figure in FIGURES.values():
            words(f"{figure.name}.caption")
            figure.form(words)
        lists = ((0, 10, 16), (0, 6, 24, 250), (8, 16, 64), (10, 32), ("decode-first", "prefill-first"), (True, False))
        for chosen in itertools.product(*lists):
            values = dict(zip(ALL_VALUES, chosen, strict=True))
            FIGURES["one-step"].render(FIGURES["one-step"].check(values), words)
        for budget in (8, 11, 40):
            FIGURES["budgets"].render({"B": budget}, words)
        for tail, step in ((2, 25), (10, 25), (10, 3)):
            FIGURES["batching"].render({"tail": tail, "step": step}, words)
        for group in (*STARVATION_PRESETS.values(), {"S": 8}, {"S": 32, "D": 8, "K": 2}):
            FIGURES["starvation"].render(FIGURES["starvation"].check(group), words)
        for density, budget in ((24, "512"), (24, "2048"), (1, "2048")):
            FIGURES["tradeoff"].render({"density": density, "budget": budget}, words)
        for recording, backend, step in itertools.product(RECORDED_NAMES, RECORDED_BACKENDS, range(0, 20, 3)):
            FIGURES["hardware"].render({"recording": recording, "backend": backend, "step": step}, words)
        for schedule in SCHEDULES:
            limits = [_extremes(parameter) for parameter in schedule.controls]
            for chosen in itertools.product(*limits, range(schedule.steps)):
                figure = FIGURES[schedule.name]
                values = {control.name: value for control, value in zip(figure.controls, chosen, strict=True)}
                figure.render(values, words)
    others = ("reason.", "capped.", "edit.", "import.")
    reasons = {message_id for message_id in read_messages("en") if message_id.startswith(others)}
    assert asked | reasons == set(read_messages("en"))


@pytest.mark.parametrize("name", FIGURES)
def test_each_part_is_one_element(name: str) -> None:
    figure = FIGURES[name]
    parts = figure.parts(figure.check({}), WORDS["en"])
    assert [len(parse(part)) for part in parts] == [1] * len(parts)
    assert figure.render(figure.check({}), WORDS["en"]) == "".join(parts)


def test_chinese_has_no_typed_spaces_between_scripts() -> None:
    han = "[\u4e00-\u9fff\uff00-\uffef]"
    for message_id, text in read_messages("zh").items():
        plain = re.sub(r"</?\w+>", "", text)
        assert not re.search(f"{han} [A-Za-z0-9]|[A-Za-z0-9] {han}", plain), message_id


def test_a_number_chooses_its_noun() -> None:
    words = Words("en", {"n": "{n:token|tokens}", "m": "<prefill>{n} < 2</prefill> <x>"})
    assert [words("n", n=number) for number in (0, 1, 2)] == ["0 tokens", "1 token", "2 tokens"]
    assert words.html("m", n=1) == '<span class="m m-prefill">1 &lt; 2</span> &lt;x&gt;'
    assert words.plain("m", n=1) == "1 < 2 "
    with pytest.raises(KeyError):
        words("missing")


def test_text_is_escaped() -> None:
    assert escape("<b a=\"1\" c='2'>&") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;"
    assert element("p", {"title": 'a"b', "hidden": True, "lang": None}, "x") == '<p title="a&quot;b" hidden>x</p>'


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(10, "0 + 0 + 0 + …"), (11, "24 × 1"), (15, "4 × 5 + 4"), (16, "6 + 6 + 6 + 6"), (34, "24")],
)
def test_prefill_step_by_step(budget: int, expected: str) -> None:
    assert [cell.text for cell in draw("budgets", B=budget).iter("td")][-1] == expected
