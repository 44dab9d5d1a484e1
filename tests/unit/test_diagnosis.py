"""The diagnosis: for each rule a run in which it finds something, and one that only just is all right."""

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
from sim.diagnosis.stuck import LIMITS
from sim.diagnosis.trial import SHOWN, UNITS, Number, Trial
from sim.engine import simulate
from sim.figures.words import Words
from sim.sandbox.reading import read_lanes
from sim.scenario import Scenario, parse_scenario

SMALL = {"max_num_batched_tokens": 16, "max_num_seqs": 4, "max_model_len": 64, "block_size": 4, "num_gpu_blocks": 100}


def scenario(*requests: dict, **config) -> Scenario:
    return parse_scenario({"name": "s", "config": SMALL | config, "requests": list(requests)})


def request(request_id: str, prompt_tokens: int, output_tokens: int, arrival_step: int = 0, **more) -> dict:
    tokens = {"prompt_tokens": prompt_tokens, "output_tokens": output_tokens}
    arrival = {} if "arrival_us" in more else {"arrival_step": arrival_step}
    return {"id": request_id, **tokens, **arrival, **more}


def findings(*requests: dict, **config) -> list[Finding]:
    run = scenario(*requests, **config)
    return diagnose(run, simulate(run))


def codes(*requests: dict, **config) -> list[str]:
    return [finding.code for finding in findings(*requests, **config)]


def the(code: str, found: list[Finding]) -> Finding:
    (finding,) = [finding for finding in found if finding.code == code]
    return finding


# --- healthy runs


@pytest.mark.parametrize(
    ("requests", "config"),
    [
        ([request(f"r{i}", 300 + 37 * i % 500, 40 + 13 * i % 50, 5 * i) for i in range(40)], {}),
        (
            [request("A", 6, 5), request("B", 10, 3, 1), request("C", 9, 3, 2)],
            SMALL | {"max_num_batched_tokens": 8},
        ),
        ([request("A", 64, 200)], {"enable_prefix_caching": True}),
        ([], {}),
    ],
)
def test_a_healthy_run(requests, config):
    run = parse_scenario({"config": config, "requests": requests})
    assert diagnose(run, simulate(run)) == []


def test_lanes_that_are_there_are_used():
    run = scenario(request("A", 4, 30), request("B", 4, 2), max_num_seqs=1)
    trace = simulate(run)
    assert diagnose(run, trace, read_lanes(run, trace)) == diagnose(run, trace) != []


# --- refused


@pytest.mark.parametrize(
    ("config", "change"),
    [
        ({"max_num_seqs": 20}, {"max_num_batched_tokens": 20}),
        ({"enable_chunked_prefill": False}, {"max_num_batched_tokens": 64}),
        ({"max_num_active_seqs": 6}, {"max_num_active_seqs": 4}),
        ({"long_prefill_token_threshold": 65}, {"long_prefill_token_threshold": 64}),
        (
            {"max_num_seqs": 99, "enable_chunked_prefill": False, "max_num_active_seqs": 100},
            {"max_num_batched_tokens": 99, "max_num_active_seqs": 99},
        ),
    ],
)
def test_refused(config, change):
    run = scenario(request("A", 4, 2), **config)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.severity, finding.spans) == ("refused", "error", ())
    assert finding.change == change
    trial = try_change(run, trace, finding)
    assert (trial.helps, trial.numbers) == (True, (Number("unfinished", 1, 0, "requests"),))


def test_a_failed_assertion_of_vllm():
    """A decode that is filled up with drafts is cut: the threshold is raised to what it needs."""
    run = scenario(request("A", 4, 6), request("B", 1, 2, 3), num_speculative_tokens=4, long_prefill_token_threshold=2)
    trace = simulate(run)
    assert trace.error is not None
    (finding,) = diagnose(run, trace)
    assert finding.change == {"long_prefill_token_threshold": 5}
    assert try_change(run, trace, finding).helps


