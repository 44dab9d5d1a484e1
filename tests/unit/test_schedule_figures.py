"""Figures of a run: each shows its rule at its key step, and what is drawn, told and tabled is what was simulated."""

import itertools
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from babel.messages.pofile import read_po

from sim import reasons
from sim.engine import simulate
from sim.figures import FIGURES
from sim.figures.html import escape
from sim.figures.reason_words import why_less, why_nothing
from sim.figures.run import Run
from sim.figures.schedule import Schedule
from sim.figures.schedules import SCHEDULES
from sim.figures.words import Words
from sim.parameters import Value
from sim.scenario import parse_scenario

LOCALES = Path(__file__).resolve().parents[2] / "site" / "locales"
BY_NAME = {schedule.name: schedule for schedule in SCHEDULES}


def read_words(language: str) -> Words:
    with (LOCALES / f"{language}.po").open("rb") as file:
        return Words(language, {str(message.id): str(message.string) for message in read_po(file) if message.id})


WORDS = {language: read_words(language) for language in ("en", "zh")}


def variants(schedule: Schedule) -> list[dict[str, Value]]:
    choices: list[list[Value]] = []
    for parameter in schedule.controls:
        if parameter.kind == "int":
            assert parameter.minimum is not None
            assert parameter.maximum is not None
            choices.append(list(range(parameter.minimum, parameter.maximum + 1)))
        else:
            choices.append(list(parameter.choices) or [False, True])
    names = [parameter.name for parameter in schedule.controls]
    return [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*choices)]


ALL = [(name, values) for name, schedule in BY_NAME.items() for values in variants(schedule)]


def run_of(name: str, **values: Value) -> Run:
    schedule = BY_NAME[name]
    return schedule.run({parameter.name: parameter.default for parameter in schedule.controls} | values)


def scenario_of(name: str, **values: Value) -> dict[str, Any]:
    schedule = BY_NAME[name]
    chosen = {parameter.name: parameter.default for parameter in schedule.controls} | values
    return {"config": {**schedule.config, **chosen}, "requests": [dict(request) for request in schedule.requests]}


def draw(name: str, language: str = "en", **values: Value) -> ET.Element:
    figure = FIGURES[name]
    html = figure.render(figure.check(values), WORDS[language])
    assert " style=" not in html
    return ET.fromstring(f"<root>{html}</root>")


def with_data(tree: ET.Element, *names: str) -> list[tuple[str, ...]]:
    keys = [f"data-{name}" for name in names]
    return [
        tuple(found.attrib[key] for key in keys) for found in tree.iter() if all(key in found.attrib for key in keys)
    ]


def by_class(tree: ET.Element, name: str) -> list[ET.Element]:
    return [found for found in tree.iter() if name in found.attrib.get("class", "").split()]


def number(tree: ET.Element, name: str) -> int:
    (found,) = [int(item.attrib["data-value"]) for item in tree.iter("output") if item.attrib["name"] == name]
    return found


# ---------------------------------------------------------------- each figure at its key step


def test_preemption_takes_one_victim_and_admits_nobody() -> None:
    this = run_of("preemption")
    before, now, after = this.trace.steps[2:5]
    assert now.preempted == ["B"]
    assert (list(now.new), list(now.resumed), now.waiting) == ([], [], ["B", "C", "D"])
    assert [why["code"] for why in now.why().values()] == ["preempted", "after_preemption", "after_preemption"]
    held = sum(1 in block.owners for block in this.blocks[2])
    assert (before.free_blocks, held, now.free_blocks) == (0, 3, 2), "three came back, and A took one of them"
    assert list(after.why()) == ["B", "C", "D"], "the victim is in front"
    back = this.trace.steps[5]
    assert (list(back.resumed), back.scheduled) == (["B"], {"B": 10}), "its answer so far is computed again too"
    assert len(by_class(draw("preemption"), "is-back")) == 2


def test_enough_blocks_preempt_nobody() -> None:
    victims = {
        blocks: [name for step in run_of("preemption", num_gpu_blocks=blocks).trace.steps for name in step.preempted]
        for blocks in range(7, 12)
    }
    assert victims == {7: ["B"], 8: ["C"], 9: [], 10: ["D"], 11: []}


def test_a_request_waits_for_blocks_although_there_is_budget() -> None:
    step = run_of("kv-blocks").trace.steps[2]
    assert sum(step.scheduled.values()) == 2
    assert step.why() == {"C": {"code": "kv_blocks", "needs": 4, "free": 2, "watermark": 0}}
    assert step.blocks == {"B": [4]}, "B crosses into its second block"
    assert number(draw("kv-blocks"), "free_blocks") == 2


