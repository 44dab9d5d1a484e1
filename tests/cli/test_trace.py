"""`trace`: what it reads, what it prints, in which order."""

import json

import pytest

from sim.parameters import CONFIG, REQUEST

ONE = '{"name": "one", "requests": [{"id": "A", "prompt_tokens": 6, "output_tokens": 1}]}'
TWO = '{"name": "two", "requests": [{"id": "B", "prompt_tokens": 3, "output_tokens": 2}]}'
SIX_STEPS = """{"name": "six-steps",
 "config": {"max_num_batched_tokens": 8, "max_num_seqs": 4, "max_model_len": 64},
 "requests": [{"id": "A", "arrival_step": 0, "prompt_tokens": 6, "output_tokens": 5},
              {"id": "B", "arrival_step": 1, "prompt_tokens": 10, "output_tokens": 3},
              {"id": "C", "arrival_step": 2, "prompt_tokens": 9, "output_tokens": 3}]}
"""


def test_a_trace_in_full(cli, file):
    done = cli("trace", file(ONE))
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        '{"name":"one","engine":"vllm 0.33.0","outcome":"finished","unfinished":[],"steps":[{"step":0,'
        '"scheduled":{"A":6},"new":["A"],"resumed":[],"preempted":[],"cached":{},"encoder":{},"blocks":{"A":[1]},'
        '"running":["A"],"waiting":[],"computed":{"A":6},"spec":{},"free_blocks":9998,"generated":{"A":1},'
        '"finished":["A"]}]}\n'
    )


def test_all_three_in_one_step(cli, file):
    done = cli("trace", file(SIX_STEPS))
    (trace,) = done.values
    assert [step["scheduled"] for step in trace["steps"]] == [
        {"A": 6},
        {"A": 1, "B": 7},
        {"A": 1, "B": 3, "C": 4},
        {"A": 1, "B": 1, "C": 5},
        {"A": 1, "B": 1, "C": 1},
        {"C": 1},
    ]
    assert list(trace["steps"][2]["scheduled"]) == ["A", "B", "C"]
    assert trace["steps"][2]["computed"] == {"A": 8, "B": 10, "C": 4}
    assert "why" not in trace["steps"][2]


def test_explain_says_why(cli, file):
    scenario = (
        '{"config": {"max_num_batched_tokens": 8, "max_num_seqs": 1},'
        ' "requests": [{"id": "A", "prompt_tokens": 9, "output_tokens": 1},'
        ' {"id": "B", "prompt_tokens": 9, "output_tokens": 1}, {"id": "C", "prompt_tokens": 9, "output_tokens": 1}]}'
    )
    (trace,) = cli("trace", "--explain", file(scenario)).values
    assert trace["steps"][0]["why"] == {
        "B": {"code": "token_budget", "budget": 8, "used": 8},
        "C": {"code": "head_of_line", "behind": "B", "because": "token_budget"},
    }
    assert trace["steps"][0]["capped"] == {"A": {"code": "token_budget", "wanted": 9, "got": 8}}
    assert trace["steps"][1]["why"]["B"] == {"code": "max_num_seqs", "limit": 1, "running": 1}


def test_max_steps_cuts(cli, file):
    (trace,) = cli("trace", "--max-steps", "2", file(SIX_STEPS)).values
    assert (trace["outcome"], len(trace["steps"])) == ("max_steps", 2)
    assert {"A", "B"} <= set(trace["unfinished"])


@pytest.mark.parametrize(
    "content",
    [
        f"[{ONE}, {TWO}]",
        f"[\n  {ONE},\n\n  {TWO}\n]\n",
        f"{ONE}\n{TWO}\n",
        f"{ONE}\r\n\r\n{TWO}",
        f"\n\n{ONE}\n  {TWO}  ",
        f"[{ONE}]\n{TWO}\n",
        b"\xef\xbb\xbf" + f"{ONE}\n{TWO}\n".encode(),
        b"\xef\xbb\xbf" + f"[{ONE},\r\n{TWO}]".encode(),
    ],
    ids=["list", "list over lines", "lines", "crlf", "empty lines", "list in lines", "bom", "bom and list"],
)
def test_forms_of_input(cli, file, content):
    done = cli("trace", file(content))
    assert (done.status, done.err) == (0, "")
    assert [trace["name"] for trace in done.values] == ["one", "two"]


def test_files_in_order_and_standard_input(cli, file):
    done = cli("trace", file(TWO, "2.json"), "-", file(TWO, "3.json"), stdin=ONE.encode())
    assert [trace["name"] for trace in done.values] == ["two", "one", "two"]


def test_an_empty_list_has_no_traces(cli, file):
    assert cli("trace", file("[]")) == (0, "", "")
    assert cli("trace", file("[\n]")) == (0, "", "")


def test_a_refused_configuration_is_a_trace(cli, file):
    refused = '{"name": "no", "config": {"max_num_batched_tokens": 8, "max_num_seqs": 9}, "requests": []}'
    done = cli("trace", file(f"{refused}\n{ONE}"))
    assert (done.status, done.err) == (0, "")
    assert done.values[0] == {
        "name": "no",
        "engine": "vllm 0.33.0",
        "error": "ValidationError",
        "field": "max_num_batched_tokens",
        "message": "Value error, max_num_batched_tokens (8) must be greater than or equal to max_num_seqs (9).",
    }
    assert done.values[1]["name"] == "one"


def test_chinese_names_are_readable(cli, file):
    done = cli("trace", file('{"name": "六步", "requests": [{"id": "甲", "prompt_tokens": 1, "output_tokens": 1}]}'))
    assert '"name":"六步"' in done.out
    assert '"scheduled":{"甲":1}' in done.out


def test_half_a_surrogate_pair_is_still_json(cli, file):
    done = cli("trace", file('{"name": "\\ud800", "requests": []}'))
    assert (done.status, done.values[0]["name"]) == (0, "\ud800")
    assert done.out.isascii()


def test_help_lists_every_key(cli):
    done = cli("trace", "--help")
    assert done.status == 0
    for parameter in (*CONFIG, *REQUEST):
        assert f"\n  {parameter.name} (" in done.out
        assert parameter.flag in done.out
    assert [line for line in done.out.splitlines() if len(line) > 79] == []


def test_the_example_of_the_help_is_a_scenario(cli):
    text = cli("trace", "--help").out
    example = text[text.index('  {"name"') : text.index("keys of config")]
    json.loads(example)
    assert cli("trace", "-", stdin=example.encode()).status == 0
