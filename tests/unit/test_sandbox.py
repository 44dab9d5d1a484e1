"""The sandbox: the run that its form describes, what is read from it, and the picture in parts."""

import inspect
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given

import sim.page
from build import FIGURE_CATALOGS, read_catalogs
from sim import reasons
from sim.engine import simulate
from sim.errors import ConfigError
from sim.figures.words import Words
from sim.page import Texts, handle
from sim.parameters import CONFIG
from sim.sandbox.against import unlike
from sim.sandbox.controls import CONTROLS, FIRST_CONFIG, REQUESTS, first_values, list_text, values_of
from sim.sandbox.figure import SANDBOX, advance, draw
from sim.sandbox.form import GROUPS
from sim.sandbox.moment import Loss, moment_of
from sim.sandbox.pool import Block, PoolWatch
from sim.sandbox.run import Runs, document, key_of, run_of
from sim.sandbox.saved import save
from sim.sandbox.sources import line_of
from sim.sandbox.window import beside, window_of
from sim.scenario import parse_scenario
from tests.strategies import scenarios

CATALOGS = read_catalogs(*FIGURE_CATALOGS)
WORDS = Words("en", CATALOGS["en"])


def values(**changes):
    return SANDBOX.check(first_values() | changes)


def drawn(html):
    pieces = re.findall(r'data-step="(\d+)" data-request="([^"]+)" data-tokens="(\d+)" data-kind="(\w+)"', html)
    return {(int(step), request): (int(tokens), kind) for step, request, tokens, kind in pieces}


# --- the form


def test_every_key_of_a_configuration_has_its_place_in_the_form():
    assert sorted(key for _, keys in GROUPS for key in keys) == sorted(row.name for row in CONFIG)
    html = SANDBOX.form(WORDS)
    names = re.findall(r'<(?:input|select|textarea)[^>]* name="(\w+)"', html)
    assert sorted(names) == sorted(control.name for control in CONTROLS)


def test_the_form_describes_a_scenario_and_back():
    scenario = {"name": "sandbox", "config": FIRST_CONFIG, "requests": list(REQUESTS)}
    assert document(values()) == scenario
    assert document(SANDBOX.check(values_of(scenario))) == scenario
    assert values_of({"requests": []})["name"] == "sandbox"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"requests": "["}, "requests: line 1, column 2: Expecting value"),
        ({"requests": "[" * 100_000}, "requests: too many brackets inside each other"),
        ({"requests": '{"id": "A"}'}, 'requests: {"id": "A"} is not allowed, must be a list of requests'),
        ({"max_num_batched_tokens": 2}, "max_num_batched_tokens: max_num_batched_tokens (2) must be"),
        ({"baseline": "{"}, 'baseline: "{" is not allowed, must be a configuration as JSON'),
        ({"baseline": '{"max_num_seq": 1}'}, "baseline: config.max_num_seq: unknown key"),
        ({"baseline": '{"max_num_batched_tokens": 2}'}, "baseline: max_num_batched_tokens: max_num_batched_tokens (2)"),
    ],
)
def test_bad_values_name_their_field(changes, told):
    for ask in (lambda asked: draw(asked, WORDS), advance):
        with pytest.raises(ConfigError, match=re.escape(told)):
            ask(values(**changes))


# --- what is read from a run


def test_every_reason_has_its_line():
    codes = {name for name, function in inspect.getmembers(reasons, inspect.isfunction) if name != "fill"}
    assert {code for code in codes if line_of(code, is_running=False) is None} == {
        "async_finishing",  # running requests only
        "beyond_prompt",
        "head_of_line",  # told by its cause
        "model_len",
    }
    assert {code for code in codes if line_of(code, is_running=True) is None} == {"head_of_line"}
    assert (line_of("token_budget", is_running=True), line_of("token_budget", is_running=False)) == (795, 1062)