def test_a_prompt_that_may_not_be_cut_holds_everybody_behind_it() -> None:
    assert run_of("chunked-prefill").trace.steps[1].scheduled == {"A": 1, "B": 1, "C": 8}
    whole = run_of("chunked-prefill", enable_chunked_prefill=False).trace.steps
    assert {rid: why["code"] for rid, why in whole[2].why().items()} == {
        "C": "chunked_prefill_off",
        "D": "head_of_line",
    }
    assert whole[4].scheduled == {"B": 1, "C": 9}


def test_a_full_hit_computes_its_last_block_again() -> None:
    this = run_of("prefix-cache")
    assert [dict(step.cached) for step in this.trace.steps[:3]] == [{}, {"B": 8}, {"C": 8}]
    assert this.trace.steps[2].scheduled["C"] == 4
    assert [block.owners for block in this.blocks[2][:4]] == [(0, 1, 2), (0, 1, 2), (0,), (0,)]
    assert this.length + 1 == run_of("prefix-cache", enable_prefix_caching=False).length


def test_drafts_fill_the_budget_and_are_told() -> None:
    assert run_of("speculation").trace.steps[2].scheduled == {"A": 4, "B": 4}
    tree = draw("speculation")
    told = [number(tree, f"{name}_{group}") for group in ("now", "all") for name in ("drafts", "accepted", "rejected")]
    assert told == [6, 1, 5, 9, 4, 5]
    assert (run_of("speculation", num_speculative_tokens=0).length, run_of("speculation").length) == (9, 5)


def bar_of(name: str, step: int, request_id: str) -> dict[str, int]:
    """How many cells of each kind the bar of a request has, and how many rows of cells."""
    (row,) = [
        row
        for row in by_class(draw(name, step=step), "counters")[0].iter("tr")
        if row.attrib.get("data-request") == request_id
    ]
    paths = [path for path in row.iter("path") if path.attrib.get("class", "").startswith("cells")]
    starts = [re.findall(r"M(\d+) (\d+)", path.attrib["d"]) for path in paths]
    found = {path.attrib["class"].split()[1]: len(at) for path, at in zip(paths, starts, strict=True)}
    return found | {"rows": len({y for at in starts for _, y in at})}


def test_rejected_drafts_are_no_progress() -> None:
    assert bar_of("speculation", 2, "A") == {"done": 8, "decode": 2, "rejected": 2, "future": 1, "rows": 1}
    assert bar_of("speculation", 3, "A") == {"done": 10, "decode": 1, "rejected": 2, "rows": 1}, "thirteen, no more"
    rows = [[cell.text for cell in row.iter("td")] for row in draw("speculation").findall(".//details//tbody/tr")]
    assert rows[2][:2] == ["4 decode, 12 → 10 computed", "4 decode, 7 → 4 computed"]
    told = [found for found in draw("speculation").iter("output") if found.attrib["name"] == "num_computed_tokens"]
    assert [(found.attrib["data-value"], found.text) for found in told] == [("12", "12 → 10"), ("7", "7 → 4")]


@pytest.mark.parametrize(("name", "values"), ALL)
def test_a_bar_is_as_long_as_the_request(name: str, values: dict[str, Value]) -> None:
    for step in range(run_of(name, **values).length):
        bars = by_class(draw(name, step=step, **values), "progress")
        for bar, request in zip(bars, run_of(name, **values).scenario.requests, strict=True):
            drawn = sum(p.attrib["d"].count("M") for p in bar.iter("path") if "cells" in p.attrib.get("class", ""))
            assert drawn == request.prompt_tokens + request.output_tokens


def test_the_urgent_one_overtakes_the_queue_and_nobody_else() -> None:
    urgent, fair = run_of("priority").trace.steps, run_of("priority", policy="fcfs").trace.steps
    assert (urgent[2].waiting, sorted(urgent[2].running)) == (["D", "C"], ["A", "B"])
    assert (fair[2].waiting, sorted(fair[2].running)) == (["C", "D"], ["A", "B"])
    assert not any(step.preempted for step in urgent)
    assert [step.step for steps in (urgent, fair) for step in steps if "D" in step.new] == [3, 5]


def test_async_plans_no_step_too_many() -> None:
    this = run_of("async")
    assert this.trace.steps[3].why() == {"A": {"code": "async_finishing"}}
    assert this.length == run_of("async", async_scheduling=False).length == 5
    assert [number(draw("async", async_scheduling=value), "slots") for value in (True, False)] == [6, 10]


