"""`summary`: numbers that can be counted by hand, tables, traces instead of scenarios."""

import json

import pytest

from sim.metrics import percentiles

SIX_STEPS = {
    "name": "six-steps",
    "config": {"max_num_batched_tokens": 8, "max_num_seqs": 4, "max_model_len": 64},
    "requests": [
        {"id": "A", "arrival_step": 0, "prompt_tokens": 6, "output_tokens": 5},
        {"id": "B", "arrival_step": 1, "prompt_tokens": 10, "output_tokens": 3},
        {"id": "C", "arrival_step": 2, "prompt_tokens": 9, "output_tokens": 3},
    ],
}
SIX_STEPS_SUMMARY = {
    "name": "six-steps",
    "outcome": "finished",
    "requests": 3,
    "finished": 3,
    "steps": 6,
    "idle_steps": 0,
    "scheduled_tokens": 33,
    "prefill_tokens": 25,
    "decode_tokens": 8,
    "recomputed_tokens": 0,
    "rejected_draft_tokens": 0,
    "cached_tokens": 0,
    "generated_tokens": 11,
    "budget": 8,
    "budget_used_permille": 687,
    "preemptions": 0,
    "waiting_max": 0,
    "waiting_mean_thousandths": 0,
    "running_max": 3,
    "running_mean_thousandths": 2166,
    "ttft_steps": {"p50": 2, "p90": 2, "p99": 2},
    "itl_steps": {"p50": 1, "p90": 1, "p99": 1},
    "e2e_steps": {"p50": 4, "p90": 5, "p99": 5},
    "duration_us": None,
    "ttft_us": None,
    "itl_us": None,
    "e2e_us": None,
    "goodput": None,
    "warnings": [],
}
REFUSED = {"name": "no", "config": {"max_num_batched_tokens": 8, "max_num_seqs": 9}, "requests": []}


def summary_of(cli, scenario: dict) -> dict:
    done = cli("summary", "--json", "-", stdin=json.dumps(scenario).encode())
    assert (done.status, done.err) == (0, "")
    return done.values[0]


def request(name: str, prompt_tokens: int, output_tokens: int, **more) -> dict:
    return {"id": name, "prompt_tokens": prompt_tokens, "output_tokens": output_tokens, **more}


def test_percentiles_are_by_nearest_rank():
    assert percentiles(range(1, 101)) == (50, 90, 99)
    assert percentiles([15, 20, 35, 40, 50]) == (35, 50, 50)
    assert percentiles([40, 10]) == (10, 40, 40)
    assert percentiles([7]) == (7, 7, 7)
    assert percentiles([]) is None


def test_six_steps(cli):
    assert summary_of(cli, SIX_STEPS) == SIX_STEPS_SUMMARY


def test_a_trace_gives_the_same_but_for_the_budget(cli):
    trace = cli("trace", "--explain", "-", stdin=json.dumps(SIX_STEPS).encode()).out
    unknown = {"budget": None, "budget_used_permille": None}
    assert cli("summary", "--json", "-", stdin=trace.encode()).values == [SIX_STEPS_SUMMARY | unknown]


def test_idle_steps_and_waiting(cli):
    # A has the only slot in steps 2 to 4; B waits through them; steps 0 and 1 are empty.
    summary = summary_of(
        cli,
        {
            "config": {"max_num_seqs": 1, "max_num_batched_tokens": 10},
            "requests": [request("A", 10, 3, arrival_step=2), request("B", 10, 1, arrival_step=2)],
        },
    )
    assert (summary["steps"], summary["idle_steps"], summary["scheduled_tokens"]) == (6, 2, 22)
    assert summary["budget_used_permille"] == 22 * 1000 // 40
    assert (summary["waiting_max"], summary["waiting_mean_thousandths"]) == (1, 500)
    assert summary["ttft_steps"] == {"p50": 1, "p90": 4, "p99": 4}


def test_the_budget_is_what_a_step_may_schedule(cli):
    config = {"max_num_seqs": 4, "max_num_batched_tokens": 64, "max_num_scheduled_tokens": 4}
    summary = summary_of(cli, {"config": config, "requests": [request("A", 6, 1)]})
    assert (summary["budget"], summary["steps"], summary["budget_used_permille"]) == (4, 2, 750)


def test_preemption_is_counted_and_paid_for(cli):
    # Four usable blocks of 4 tokens. Both hold 8 tokens after step 0; for A's ninth, B gives up its 8, and computes
    # them and the token it had made again when A is done.
    summary = summary_of(
        cli,
        {
            "config": {"block_size": 4, "num_gpu_blocks": 5, "max_model_len": 64},
            "requests": [request("A", 8, 5), request("B", 8, 3)],
        },
    )
    assert (summary["outcome"], summary["preemptions"]) == ("finished", 1)
    assert (summary["prefill_tokens"], summary["decode_tokens"], summary["recomputed_tokens"]) == (16, 4 + 2, 8)
    assert summary["scheduled_tokens"] == 16 + 6 + 8