# --- never fits, stalled, livelock


@pytest.mark.parametrize(
    ("misfit", "config", "operands", "change"),
    [
        (
            request("A", 20, 25),
            {"num_gpu_blocks": 11},
            {"limit": "blocks", "needs": 11, "has": 10},
            {"num_gpu_blocks": 12},
        ),
        (request("A", 65, 5), {}, {"limit": "model_len", "needs": 70, "has": 64}, {"max_model_len": 70}),
        (
            request("A", 20, 5, images=[{"offset": 2, "length": 9}]),
            {"encoder_compute_budget": 8},
            {"limit": "encoder_budget", "needs": 9, "has": 8},
            {"encoder_compute_budget": 9},
        ),
        (
            request("A", 20, 5, images=[{"offset": 2, "length": 9}]),
            {"encoder_compute_budget": 12, "encoder_cache_size": 8},
            {"limit": "encoder_cache", "needs": 9, "has": 8},
            {"encoder_cache_size": 9},
        ),
        (
            request("A", 20, 5, images=[{"offset": 0, "length": 17}]),
            {"encoder_compute_budget": 32, "disable_chunked_mm_input": True},
            {"limit": "chunked_mm_input_off", "needs": 17, "has": 16},
            {"max_num_batched_tokens": 17},
        ),
        (
            request("A", 20, 5),
            {"enable_chunked_prefill": False, "max_num_batched_tokens": 64, "max_num_scheduled_tokens": 16},
            {"limit": "chunked_prefill_off", "needs": 20, "has": 16},
            {"max_num_scheduled_tokens": 20},
        ),
    ],
)
def test_never_fits(misfit, config, operands, change):
    run = scenario(request("B", 5, 5), misfit, **config)
    trace = simulate(run)
    found = diagnose(run, trace)
    finding = the("never_fits", found)
    assert (finding.severity, finding.requests) == ("error", ("A",))
    assert finding.operands == {"id": "A", **operands}
    assert finding.change == change
    assert the("stalled", found).change == change
    trial = try_change(run, trace, finding)
    assert trial.helps
    assert trial.numbers[0].after == 0


@pytest.mark.parametrize(
    ("fits", "config"),
    [
        (request("A", 20, 25), {"num_gpu_blocks": 12}),
        (request("A", 63, 5), {}),
        (request("A", 20, 5, images=[{"offset": 2, "length": 8}]), {"encoder_compute_budget": 8}),
        (request("A", 16, 5), {"enable_chunked_prefill": False, "max_num_batched_tokens": 64}),
    ],
)
def test_just_fits(fits, config):
    assert codes(request("B", 5, 5), fits, **config) == []


def test_what_is_aborted_was_not_too_large():
    """Only a run tells what is never finished; an abort ends it first."""
    assert "never_fits" not in codes(request("A", 20, 25, abort_step=3), num_gpu_blocks=11)


def test_stalled():
    finding = the("stalled", findings(request("A", 20, 25), request("B", 5, 5, 3), num_gpu_blocks=10))
    assert finding.spans == ((7, 18),)
    assert finding.requests == ("A", "B")
    assert finding.operands == {"cause": "kv_blocks", "count": 2}


def test_stalled_before_the_first_step():
    finding = the("stalled", findings(request("A", 41, 1), request("B", 4, 1), num_gpu_blocks=11))
    assert (finding.spans, finding.requests) == ((), ("A", "B"))


def test_stalled_by_drafts():
    run = scenario(
        request("A", 5, 4, accepts=[0]), num_speculative_tokens=2, draft_slots_per_request=16, max_num_batched_tokens=16
    )
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.operands, finding.change) == ({"cause": "draft_slots", "count": 1}, {"max_num_batched_tokens": 32})
    assert try_change(run, trace, finding).helps


LIVELOCK = {"num_gpu_blocks": 10, "scheduler_reserve_full_isl": False}


