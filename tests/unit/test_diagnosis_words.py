"""Findings, changes and trials in general, and their words."""

import dataclasses
import inspect
import json
import re
from html import unescape

import pytest

from build import read_catalogs
from sim import reasons
from sim.diagnosis import CODES, SEVERITIES, Finding, diagnose, try_change
from sim.diagnosis.draw import draw_findings, draw_trial
from sim.diagnosis.finding import merged
from sim.diagnosis.limits import LIMITS
from sim.diagnosis.trial import SHOWN, UNITS, Number, Trial
from sim.engine import simulate
from sim.figures.words import Words
from tests.unit.diagnosing import LIVELOCK, QUEUE, findings, request, scenario, sharing

# --- findings, changes and trials in general


def test_the_worst_comes_first():
    found = findings(*sharing(12), request("X", 65, 5, 30))
    assert [finding.severity for finding in found] == ["error", "error", "hint"]


def test_spans_that_touch_are_one():
    assert merged([(5, 6), (0, 1), (2, 3), (6, 9)]) == ((0, 3), (5, 9))


def test_a_change_that_does_not_help():
    run = scenario(request("A", 4, 30), request("B", 4, 2), max_num_seqs=1)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    trial = try_change(run, trace, dataclasses.replace(finding, change={"watermark": 0.1}))
    assert (trial.helps, trial.first_difference) == (False, None)


def test_a_change_that_is_refused():
    run = scenario(request("A", 4, 30), request("B", 4, 2), max_num_seqs=1)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    trial = try_change(run, trace, dataclasses.replace(finding, change={"max_num_seqs": 17}))
    assert (trial.helps, trial.numbers) == (False, ())
    assert "must be greater than or equal to max_num_seqs (17)" in trial.refused


# --- words and HTML


@pytest.fixture(scope="module")
def words():
    return {language: Words(language, messages) for language, messages in read_catalogs("", "diagnosis.").items()}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("change", "is_told"),
    [({"num_gpu_blocks": 20}, True), ({"num_gpu_blocks": 20, "block_size": 4}, False), ({"max_num_seqs": 2}, False)],
)
def test_more_blocks_need_memory(words, language, change, is_told):
    operands = {"preemptions": 4, "id": "A", "times": 3, "recomputed": 9, "computed": 20}
    some = Finding("thrash", "warning", (), ("A",), operands, change)
    html = draw_findings([some, some], words[language])
    assert html.count("--gpu-memory-utilization") == is_told


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_code_has_words(words, language):
    have = words[language]._messages
    causes = set(re.findall(r'"code": "(\w+)"', inspect.getsource(reasons)))
    assert {"token_budget", "async_finishing"} <= causes
    wanted = {f"name.{code}" for code in CODES} | {f"severity.{severity}" for severity in SEVERITIES}
    wanted |= {f"nothing.{severity}" for severity in SEVERITIES}
    wanted |= {f"because.{cause}" for cause in causes - {"head_of_line"}} | {"because.unknown"}
    wanted |= {f"never_fits.{limit.code}" for limit in LIMITS}
    wanted |= {f"head_of_line.{cause}" for cause in ("kv_blocks", "chunked_prefill_off")}
    wanted |= {f"budget_unused.{cause}" for cause in ("kv_blocks", "max_num_seqs")}
    wanted |= set(CODES) - {"never_fits", "head_of_line", "budget_unused"}
    wanted |= {f"number.{name}" for names in SHOWN.values() for name in names}
    wanted |= {f"unit.{unit}" for unit in {*UNITS.values(), "steps", "us"} - {"", "permille"}}
    assert {f"diagnosis.{name}" for name in wanted} - set(have) == set()