@pytest.mark.parametrize(("is_async", "told"), [(True, "its last token"), (False, "leaves after it")])
def test_who_computes_its_last_token_leaves_when_that_is_there(is_async: bool, told: str) -> None:
    steps = run_of("async", async_scheduling=is_async).trace.steps
    assert steps[2].finished == ["A"]
    assert ("A" in steps[3].running) == is_async
    lines = by_class(draw("async", step=2, async_scheduling=is_async), "line")
    assert ["".join(part.itertext()) for part in lines[-1]] == [told, "A"]
    both = [dict(step.scheduled) for step in run_of("async", async_scheduling=not is_async).trace.steps]
    assert [dict(step.scheduled) for step in steps] == both, "who gets what is the same either way"


def test_an_image_waits_for_the_cache() -> None:
    steps = run_of("encoder").trace.steps
    assert dict(steps[1].capped) == {"B": {"code": "encoder_cache", "wanted": 6, "got": 1}}
    assert [dict(step.encoder) for step in steps] == [{"A": (0,)}, {}, {"B": (0,)}, {}, {}], "C has the image of B"
    assert [number(draw("encoder", step=step), "encoder_used") for step in range(5)] == [8, 8, 4, 4, 0]
    assert run_of("encoder", encoder_cache_size=12).trace.steps[1].scheduled == {"A": 4, "B": 4}


@pytest.mark.parametrize("size", range(8, 13))
def test_the_encoder_is_as_vllm_sets_it_up(size: int) -> None:
    """vLLM gives budget and cache the same size, that of the step's budget at least."""
    data = scenario_of("encoder", encoder_cache_size=size)
    as_vllm = {**data, "config": data["config"] | {"encoder_compute_budget": size}}
    assert size >= data["config"]["max_num_batched_tokens"]
    assert simulate(parse_scenario(as_vllm)).steps == simulate(parse_scenario(data)).steps


def test_a_threshold_lets_short_requests_in() -> None:
    assert run_of("long-prefill").trace.steps[1].scheduled == {"A": 4, "B": 1, "C": 3}
    assert run_of("long-prefill").trace.steps[4].scheduled == {"A": 6}, "alone, it has no limit"
    free = run_of("long-prefill", long_prefill_token_threshold=0).trace.steps
    assert free[1].scheduled == {"A": 10}
    assert list(free[1].why()) == ["B", "C"]


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", BY_NAME)
def test_room_is_made_for_the_longest_variant(name: str) -> None:
    runs = [BY_NAME[name].run(values) for values in variants(BY_NAME[name])]
    assert all(this.trace.outcome == "finished" for this in runs)
    assert max(this.length for this in runs) == BY_NAME[name].steps
    left_out = max(len(this.left_out(step)) for this in runs for step in range(this.length))
    assert left_out == BY_NAME[name].waits


@pytest.mark.parametrize(("name", "values"), ALL)
def test_pieces_are_what_was_scheduled(name: str, values: dict[str, Value]) -> None:
    this, tree = run_of(name, **values), draw(name, step=0, **values)
    steps = this.trace.steps
    given = [(str(step.step), rid, str(got)) for step in steps for rid, got in step.scheduled.items()]
    assert with_data(tree, "step", "request", "tokens") == given
    left = [(str(step.step), rid, why["code"]) for step in steps for rid, why in step.why().items()]
    assert with_data(tree, "step", "request", "why") == left
    rows = [[cell.text or "" for cell in row.iter("td")] for row in tree.findall(".//details//tbody/tr")]
    ids = [request.id for request in this.scenario.requests]
    tabled = [
        (str(step), rid, cell.split()[0])
        for step, row in enumerate(rows)
        for rid, cell in zip(ids, row, strict=False)
        if cell[0] not in "–0"
    ]
    assert sorted(tabled) == sorted(given)