def test_livelock():
    run = scenario(request("A", 50, 5), request("B", 5, 5), **LIVELOCK)
    trace = simulate(run)
    found = diagnose(run, trace)
    finding = the("livelock", found)
    assert finding.spans == ((1, 1499),)
    assert finding.operands == {"steps": 1499, "since": 1, "preemptions": 500}
    assert finding.change == {"num_gpu_blocks": 15}
    assert [finding.code for finding in found] == ["never_fits", "livelock"]
    assert try_change(run, trace, finding).helps


def test_a_run_that_was_cut_is_no_livelock():
    run = scenario(request("A", 5, 50))
    assert diagnose(run, simulate(run, max_steps=30)) == []


# --- starvation


def test_starvation_behind_a_long_prompt():
    long = [request("L", 400, 2), *(request(f"s{i}", 4, 3, 1) for i in range(2))]
    run = scenario(*long, max_model_len=512, num_gpu_blocks=200)
    trace = simulate(run)
    finding = the("starvation", diagnose(run, trace))
    assert (finding.severity, finding.requests, finding.spans) == ("warning", ("s0", "s1"), ((1, 24),))
    assert finding.operands == {"cause": "token_budget", "id": "s0", "longest": 24, "count": 2, "first": 1, "last": 24}
    assert finding.change == {"long_prefill_token_threshold": 4}
    trial = try_change(run, trace, finding)
    assert (trial.helps, trial.first_difference) == (True, 1)
    assert trial.numbers[0] == Number("waited", 48, 0, "steps")


@pytest.mark.parametrize(("output_tokens", "starves"), [(19, False), (20, True)])
def test_starvation_begins_with_so_many_steps(output_tokens, starves):
    found = codes(request("A", 4, output_tokens), request("B", 4, 2), max_num_seqs=1, max_num_batched_tokens=4)
    assert ("starvation" in found) == starves


def test_places_are_offered_as_far_as_there_are_blocks():
    three = [request(f"r{i}", 4, 21) for i in range(3)]
    for num_gpu_blocks, change in ((100, {"max_num_seqs": 3}), (14, {"max_num_seqs": 2}), (12, {})):
        found = findings(*three, max_num_seqs=1, max_num_batched_tokens=4, num_gpu_blocks=num_gpu_blocks)
        finding = the("starvation", found)
        assert (finding.operands["cause"], finding.change) == ("max_num_seqs", change)


def test_active_places_are_offered_first():
    found = findings(request("A", 4, 20), request("B", 4, 2), max_num_active_seqs=1, max_num_batched_tokens=4)
    assert the("starvation", found).change == {"max_num_active_seqs": 2}


def test_starvation_for_blocks():
    run = scenario(request("A", 36, 24), request("B", 28, 4), num_gpu_blocks=16)
    trace = simulate(run)
    finding = the("starvation", diagnose(run, trace))
    assert (finding.operands["cause"], finding.requests) == ("kv_blocks", ("B",))
    assert try_change(run, trace, finding).helps


def test_starvation_for_an_adapter():
    two = [request("A", 4, 30, lora=1), request("B", 4, 2, lora=2)]
    run = scenario(*two, max_loras=1)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.operands["cause"], finding.change) == ("starvation", "max_loras", {"max_loras": 2})
    assert try_change(run, trace, finding).helps
    assert codes(*two) == []


def test_waiting_alone_is_no_starvation():
    """Nobody else gets tokens while an engine is idle."""
    assert codes(request("A", 4, 2), request("B", 4, 2, 100)) == []


# --- the head of the queue

QUEUE = [request("A", 24, 6), request("B", 32, 2, 1), request("C", 4, 2, 1), request("D", 4, 2, 1)]


def test_head_of_line():
    run = scenario(*QUEUE, num_gpu_blocks=13, max_num_batched_tokens=64)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.severity, finding.spans) == ("head_of_line", "warning", ((1, 5),))
    assert finding.requests == ("C", "D")
    assert finding.operands == {"cause": "kv_blocks", "head": "B", "needs": 8, "left": 4, "count": 2, "steps": 5}
    assert finding.change == {"num_gpu_blocks": 18}
    trial = try_change(run, trace, finding)
    assert (trial.helps, trial.numbers[0].before) == (True, 11)