def test_what_a_preemption_cost():
    run = run_of(values())
    assert moment_of(run, 4).losses() == [Loss("D", 13, 7, 12)]
    assert moment_of(run, 11).losses() == [Loss("D", 21, 14, 20), Loss("E", 12, 14, 8)]
    assert moment_of(run, 5).losses() == []
    assert [moment_of(run, 4).before(request) for request in "ABCDEF"] == [13, 24, 13, 13, 0, 0]


@given(scenarios())
def test_the_pool_is_that_of_the_run_in_any_order_of_looking(given_scenario):
    scenario = parse_scenario(given_scenario)
    trace = simulate(scenario, max_steps=40)
    if trace.error is not None:
        return
    watch = PoolWatch(scenario)
    steps = trace.steps[::3]
    for record in (*steps, *reversed(steps[:3])):
        pool = watch.after(record.step)
        free = sorted(block.place for block in pool.blocks if block.place is not None)
        assert free == list(range(record.free_blocks))
        assert all((block.ref_cnt == 0) == (block.place is not None) for block in pool.blocks)
        assert all(block.ref_cnt == len(block.owners) for block in pool.blocks)
        assert {name: pool.num_computed_tokens[name] for name in record.computed} == record.computed


def test_a_block_after_a_step():
    pool = run_of(values()).watch.after(4)
    assert pool.blocks[0] == Block(1, ("A", "B", "C"), 4, 3, 1, None)
    assert [block.place for block in pool.blocks if not block.owners] == [3, 2, 1, 0]


# --- what is seen


def test_windows_are_pages_of_steps_and_rows():
    requests = list_text(
        [{"id": f"r{n}", "arrival_step": n, "prompt_tokens": 4, "output_tokens": 9} for n in range(40)]
    )
    run = run_of(values(requests=requests, num_gpu_blocks=1000, max_num_seqs=16))
    window = window_of(run, 26, "12", 0, "")
    assert (window.first, window.last, window.cell, window.num_rows) == (24, 35, 52, 20)
    assert window.lanes[0].spec.id == "r16"
    one = window_of(run, 26, "1", 0, "")
    assert (one.first, one.last, one.cell) == (26, 26, 52)
    last = window_of(run, run.num_steps - 1, "24", 0, "")
    assert last.last == run.num_steps - 1
    everything = window_of(run, 3, "all", 30, "r2")
    assert (everything.row, len(everything.lanes), everything.is_single) == (16, 24, True)
    assert everything.lanes[0].spec.id == "r2"
    caption = SANDBOX.render(
        values(requests=requests, num_gpu_blocks=1000, max_num_seqs=16, columns="all", row=30, request="r2"), WORDS
    )
    assert "Requests 17 to 39 of the 40 that are there in them." in caption
    shorter = run_of(values(requests=requests, num_gpu_blocks=1000, max_num_seqs=16, num_speculative_tokens=1))
    assert beside(window, shorter).first == 24


@pytest.mark.parametrize(
    ("request_id", "row", "told"),
    [
        ("r30", "r30", "<b>r30</b> is not there in these steps, but from step 30 to step 38."),
        ("r2", "r2", None),
        ("<x>", "r0", "No request is called <b>&lt;x&gt;</b>."),
        ("late", "late", "<b>late</b> is never there while the run lasts."),
    ],
)
def test_a_request_that_is_sought_has_a_row_or_is_told_to_be_nowhere(request_id, row, told):
    ids = {f"r{n}": {"arrival_step": n} for n in range(40)} | {"late": {"arrival_step": 60, "abort_step": 60}}
    requests = list_text([{"id": name, "prompt_tokens": 4, "output_tokens": 9} | more for name, more in ids.items()])
    sought = values(requests=requests, num_gpu_blocks=1000, max_num_seqs=16, step=3, columns="12", request=request_id)
    window = window_of(run_of(sought), 3, "12", 0, request_id)
    assert (window.lanes[0].spec.id, window.num_rows) == (row if row != "r2" else "r0", 12)
    html = SANDBOX.render(sought, WORDS)
    assert ("data-found" in html) == (told is not None)
    assert told is None or told in html[: html.index("data-scrub")], "above the timeline, where the name is typed"
    assert "Requests 1 to 12 of the 12 that are there in them." in html
    assert (">Go to step 30</button>" in html) == (request_id == "r30")