@pytest.mark.parametrize(("name", "values"), [(name, values) for name, values in ALL if BY_NAME[name].has_blocks])
def test_blocks_are_those_of_the_pool(name: str, values: dict[str, Value]) -> None:
    this = run_of(name, **values)
    size = this.scenario.config.block_size
    for step, blocks, line in zip(this.trace.steps, this.blocks, this.moments, strict=True):
        assert sum(not block.owners for block in blocks) == step.free_blocks
        for moment in line:
            if moment.got:
                assert sum(moment.place in block.owners for block in blocks) == -(-moment.after // size)
    step = BY_NAME[name].key_step
    drawn = with_data(draw(name, step=step, **values), "block", "request")
    assert len(drawn) == len(this.blocks[step]) - this.trace.steps[step].free_blocks


@pytest.mark.parametrize(("name", "values"), ALL)
def test_every_step_draws_in_both_languages(name: str, values: dict[str, Value]) -> None:
    for language, step in itertools.product(WORDS, range(BY_NAME[name].steps)):
        tree = draw(name, language, step=step, **values)
        (why,) = by_class(tree, "why")
        nothing = by_class(why, "nothing")
        assert len(nothing) == len(run_of(name, **values).left_out(step))
        assert "".join(why.itertext())


@pytest.mark.parametrize("name", BY_NAME)
def test_form_starts_at_the_key_step(name: str) -> None:
    figure = FIGURES[name]
    assert figure.defaults["step"] == BY_NAME[name].key_step
    for preset in re.findall(r'data-set="([^"]+)"', figure.render(figure.check({}), WORDS["en"])):
        assert figure.check(json.loads(preset.replace("&quot;", '"')))


NOBODY, WANTED = "Nobody asks for the other", "whoever wants them cannot have them"


@pytest.mark.parametrize(
    ("name", "step", "told"),
    [
        ("six-steps", 0, f"{NOBODY} 2."),
        ("kv-blocks", 0, f"{NOBODY} 1."),
        ("kv-blocks", 2, f"The other 8 stay empty: {WANTED}."),
        ("preemption", 3, f"The other 9 stay empty: {WANTED}."),
        ("priority", 2, f"The other 6 stay empty: {WANTED}."),
        ("encoder", 1, f"The other 3 stay empty: {WANTED}."),
        ("long-prefill", 1, f"The other 2 stay empty: {WANTED}."),
        ("async", 3, f"{NOBODY} 7."),
        ("six-steps", 2, "The budget of 8 is used up."),
    ],
)
def test_what_is_left_over_is_wanted_or_not(name: str, step: int, told: str) -> None:
    (why,) = by_class(draw(name, step=step), "why")
    assert "".join(why.itertext()).endswith(told)


def test_images_are_told_by_their_places_in_the_prompt() -> None:
    image = run_of("encoder").scenario.requests[0].images[0]
    assert (image.offset, image.length) == (2, 8), "the third token is the first of the image"
    for language, told in (("en", "“cat”: tokens 3 to 10"), ("zh", "“cat”：第3到第10个token")):
        (facts,) = by_class(draw("encoder", language), "facts")
        assert told in "".join(facts[0].itertext())


# ---------------------------------------------------------------- reasons in words

REASONS = [
    reasons.token_budget(16, 16),
    reasons.draft_slots(2, 1),
    reasons.max_num_seqs(4, 4),
    reasons.chunked_prefill_off(24, 6),
    reasons.kv_blocks(8, 5, 0),
    reasons.kv_blocks(8, 9, 2),
    reasons.preempted("A", 1, 0),
    reasons.preempted("B", 1, 0),
    reasons.after_preemption(["A", "C"]),
    reasons.head_of_line("A", "kv_blocks"),
    reasons.prefill_interval(2),
    reasons.encoder_budget(16, 0),
    reasons.encoder_cache(16, 4),
    reasons.chunked_mm_input_off(16, 4),
    reasons.encoder_mismatch(16, 4),
    reasons.max_loras(1, 2),
    reasons.spec_padding(4, 2),
    reasons.model_len(64),
    reasons.beyond_prompt(9, 8),
    reasons.async_finishing(),
    reasons.async_stale_output(),
]
CAPPED = ("token_budget", "long_prefill_token_threshold", "model_len", "encoder_budget", "encoder_cache")
LESS = [{"code": code, "wanted": 9, "got": 3} for code in (*CAPPED, "chunked_mm_input_off")]


@pytest.mark.parametrize("language", WORDS)
@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: "-".join(map(str, reason.values())))
def test_a_reason_in_words_has_its_operands(reason: reasons.Reason, language: str) -> None:
    text = why_nothing("B", reason, WORDS[language])
    assert "<b>B</b>" in text
    for name, value in reason.items():
        if name in ("code", "because") or (reason["code"], name) in (
            ("token_budget", "used"),
            ("kv_blocks", "watermark"),
        ):
            continue
        for part in value if isinstance(value, list) else [value]:
            assert escape(part) in text


def test_every_code_of_the_simulator_has_words() -> None:
    codes = {name for name in vars(reasons) if name.islower() and not name.startswith("_") and name != "fill"}
    made = {str(reason["code"]) for reason in (*REASONS, *LESS)}
    assert {code for code in codes if getattr(reasons, code).__module__ == reasons.__name__} <= made


@pytest.mark.parametrize("language", WORDS)
@pytest.mark.parametrize("reason", LESS, ids=lambda reason: str(reason["code"]))
def test_less_than_asked_for_is_told(reason: reasons.Reason, language: str) -> None:
    moment = run_of("long-prefill").moments[1][0]._replace(reason=reason, got=3)
    assert "<b>3</b>" in why_less(moment, WORDS[language])