EVERY = [
    *((request("A", 30, 30),), {"max_model_len": 40}),
    *((request("A", 20, 25), request("B", 5, 5, 3)), {"num_gpu_blocks": 10}),
    *((request("A", 50, 5), request("B", 5, 5)), LIVELOCK),
    *((request("A", 65, 5), request("B", 70, 5)), {}),
    *((request("A", 4, 2),), {"max_num_seqs": 20}),
    *(tuple(request(f"r{i}", 4, 21) for i in range(9)), {"max_num_seqs": 1, "max_num_batched_tokens": 4}),
    *(tuple(QUEUE), {"num_gpu_blocks": 13, "max_num_batched_tokens": 64}),
    *(tuple(sharing(12)), {}),
    *(tuple(sharing(15)), {"enable_prefix_caching": True, "block_size": 16}),
]
"""Requests and configurations, in turns, with findings of many kinds."""


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("requests", "config"), list(zip(EVERY[::2], EVERY[1::2], strict=True)))
def test_findings_and_trials_are_drawn(words, language, requests, config):
    run = scenario(*requests, **config)
    trace = simulate(run)
    found = diagnose(run, trace)
    html = draw_findings(found, words[language])
    assert re.findall(r'data-finding="(\w+)"', html) == [finding.code for finding in found]
    assert "style=" not in html
    for index, finding in enumerate(found):
        trial = try_change(run, trace, finding)
        asked = json.dumps({"do": "try", "finding": index})
        assert unescape(html).count(f'data-ask="{asked}"') == 1
        assert draw_trial(trial, words[language]).count("<tr data-number=") == len(trial.numbers)


def test_a_finding_names_requests_steps_and_change(words):
    html = unescape(draw_findings(findings(*QUEUE, num_gpu_blocks=13, max_num_batched_tokens=64), words["en"]))
    assert (
        "<b>B</b> is first in the queue and needs 8 blocks, but can have only 4. In 5 steps 2 requests behind it would "
        "have fitted, and waited: C, D."
    ) in html
    assert '<button type="button" class="jump" data-set="{"step": 1}">1–5</button>' in html
    assert "<code>num_gpu_blocks = 18</code>" in html
    assert '<button type="button" class="take" data-set="{"num_gpu_blocks": 18}">' in html


def test_many_spans_and_requests_are_counted(words):
    many = Finding("cache_off", "hint", tuple((2 * i, 2 * i) for i in range(7)), tuple(map(str, range(9))))
    many = dataclasses.replace(many, operands={"lost": 1, "total": 2, "count": 9, "block_size": 4})
    html = draw_findings([many], words["en"])
    assert html.count('class="jump"') == 4
    assert "and 3 more" in html
    assert "Nothing in the configuration helps" in html
    starved = Finding("stalled", "error", (), tuple("ABCDEFGHI"), {"cause": "kv_blocks", "count": 9})
    assert "A, B, C, D, E, F and 3 more" in draw_findings([starved], words["en"])


def test_a_healthy_run_is_told_what_was_looked_for(words):
    html = draw_findings([], words["en"])
    assert html.startswith('<p class="healthy">Nothing is wrong with this run.')
    assert "starvation, held up by the head of the queue" in html


def test_a_trial_in_a_sentence_and_a_table(words):
    numbers = (Number("itl_p99", 33_249, 12_744, "us"), Number("budget_used", 74, 280, "permille"))
    html = draw_trial(Trial({"max_num_seqs": 2}, numbers, 3, helps=True), words["en"])
    assert "<b>It helps.</b> Between tokens, p99: from 33.2 ms to 12.7 ms. The runs part in step 3." in html
    assert "<td>7.4 %</td><td>28.0 %</td>" in html
    html = draw_trial(Trial({}, (Number("ttft_p50", None, 4, "steps"),), None, helps=False), words["en"])
    assert "<b>It does not help.</b>" in html
    assert "<td>–</td><td>4 steps</td>" in html
    refused = Trial({}, (), None, helps=False, refused="no")
    assert draw_trial(refused, words["en"]).endswith("<code>no</code></p>")