def test_tokens_from_the_cache_are_not_computed(cli):
    prefix = {"prefix": [["system", 32]]}
    summary = summary_of(
        cli,
        {
            "config": {"enable_prefix_caching": True},
            "requests": [request("A", 40, 1, **prefix), request("B", 40, 1, arrival_step=1, **prefix)],
        },
    )
    assert (summary["cached_tokens"], summary["prefill_tokens"]) == (32, 80 - 32)


def test_rejected_drafts_are_told_apart(cli):
    # Step 0 prefill, then 1 + 2 drafts each: 0 accepted, 2 accepted; 1 + 1 + 3 = 5 tokens.
    summary = summary_of(
        cli, {"config": {"num_speculative_tokens": 2}, "requests": [request("A", 10, 5, accepts=[0, 2])]}
    )
    assert (summary["steps"], summary["scheduled_tokens"], summary["generated_tokens"]) == (3, 16, 5)
    assert (summary["prefill_tokens"], summary["decode_tokens"], summary["rejected_draft_tokens"]) == (10, 4, 2)


def test_time_is_that_of_the_cost_model(cli):
    # One chunk of 64 tokens: 5502 + 938 * 2048 >> 20 = 5503 us; then one decode with 65 in KV: 4920 + 2.
    summary = summary_of(cli, {"requests": [request("A", 64, 2, arrival_us=0), request("B", 64, 1, arrival_us=9000)]})
    assert summary["duration_us"] == 5503 + 4922 + 5503
    assert summary["ttft_us"] == {"p50": 5503, "p90": 5503 + 4922 + 5503 - 9000, "p99": 5503 + 4922 + 5503 - 9000}
    assert summary["ttft_steps"] == {"p50": 1, "p90": 1, "p99": 1}


def test_a_run_that_stalls(cli):
    stalled = {"config": {"num_gpu_blocks": 2}, "requests": [request("A", 100, 1)]}
    summary = summary_of(cli, stalled)
    assert (summary["outcome"], summary["requests"], summary["finished"]) == ("stalled", 1, 0)
    assert (summary["steps"], summary["ttft_steps"], summary["budget_used_permille"]) == (0, None, None)
    assert "first token, steps                   -" in cli("summary", "-", stdin=json.dumps(stalled).encode()).out


def test_table(cli):
    done = cli("summary", "-", stdin=json.dumps(SIX_STEPS).encode())
    assert done.out == (
        "six-steps\n"
        "  outcome               finished\n"
        "  requests              3, 3 finished\n"
        "  steps                 6, 0 of them idle\n"
        "  tokens scheduled      33\n"
        "    prefill             25\n"
        "    decode              8\n"
        "  tokens generated      11\n"
        "  budget used           68.7 % of 8 tokens a step that was not idle\n"
        "  preemptions           0\n"
        "  waiting               at most 0, mean 0.000\n"
        "  running               at most 3, mean 2.166\n"
        "\n"
        "                                     p50             p90             p99\n"
        "  first token, steps                   2               2               2\n"
        "  between tokens, steps                1               1               1\n"
        "  last token, steps                    4               5               5\n"
    )


def test_several_tables_have_a_line_between(cli, file):
    path = file(json.dumps([SIX_STEPS, SIX_STEPS]))
    one = cli("summary", "-", stdin=json.dumps(SIX_STEPS).encode()).out
    assert cli("summary", path).out == f"{one}\n{one}"
    assert cli("summary", "--json", path, path).values == [SIX_STEPS_SUMMARY] * 4


def test_a_refusal_is_told(cli):
    (told,) = cli("summary", "--json", "-", stdin=json.dumps(REFUSED).encode()).values
    assert (told["error"], told["field"]) == ("ValidationError", "max_num_batched_tokens")
    table = cli("summary", "-", stdin=json.dumps(REFUSED).encode()).out
    assert table.startswith("no\n  refused (ValidationError): Value error, max_num_batched_tokens (8) must be\n")
    trace = cli("trace", "-", stdin=json.dumps(REFUSED).encode()).out
    assert cli("summary", "-", stdin=trace.encode()).out == table


def test_warnings_are_shown(cli):
    long = {"config": {"max_model_len": 16}, "requests": [request(f"r{n}", 20, 1) for n in range(7)]}
    lines = cli("summary", "-", stdin=json.dumps(long).encode()).out.splitlines()
    assert "  warning: request r0: prompt_tokens (20) exceeds max_model_len (16); a server" in lines
    assert lines[-1] == "  and 2 more warnings"