@pytest.mark.parametrize(
    ("requests", "config"),
    [
        # B fits; B waits alone; those behind it are as large; they have run before; it is over too soon.
        (QUEUE, {"num_gpu_blocks": 17}),
        (QUEUE[:2], {"num_gpu_blocks": 13}),
        ([*QUEUE[:2], request("C", 32, 2, 1)], {"num_gpu_blocks": 13}),
        ([request("A", 24, 3), *QUEUE[1:]], {"num_gpu_blocks": 13}),
    ],
)
def test_no_head_of_line(requests, config):
    assert "head_of_line" not in codes(*requests, max_num_batched_tokens=64, **config)


def test_head_of_line_that_may_not_be_cut():
    requests = [request(f"d{i}", 4, 8) for i in range(3)] + [request("P", 14, 2, 1), request("S", 2, 2, 1)]
    config = {"enable_chunked_prefill": False, "max_num_batched_tokens": 64, "max_num_scheduled_tokens": 16}
    finding = the("head_of_line", findings(*requests, max_num_seqs=8, **config))
    assert finding.operands["cause"] == "chunked_prefill_off"
    assert (finding.requests, finding.change) == (("S",), {"enable_chunked_prefill": True})


# --- thrash, unused budget


def test_thrash():
    requests = [request("A", 16, 14), request("B", 16, 14), request("C", 24, 2, 2)]
    run = scenario(*requests, num_gpu_blocks=16, scheduler_reserve_full_isl=False)
    trace = simulate(run)
    finding = the("thrash", diagnose(run, trace))
    assert (finding.severity, finding.requests) == ("warning", ("C",))
    assert finding.operands == {"preemptions": 3, "recomputed": 42, "computed": 125, "id": "C", "times": 3}
    assert finding.change == {"max_num_seqs": 2}
    trial = try_change(run, trace, finding)
    assert (trial.helps, trial.numbers[0]) == (True, Number("recomputed", 42, 0, "tokens"))


def test_one_preemption_is_no_thrash():
    assert "thrash" not in codes(request("A", 15, 8), request("B", 15, 8), num_gpu_blocks=9)


@pytest.mark.parametrize(
    ("config", "cause", "change"),
    [({"max_num_seqs": 2}, "max_num_seqs", {"max_num_seqs": 4}), ({"num_gpu_blocks": 6}, "kv_blocks", None)],
)
def test_budget_unused(config, cause, change):
    run = scenario(*(request(f"r{i}", 4, 6) for i in range(4)), **config)
    trace = simulate(run)
    finding = the("budget_unused", diagnose(run, trace))
    assert (finding.severity, finding.operands["cause"]) == ("hint", cause)
    assert finding.operands["budget"] == 16
    if change is not None:
        assert finding.change == change
        assert finding.requests == ("r2", "r3")
    assert try_change(run, trace, finding).helps


@pytest.mark.parametrize(
    "config",
    [
        # The budget is used; nobody waits; no blocks for more places.
        {"max_num_seqs": 2, "max_num_batched_tokens": 3},
        {"max_num_seqs": 4},
        {"max_num_seqs": 2, "num_gpu_blocks": 8},
    ],
)
def test_budget_used_or_of_no_use(config):
    assert "budget_unused" not in codes(*(request(f"r{i}", 4, 6) for i in range(4)), **config)


# --- work that is in the way, or done twice


def timed(prompt_tokens: int, **config) -> Scenario:
    decodes = [request(f"d{i}", 16, 60, arrival_us=0) for i in range(4)]
    prompts = [request(f"P{i}", prompt_tokens, 2, arrival_us=50_000 + 60_000 * i) for i in range(3)]
    config = {"max_num_batched_tokens": 4096, "max_num_seqs": 16} | config
    return parse_scenario({"config": config, "requests": decodes + prompts})


