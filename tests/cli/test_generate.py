"""`generate`: a scenario by rule and by chance, with nothing installed."""

import json

import pytest

from sim.generate import generate


def test_it_prints_what_the_function_gives(cli):
    done = cli("generate", "--count", 5, "--seed", 7, "--arrivals", "bursts", "--config", "max_num_seqs=2")
    assert (done.status, done.err) == (0, "")
    requests = generate({"count": 5, "seed": 7, "arrivals": "bursts"})
    assert done.values == [{"name": "generated", "config": {"max_num_seqs": 2}, "requests": requests}]


def test_a_file_for_the_other_commands(process, cli, tmp_path):
    out = tmp_path / "made.json"
    made = process("generate", "--count", 6, "--priorities", "0,9", "--prefix-groups", 1, "-o", out)
    assert (*made.communicate(), made.returncode) == (b"", b"", 0)
    (summary,) = cli("summary", "--json", out).values
    assert (summary["outcome"], summary["finished"]) == ("finished", 6)
    assert {request["priority"] for request in json.loads(out.read_text())["requests"]} == {0, 9}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--count", "0"), "count: 0 is not allowed, must be an integer from 1 to 100000"),
        (("--priorities", "high"), 'priorities: "high" is not allowed, must be integers separated by commas'),
        (("--config", "seqs=1"), "--config seqs: unknown key, must be one of max_num_batched_tokens, "),
        (("--arrivals", "never"), "generate: argument --arrivals: invalid choice: 'never'"),
    ],
)
def test_what_cannot_be_generated(cli, words, problem):
    done = cli("generate", *words)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"batchloom: {problem}")