def test_the_picture_shows_what_the_simulator_decides():
    trace = simulate(parse_scenario(document(values())))
    pieces = drawn(SANDBOX.render(values(), WORDS))
    assert {place: tokens for place, (tokens, _) in pieces.items()} == {
        (record.step, request): tokens for record in trace.steps for request, tokens in record.scheduled.items()
    }
    assert pieces[0, "A"] == (10, "prefill")
    assert pieces[1, "A"] == (1, "decode")


def test_a_walk_through_the_steps_leaves_most_parts_alone():
    first, second = (draw(values(step=step), WORDS) for step in (4, 5))
    same = [before == after for before, after in zip(first.parts, second.parts, strict=True)]
    assert same == [False, False, True, False, True, False, True, True]
    assert second.band - first.band == 26
    assert f'class="selected" x="{first.band}"' in SANDBOX.render(values(step=4), WORDS)


@pytest.mark.parametrize("language", ["en", "zh"])
@given(given_scenario=scenarios())
def test_any_run_is_drawn_in_both_languages(language, given_scenario):
    words = Words(language, CATALOGS[language])
    scenario = given_scenario | {"name": "any"}
    shown = values_of(scenario) | {"step": 3, "baseline": json.dumps(FIRST_CONFIG)}
    try:
        parts = draw(SANDBOX.check(shown), words).parts
    except ConfigError:
        return
    assert all(part.startswith("<") for part in parts)


def test_nothing_to_run_and_nothing_that_can_run():
    nobody = SANDBOX.render(values(requests="[]"), WORDS)
    assert 'data-outcome="finished"' in nobody
    assert "Nothing to look at yet" in nobody
    assert "Nothing is wrong" not in nobody
    never = '[{"id": "A", "prompt_tokens": 2000, "output_tokens": 1}]'
    html = SANDBOX.render(values(requests=never, max_model_len=4096), WORDS)
    assert 'data-outcome="stalled"' in html
    assert 'data-finding="never_fits"' in html


@pytest.mark.parametrize(
    ("num_long", "lines"),
    [
        (3, ["r0", "r1", "r2"]),
        (40, ["r0", "r1", "r2", "37 more warnings; the saved trace has them all."]),
    ],
)
def test_many_warnings_are_counted(num_long, lines):
    long = list_text([{"id": f"r{n}", "prompt_tokens": 90, "output_tokens": 1} for n in range(num_long)])
    html = SANDBOX.render(values(requests=long, max_model_len=64), WORDS)
    told = re.findall(r'<p class="warning">(?:request (r\d+): prompt_tokens \(90\) exceeds|(.*?)</p>)', html)
    assert ["".join(line) for line in told] == lines
    assert len(run_of(values(requests=long, max_model_len=64)).trace.warnings) == num_long


FITS = {"id": "A", "prompt_tokens": 10, "output_tokens": 2}
NEVER = {"id": "B", "prompt_tokens": 40, "output_tokens": 2, "arrival_step": 4}
SHORT = {"id": "C", "prompt_tokens": 4, "output_tokens": 2, "arrival_step": 5}