def test_prefill_stalls():
    run = timed(8000)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.severity) == ("prefill_stalls", "hint")
    assert set(finding.requests) >= {"d0", "d1", "d2", "d3"}
    assert finding.operands["longest_us"] > 4 * finding.operands["alone_us"]
    assert finding.change == {"max_num_batched_tokens": 1024}
    assert try_change(run, trace, finding).helps


@pytest.mark.parametrize("run", [timed(500), timed(8000, max_num_batched_tokens=256)])
def test_prefill_that_is_not_in_the_way(run):
    assert "prefill_stalls" not in [finding.code for finding in diagnose(run, simulate(run))]


def test_block_waste():
    requests = [request(f"r{i}", 3, 4) for i in range(8)]
    config = {"block_size": 16, "num_gpu_blocks": 4, "max_num_seqs": 8}
    run = scenario(*requests, **config)
    trace = simulate(run)
    finding = the("block_waste", diagnose(run, trace))
    assert finding.operands == {"block_size": 16, "empty": 39, "slots": 48}
    assert finding.change == {"block_size": 1, "num_gpu_blocks": 64}
    assert try_change(run, trace, finding).helps
    assert "block_waste" not in codes(*requests, **config | {"num_gpu_blocks": 9})
    assert "block_waste" not in codes(*requests, **config | {"block_size": 2, "num_gpu_blocks": 32})


def sharing(prefix_tokens: int, num: int = 4) -> list[dict]:
    return [request(f"r{i}", 20, 2, 4 * i, prefix=[["S", prefix_tokens]]) for i in range(num)]


def test_cache_off():
    run = scenario(*sharing(12))
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.severity, finding.spans) == ("cache_off", "hint", ((4, 4), (8, 8), (12, 12)))
    assert finding.requests == ("r1", "r2", "r3")
    assert finding.operands == {"lost": 36, "total": 80, "count": 3, "block_size": 4}
    assert finding.change == {"enable_prefix_caching": True}
    assert try_change(run, trace, finding).numbers[0] == Number("prefill", 80, 44, "tokens")


def test_cache_blocks():
    run = scenario(*sharing(15), enable_prefix_caching=True, block_size=16)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.operands["lost"]) == ("cache_blocks", 45)
    assert finding.change == {"block_size": 4, "num_gpu_blocks": 400}
    assert try_change(run, trace, finding).numbers[0] == Number("prefill", 80, 44, "tokens")


def test_cache_evicted():
    requests = [request(f"r{i}", 20, 2, 4 * i, prefix=[[f"S{i % 2}", 16]]) for i in range(4)]
    run = scenario(*requests, enable_prefix_caching=True, num_gpu_blocks=7)
    trace = simulate(run)
    (finding,) = diagnose(run, trace)
    assert (finding.code, finding.requests, finding.operands["lost"]) == ("cache_evicted", ("r2", "r3"), 32)
    assert finding.change == {"num_gpu_blocks": 15}
    assert try_change(run, trace, finding).helps


@pytest.mark.parametrize(
    ("requests", "config"),
    [
        (sharing(1), {}),
        (sharing(12, num=1), {}),
        (sharing(12), {"enable_prefix_caching": True}),
        ([request("A", 20, 2, prefix=[["S", 12]]), request("B", 20, 2, prefix=[["S", 12]])], {}),
        ([request("A", 20, 2, prefix=[["S", 12]], lora=1), request("B", 20, 2, 4, prefix=[["S", 12]])], {}),
        ([request("A", 20, 2, prefix=[["S", 12]]), request("B", 20, 2, 4, prefix=[["a", 1], ["S", 12]])], {}),
    ],
)
def test_nothing_to_be_found_in_a_cache(requests, config):
    assert codes(*requests, max_num_batched_tokens=64, **config) == []


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