STEP = json.dumps(
    {
        **{key: {} for key in ("scheduled", "cached", "encoder", "blocks", "computed", "spec", "generated")},
        **{key: [] for key in ("new", "resumed", "preempted", "running", "waiting", "finished")},
        "step": 0,
        "free_blocks": 1,
    }
)


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("3", "steps[0]: 3 is not allowed, must be an object"),
        ("{}", "steps[0].step: missing, a step of a trace has this field"),
        (STEP.replace('"free_blocks": 1', '"free_blocks": -1'), "steps[0].free_blocks: -1 is not allowed, must be an "),
        (STEP.replace('"new": []', '"new": "A"'), 'steps[0].new: "A" is not allowed, must be a list'),
        (STEP.replace('"running": []', '"running": [1]'), "steps[0].running[0]: 1 is not allowed, must be a string"),
        (STEP.replace('"spec": {}', '"spec": []'), "steps[0].spec: [] is not allowed, must be an object by request id"),
        (STEP.replace('"scheduled": {}', '"scheduled": {"A": 1}'), 'steps[0].computed: "A" is missing, it is in '),
        (f"{STEP}, {STEP}", "steps[1].step: 0 is not after 0"),
    ],
)
def test_a_trace_that_is_none(cli, step, problem):
    text = f'{{"name": null, "outcome": "finished", "unfinished": [], "steps": [{step}]}}'
    done = cli("summary", "-", stdin=text.encode())
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"batchloom: <stdin>:1: {problem}")


def test_a_trace_that_begins_in_the_middle(cli):
    """Arrivals that were not seen leave their times open."""
    step = json.loads(STEP) | {"step": 7, "running": ["A"], "scheduled": {"A": 1}, "computed": {"A": 9}}
    step |= {"generated": {"A": 1}, "finished": ["A"]}
    text = json.dumps({"name": "m", "outcome": "finished", "unfinished": [], "steps": [step]})
    (summary,) = cli("summary", "--json", "-", stdin=text.encode()).values
    assert (summary["steps"], summary["finished"], summary["ttft_steps"]) == (1, 1, None)


TIMED = json.dumps({"name": "t", "requests": [request("A", 64, 3, arrival_us=0), request("B", 64, 1, arrival_us=9**6)]})


@pytest.mark.parametrize(
    "words",
    [
        ("-", "--goodput", "ttft:6", "tpot:4.922", "e2el:3000"),
        ("--goodput", "ttft:6", "tpot:4.922", "e2el:3000", "-"),
        ("--goodput", "ttft:6", "--goodput=tpot:4.922", "-", "--goodput", "e2el:3000"),
    ],
)
def test_goodput(cli, words):
    (summary,) = cli("summary", "--json", *words, stdin=TIMED.encode()).values
    assert summary["goodput"] == {
        "ttft_us": 6000,
        "tpot_us": 4922,
        "e2el_us": 3_000_000,
        "requests": 2,
        "per_second_thousandths": 2 * 10**9 // (9**6 + 5503),
    }
    table = cli("summary", *words, stdin=TIMED.encode()).out
    assert "  goodput               2 requests, 3.724 a second\n" in table
    assert "  between tokens, us               4,922           4,922           4,922\n" in table


def test_no_goodput_without_time(cli):
    (summary,) = cli("summary", "--json", "-", "--goodput", "ttft:6", stdin=json.dumps(SIX_STEPS).encode()).values
    assert summary == SIX_STEPS_SUMMARY


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["ttft"], '"ttft" is not allowed, must be ttft:MS or tpot:MS or e2el:MS'),
        (["ttft:fast"], '"ttft:fast" is not allowed, must be ttft:MS or '),
        (["itl:5"], '"itl:5" is not allowed, must be ttft:MS or '),
        (["ttft:-1"], '"ttft:-1" is not allowed, must be ttft:MS or '),
        (["ttft:1", "ttft:2"], "ttft is given twice, must be given once"),
    ],
)
def test_objectives_that_are_none(cli, words, problem):
    done = cli("summary", "-", "--goodput", *words, stdin=TIMED.encode())
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--goodput: " in done.err
    assert problem in done.err


def test_half_a_surrogate_pair_in_a_name(cli):
    scenario = b'{"name": "\\ud800", "requests": [{"id": "A", "prompt_tokens": 3, "output_tokens": 1}]}'
    done = cli("summary", "-", stdin=scenario)
    assert (done.status, done.out.partition("\n")[0]) == (0, "\\ud800")
    assert cli("summary", "--json", "-", stdin=scenario).values[0]["name"] == "\ud800"