def compared(now, baseline, requests, **changes):
    """The text of the comparison, with `|` between elements, and of what stands below the table of numbers."""
    config = json.dumps(FIRST_CONFIG | changes | {"num_gpu_blocks": baseline})
    changes |= {"num_gpu_blocks": now, "baseline": config, "requests": list_text(requests)}
    html = "".join(draw(values(**changes), WORDS).parts)
    comparison = re.search(r'<section class="compare".*?</section>', html)[0]
    below = re.search(r"</table>([^<]*(?:<p.*?</p>)?)</section>", html)
    texts = [re.sub(r"</?(?:b|code)>", "", part) for part in (comparison, below[1] if below else "")]
    return [[text for text in re.split(r"(?:<[^>]*>|\s)*<[^>]*>\s*", part) if text] for part in texts]


def test_a_baseline_that_stalls_is_said_to_and_why():
    comparison, below = compared(16, 5, [FITS, NEVER, SHORT])
    assert comparison[5:] == [
        "The baseline ends after 2 steps; the run as set now goes on. Up to there both decide the same.",
        "Go to step 2",
        "How they end:",
        "Baseline",
        "Stalled after 2 steps: B, C can never be scheduled; 1 of 3 requests finished.",
        "B waits: all of its tokens need 10 blocks, and 4 are free.",
        "As set now",
        "3 of 3 requests finished in 8 steps.",
    ]
    assert below == ["The percentiles are of different requests: 3 of 3 finished as set now, 1 of 3 in the baseline."]


def test_a_run_that_stalls_beside_its_baseline_has_steps_to_go_to_or_none():
    comparison, _ = compared(5, 16, [FITS, NEVER])
    assert comparison[5:7] == [
        "The run as set now ends after 2 steps; the baseline goes on. Up to there both decide the same.",
        "Go to step 1",
    ]
    comparison, _ = compared(5, 16, [NEVER])
    assert comparison[5:7] == ["The run as set now ends after 0 steps; the baseline goes on.", "How they end:"]
    comparison, _ = compared(5, 6, [NEVER])
    assert comparison[5] == "How they end:"


def test_how_two_end_is_told_where_they_part_before_and_one_stalls():
    together = [FITS | {"output_tokens": 9}, NEVER | {"arrival_step": 1}, SHORT]
    comparison, _ = compared(16, 7, together)
    assert comparison[5] == "They first differ in step 1, in new."
    assert "Stalled after 9 steps: B, C can never be scheduled; 1 of 3 requests finished." in comparison
    comparison, below = compared(16, 40, [FITS, SHORT])
    assert comparison[5:] == ["Both decide the same in all 7 steps."]
    assert below == []


def test_percentiles_of_as_many_but_other_requests_are_told_apart():
    requests = [FITS | {"id": f"r{n}", "output_tokens": 4, "abort_step": 6} for n in range(2)]
    last, first = (run_of(values(requests=list_text(requests[::way]), max_num_seqs=1)) for way in (-1, 1))
    assert [run.summary.finished for run in (last, first)] == [1, 1]
    assert "1 of 2 finished as set now, 1 of 2 in the baseline" in unlike(last, first, WORDS)
    assert unlike(first, first, WORDS) == ""


def test_many_reasons_are_counted():
    requests = [FITS | {"id": f"r{n}"} for n in range(12)]
    comparison, _ = compared(1000, 13, requests, max_num_seqs=16, max_num_batched_tokens=256)
    assert [text for text in comparison if "waits" in text] == [
        "r4 waits: all of its tokens need 3 blocks, and 0 are free."
    ]
    assert len([text for text in comparison if "stands behind" in text]) == 5
    assert comparison.count("and 2 more requests") == 1


def test_block_ids_are_ranges_and_after_a_few_are_counted():
    long = list_text([{"id": "L", "prompt_tokens": 14_470, "output_tokens": 1}])
    room = {"max_num_batched_tokens": 16_384, "max_model_len": 16_384, "block_size": 16, "num_gpu_blocks": 5_000}
    panel = SANDBOX.render(values(requests=long, **room), WORDS)
    assert "<td>1–905</td>" in panel
    small = [{"id": f"s{n}", "prompt_tokens": 8, "output_tokens": 9 if n % 2 else 2} for n in range(12)]
    room = {"max_num_batched_tokens": 128, "max_model_len": 128, "block_size": 16, "num_gpu_blocks": 13}
    scattered = list_text([*small, {"id": "L", "prompt_tokens": 96, "output_tokens": 1}])
    panel = SANDBOX.render(values(requests=scattered, max_num_seqs=12, step=2, **room), WORDS)
    assert "<td>11, 9, 7, 5, and 2 more</td>" in panel


