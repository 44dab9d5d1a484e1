"""Sweeps as a picture: the frontier, its directions and ties, every run in the drawing, and what is not in it."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from hypothesis import given
from hypothesis import strategies as st

from sim import page
from sim.errors import ConfigError
from sim.figures.frontier import draw_frontier
from sim.figures.scatter import round_scale
from sim.figures.words import Words
from sim.frontier import METRICS, MOST_POINTS, frontier, number, plan
from sim.points import METRICS as COLUMNS
from sim.points import document_at, run_point

LOCALES = Path(__file__).resolve().parents[2] / "site" / "locales"
CONFIG = {"max_num_batched_tokens": 64, "max_num_seqs": 8, "max_model_len": 256}
STEPS = {
    "config": CONFIG,
    "requests": [{"id": f"r{i}", "arrival_step": i, "prompt_tokens": 40, "output_tokens": 9} for i in range(12)],
}
TIMED = STEPS | {
    "requests": [{"id": f"r{i}", "arrival_us": 1000 * i, "prompt_tokens": 40, "output_tokens": 9} for i in range(12)]
}


def catalogue(language: str) -> Words:
    messages = {}
    for prefix in ("", "sweep."):
        with (LOCALES / f"{prefix}{language}.po").open("rb") as file:
            messages |= {str(item.id): str(item.string) for item in read_po(file) if item.id}
    return Words(language, messages)


@pytest.fixture(scope="module", params=["en", "zh"])
def words(request) -> Words:
    return catalogue(request.param)


LATE = {"requests": [{"id": f"{n}", "arrival_step": n * 9, "prompt_tokens": 8, "output_tokens": 2} for n in range(2)]}


def draw(words, vary, x="throughput", y="ttft_p99", document=STEPS, picked=None):
    points = plan(vary)
    return draw_frontier(document, points, [run_point(document, point) for point in points], x, y, words, picked)


# ---------------------------------------------------------------- the frontier

SPOTS = [(1, 9), (5, 5), (5, 6), (9, 9), (4, 4), (4, 4)]


@pytest.mark.parametrize(
    ("better", "kept"),
    [((-1, -1), [0, 4, 5]), ((1, 1), [3]), ((1, -1), [3, 1, 4, 5]), ((-1, 1), [0])],
)
def test_directions_and_ties(better, kept):
    assert frontier(SPOTS, better) == kept


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12),
    st.tuples(st.sampled_from([-1, 1]), st.sampled_from([-1, 1])),
)
def test_what_is_kept_is_what_no_other_beats(spots, better):
    def beats(one, other):
        gains = [way * (a - b) for way, a, b in zip(better, one, other, strict=True)]
        return min(gains) >= 0 and max(gains) > 0

    kept = [place for place, spot in enumerate(spots) if not any(beats(other, spot) for other in spots)]
    assert sorted(frontier(spots, better)) == kept


def test_numbers_of_a_run():
    result = dict.fromkeys(COLUMNS, -1) | {"generated_tokens": 30, "steps": 40, "duration_us": 2_000_000}
    result |= {"ttft_us_p99": 1500, "ttft_steps_p99": 3}
    assert [number(METRICS["throughput"], result, in_time) for in_time in (True, False)] == [15, 750]
    assert [number(METRICS["ttft_p99"], result, in_time) for in_time in (True, False)] == [1500, 3]
    assert number(METRICS["itl_p50"], result, True) is None
    assert number(METRICS["throughput"], result | {"steps": 0}, False) is None


def test_a_point_is_a_scenario_with_faster_arrivals():
    document = document_at(STEPS, {"rate": 2, "max_num_seqs": 4})
    assert document["config"] == CONFIG | {"max_num_seqs": 4}
    assert [request["arrival_step"] for request in document["requests"][:4]] == [0, 0, 1, 1]


def test_round_ticks():
    assert round_scale("", [0, 0], str).ticks == ((0, "0"), (1, "1"))
    assert round_scale("", [7], str).ticks == ((0, "0"), (2, "2"), (4, "4"), (6, "6"), (8, "8"))
    assert [tick for tick, _ in round_scale("", [1143, 1222], str).ticks] == [1140, 1160, 1180, 1200, 1220, 1240]


@given(st.lists(st.integers(0, 10**9), min_size=1))
def test_an_axis_holds_all_its_values(values):
    scale = round_scale("", values, str)
    assert scale.low <= min(values) <= max(values) <= scale.high
    assert (scale.ticks[0][0], scale.ticks[-1][0]) == (scale.low, scale.high)
    assert 2 <= len(scale.ticks) <= 7


# ---------------------------------------------------------------- the drawing


def test_all_runs_are_drawn_and_refused_ones_listed(words):
    html = draw(words, ["max_num_batched_tokens=4,32, 64", "max_num_seqs=2:8:6"])
    sets = re.findall(r'<g class="point[^>]*data-set="(.*?)"', html)
    assert [list(json.loads(unescape(text)).values()) for text in sets] == [[4, 2], [32, 2], [32, 8], [64, 2], [64, 8]]
    assert html.count('role="button"') == 5
    assert html.count('<button type="button" class="point"') == 6
    refusal = "max_num_batched_tokens (4) must be greater than or equal to max_num_seqs (8)."
    assert html.count(words.html("sweep.refused", message=refusal)) == 2
    assert '<code class="sweep-serve" translate="no">vllm serve MODEL --max-num-batched-tokens 32 ' in html
    assert "style=" not in html
    assert len(re.findall(r'aria-label="max_num_batched_tokens = \d+, max_num_seqs = \d+: ', html)) == 5


def test_a_run_that_stops_at_an_assertion_says_so(words):
    config = {"num_speculative_tokens": 4, "max_num_batched_tokens": 16, "max_num_seqs": 4}
    requests = [
        {"id": "A", "prompt_tokens": 4, "output_tokens": 6},
        {"id": "B", "arrival_step": 3, "prompt_tokens": 1, "output_tokens": 2},
    ]
    document = {"config": config, "requests": requests}
    html = draw(words, ["long_prefill_token_threshold=2,8"], document=document)
    assert html.count("long_prefill_token_threshold (2) cuts a decode that was filled up to 5 tokens") == 2
    assert html.count("long_prefill_token_threshold (8) cuts") == 0


def test_beaten_runs_are_hollow(words):
    html = draw(words, ["max_num_seqs=1,2,8"])
    assert re.findall(r'<g class="point (\w+)" aria-label="max_num_seqs = (\d)', html) == [
        *(("beaten", "1"), ("beaten", "2"), ("kept", "8"))
    ]
    names = {"x": words("sweep.metric.throughput"), "y": words("sweep.metric.ttft_p99")}
    assert f'<p class="sweep-told">{words.html("sweep.told.both", n=3, best="max_num_seqs = 8", **names)}</p>' in html
    assert 'class="sweep-line"' not in html


def test_equal_runs_are_no_trade_off_and_no_reason_to_buy_blocks(words):
    equal = words("sentence.join") + words("sweep.told.equal", n=1)
    told = words.html("sweep.told.varied", x="num_gpu_blocks", y=words("sweep.metric.throughput"), best="40") + equal
    assert f"{told}</p>" in draw(words, ["num_gpu_blocks=100,40,20"], x="varied", y="throughput")
    names = {"x": words("sweep.metric.throughput"), "y": words("sweep.metric.ttft_p99")}
    told = words.html("sweep.told.both", n=3, best="num_gpu_blocks = 40", **names) + equal
    assert f"{told}</p>" in draw(words, ["num_gpu_blocks=100,40,20"])


def test_the_ends_of_a_trade_off_are_those_with_the_fewest_blocks(words):
    html = draw(words, ["num_gpu_blocks=100,40", "max_num_batched_tokens=16,64"], x="throughput", y="budget_used")
    ends = [f"num_gpu_blocks = 40, max_num_batched_tokens = {tokens}" for tokens in (64, 16)]
    names = {"x": words("sweep.metric.throughput"), "y": words("sweep.metric.budget_used")}
    assert words.html("sweep.told", kept=4, n=4, first=ends[0], last=ends[1], **names) in html


def test_units_follow_the_scenario(words):
    in_steps, in_time = (draw(words, ["max_num_seqs=4,8"], document=document) for document in (STEPS, TIMED))
    for html, suffix in ((in_steps, "steps"), (in_time, "us")):
        for kind, name in (("time", "ttft_p99"), ("rate", "throughput")):
            unit = words(f"sweep.unit.{kind}_{suffix}")
            assert words("sweep.head", metric=words(f"sweep.metric.{name}"), unit=unit) in html


def test_the_varied_key_as_x(words):
    html = draw(words, ["policy=priority,fcfs"], x="varied", y="budget_used", picked={"policy": "fcfs"})
    assert re.findall(r'<text x="\d+" y="364" text-anchor="middle">(\w+)<', html) == ["priority", "fcfs"]
    assert html.count('class="point kept"') == 2
    assert html.count('aria-current="true"') == 2


def test_runs_without_a_number_or_an_end(words):
    short = STEPS | {"requests": [{"id": "A", "prompt_tokens": 9, "output_tokens": 1}]}
    html = draw(words, ["max_num_seqs=1,2"], y="itl_p99", document=short)
    assert "<svg" not in html
    assert html.count(words.html("sweep.no.number")) == 2
    assert words.html("sweep.told.none") in html
    html = draw(words, ["num_gpu_blocks=2,100"], document=STEPS)
    assert html.count(words.html("sweep.unfinished", outcome="stalled")) == 2


def test_many_runs_stay_a_picture(words):
    html = draw(words, ["max_num_seqs=1:60:1"])
    assert html.count('<g class="point') == 60
    labels = re.search(r'<g class="sweep-labels".*?</g>', html)[0]
    assert 2 <= labels.count("<text") < 30
    # From 9 on, more places change nothing.
    assert ">9 +51</text>" in labels


def test_every_word_is_used(words):
    sim = LOCALES.parents[1] / "sim"
    files = (sim / "figures" / "frontier.py", sim / "exporters" / "sweep_html.py")
    sources = "".join(file.read_text("utf-8") for file in files)
    used = set(re.findall(r'"(sweep\.[a-z_.]*[a-z])"', sources)) | {f"sweep.metric.{name}" for name in METRICS}
    used |= {f"sweep.unit.{name}" for name in ("time_us", "time_steps", "rate_us", "rate_steps", "times", "tokens")}
    used |= {"sweep.unit.permille", "sweep.axis.more", "sweep.axis.less"}
    assert {name for name in words._messages if name.startswith("sweep.")} == used


# ---------------------------------------------------------------- what the page asks


def ask(**question):
    return json.loads(page.handle(json.dumps(question)))


def test_through_the_page(monkeypatch):
    monkeypatch.setitem(page.WORDS, "en", catalogue("en"))
    points = ask(do="sweep-plan", scenario=STEPS, vary=["max_num_seqs=4,8"])["result"]["points"]
    assert points == [{"max_num_seqs": 4}, {"max_num_seqs": 8}]
    results = [ask(do="sweep-point", scenario=STEPS, point=point)["result"] for point in points]
    assert results == [run_point(STEPS, point) for point in points]
    drawing = {"scenario": STEPS, "x": "ttft_p50", "y": "preemptions", "language": "en"}
    html = ask(do="sweep-draw", points=points[:1], results=results[:1], **drawing)["result"]
    assert html.count('<g class="point') == 1
    faster = ask(do="sweep-scenario", scenario=LATE, point={"rate": 4, "max_num_seqs": 2})["result"]
    assert [request["arrival_step"] for request in faster["requests"]] == [0, 2]
    assert faster["config"]["max_num_seqs"] == 2


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ({"do": "sweep-plan", "scenario": {}, "vary": []}, "requests: missing, must be a list of requests"),
        ({"do": "sweep-plan", "vary": []}, "vary: [] is not allowed, must be a list of KEY=VALUE,VALUE,..."),
        ({"do": "sweep-plan", "vary": ["seqs=1"]}, "seqs: unknown key, must be one of max_num_batched_tokens, "),
        (
            {"do": "sweep-plan", "vary": ["max_num_seqs=1:201:1"]},
            f"201 points are too many, at most {MOST_POINTS} are allowed",
        ),
        ({"do": "sweep-point", "scenario": 3, "point": {}}, "a scenario must be an object with config and requests"),
        ({"do": "sweep-point", "point": None}, "point: null is not allowed, must be an object of keys and values"),
        ({"do": "sweep-point", "point": {"seqs": 1}}, "point.seqs: unknown key, must be one of "),
        ({"do": "sweep-point", "point": {"max_num_seqs": 0}}, "point.max_num_seqs: 0 is not allowed, "),
        ({"do": "sweep-draw", "results": [{}]}, "results[0]: {} is not allowed, must be the result of a point"),
        ({"do": "sweep-draw", "results": []}, "results: 0 for 1 points, must be one for each"),
    ],
)
def test_what_the_page_refuses(question, error):
    whole = {"scenario": STEPS, "points": [{"max_num_seqs": 1}], "x": "ttft_p99", "y": "itl_p99", "language": "en"}
    assert ask(**{**whole, **question})["error"].startswith(error)


@pytest.mark.parametrize(
    ("field", "names"), [("x", ("ttft", "itl_p99")), ("x", ("varied", "itl_p99")), ("y", ("itl_p99", "varied"))]
)
def test_axes_that_are_none(words, field, names):
    with pytest.raises(ConfigError) as caught:
        draw(words, ["max_num_seqs=1", "policy=fcfs"], *names)
    assert caught.value.field == field