def test_of_many_that_finish_or_lose_some_are_told():
    short = list_text([{"id": f"r{n}", "prompt_tokens": 1, "output_tokens": 1} for n in range(50)])
    room = {"max_num_batched_tokens": 64, "num_gpu_blocks": 64, "max_num_seqs": 50}
    ended = SANDBOX.render(values(requests=short, **room), WORDS).partition('<p class="ended">')[2].partition("</p>")[0]
    assert ended.count("<span") == 40
    assert ended.endswith(" and 10 more")


# --- long runs, long texts, files


def test_a_run_goes_on_slice_by_slice_and_is_given_up_for_another():
    runs = Runs(2)
    one, other = key_of(values(name="one")), key_of(values(name="other"))
    progress = runs.advance(one, 1)
    assert progress is not None
    assert progress.num_requests == 6
    assert runs.advance(other, 10_000) is None
    assert runs.get(one).trace == replace(runs.get(other).trace, name="one")
    assert runs.advance(one, 1) is None


def test_long_texts_cross_once():
    texts = Texts()
    question = {"values": {"requests": {"text": "0"}, "step": 1}, "texts": {"0": "[]"}}
    texts.put_in(question)
    assert question == {"values": {"requests": "[]", "step": 1}}
    again = {"values": {"requests": {"text": "0"}}, "texts": {}}
    texts.put_in(again)
    assert again["values"] == {"requests": "[]"}


def test_questions_about_the_sandbox_are_answered():
    def ask(**question):
        return json.loads(handle(json.dumps(question)))

    assert ask(do="sandbox-values", scenario={"requests": []})["result"]["requests"] == "[]"
    assert ask(do="sandbox-values", scenario=[])["error"] == "a scenario must be an object with config and requests"
    told = ask(do="sandbox-export", format="word", values=first_values(), address="")
    assert told["error"].startswith('format: "word" is not allowed, must be scenario or trace')


def test_what_vllm_refuses_is_told_with_a_way_out(monkeypatch):
    monkeypatch.setitem(sim.page.WORDS, "en", WORDS)
    refused = values(max_num_batched_tokens=2)
    question = {"do": "render", "figure": "sandbox", "language": "en", "values": refused}
    problem = json.loads(handle(json.dumps(question)))["result"]["problem"]
    assert problem["field"] == "max_num_batched_tokens"
    assert problem["text"].endswith("max_num_batched_tokens (2) must be greater than or equal to max_num_seqs (4).")
    assert 'data-set="{&quot;max_num_batched_tokens&quot;: 4}"' in problem["html"]


def test_a_long_address_stays_within_the_picture():
    short = save("svg", values(), "https://example.org/?step=4")["text"]
    long = save("svg", values(), "https://example.org/#z=" + 9_000 * "a")["text"]
    assert short.count("<a ") == 1
    lines = re.findall(r"<a href[^>]*><text[^>]*>([^<]*)</text></a>", long)
    assert len(lines) == 6
    assert lines[-1] == "…"
    width = int(re.search(r'width="(\d+)"', long)[1])
    assert all(len(line) * 6 < width for line in lines)


def test_files_are_named_after_the_scenario():
    saved = save("svg", values(name="My run / 1"), "https://example.org/?step=4")
    assert (saved["name"], saved["type"]) == ("My-run-1.svg", "image/svg+xml")
    assert "https://example.org/?step=4" in saved["text"]
    assert save("scenario", values(name="!"), "")["name"] == "sandbox.json"
