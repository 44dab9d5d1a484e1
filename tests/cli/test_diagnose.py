"""`diagnose`: what is wrong, as text and as JSON."""

import json

import pytest

SMALL = {"max_num_batched_tokens": 16, "max_num_seqs": 4, "max_model_len": 64, "block_size": 4, "num_gpu_blocks": 10}
TOO_LARGE = {
    "name": "too-large",
    "config": SMALL,
    "requests": [
        {"id": "A", "prompt_tokens": 20, "output_tokens": 25},
        {"id": "B", "arrival_step": 3, "prompt_tokens": 5, "output_tokens": 5},
    ],
}
FINE = {"name": "fine", "requests": [{"id": "A", "prompt_tokens": 40, "output_tokens": 5}]}
REFUSED = {"config": {"max_num_batched_tokens": 16}, "requests": []}

TEXT = """\
too-large
  error: never_fits: a request needs more than there is, even alone (limit
    blocks, id A, needs 11, has 9)
    requests A
    steps 0-18
    try num_gpu_blocks=12
  error: stalled: requests are left, and nothing can be scheduled any more
    (cause kv_blocks, count 2)
    requests A, B
    steps 7-18
    try num_gpu_blocks=12

fine
  nothing is wrong
"""


def test_text(cli, file):
    done = cli("diagnose", file(json.dumps([TOO_LARGE, FINE])))
    assert (done.status, done.out, done.err) == (0, TEXT, "")


def test_text_with_trials(cli, file):
    done = cli("diagnose", "--try", file(json.dumps(TOO_LARGE)))
    assert done.out.count("    try num_gpu_blocks=12: helps, unfinished 2 -> 0 requests\n") == 2


def test_json(cli, file):
    done = cli("diagnose", "--json", file(f"{json.dumps(TOO_LARGE)}\n{json.dumps(FINE)}\n"))
    assert (done.status, done.err) == (0, "")
    first, second = done.values
    assert second == {"name": "fine", "findings": []}
    assert first["findings"][1] == {
        "code": "stalled",
        "severity": "error",
        "spans": [[7, 18]],
        "requests": ["A", "B"],
        "operands": {"cause": "kv_blocks", "count": 2},
        "change": {"num_gpu_blocks": 12},
    }


def test_json_with_trials(cli, file):
    (found,) = cli("diagnose", "--json", "--try", file(json.dumps(TOO_LARGE))).values
    assert found["findings"][0]["trial"] == {
        "change": {"num_gpu_blocks": 12},
        "numbers": [
            {"name": "unfinished", "before": 2, "after": 0, "unit": "requests"},
            {"name": "preemptions", "before": 2, "after": 0, "unit": ""},
        ],
        "first_difference": 7,
        "helps": True,
        "refused": None,
    }


def test_what_vllm_refuses_is_a_finding(cli):
    (found,) = cli("diagnose", "--json", "-", stdin=json.dumps(REFUSED).encode()).values
    (finding,) = found["findings"]
    assert (finding["code"], finding["change"]) == ("refused", {"max_num_batched_tokens": 128})


def test_many_requests_and_steps_are_cut(cli):
    requests = [{"id": f"r{i}", "prompt_tokens": 4, "output_tokens": 21} for i in range(12)]
    config = SMALL | {"max_num_seqs": 1, "num_gpu_blocks": 9}
    out = cli("diagnose", "-", stdin=json.dumps({"config": config, "requests": requests}).encode()).out
    assert "    requests r1, r2, r3, r4, r5, r6, r7, r8 and 3 more\n" in out
    assert "    try max_num_seqs=12, num_gpu_blocks=75\n" in out


def test_what_no_setting_helps(cli):
    config = SMALL | {"max_model_len": 10_000_000, "block_size": 1}
    requests = [{"id": "A", "prompt_tokens": 9_999_999, "output_tokens": 2}]
    out = cli("diagnose", "-", stdin=json.dumps({"config": config, "requests": requests}).encode()).out
    assert "    nothing in the configuration helps\n" in out


def test_half_a_surrogate_pair(cli):
    text = json.dumps(TOO_LARGE | {"name": "\ud800"})
    assert cli("diagnose", "-", stdin=text.encode()).out.startswith("\\ud800\n  error: ")
    assert cli("diagnose", "--json", "-", stdin=text.encode()).values[0]["name"] == "\ud800"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "<stdin>:1: requests: missing, must be a list of requests"),
        ("", "<stdin>: is empty, must hold JSON"),
        (
            '{"requests": [], "config": {"max_num_seqs": 0}}',
            "<stdin>:1: config.max_num_seqs: 0 is not allowed, must be",
        ),
    ],
)
def test_what_is_no_scenario(cli, text, problem):
    done = cli("diagnose", "-", stdin=text.encode())
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"batchloom: {problem}")


def test_it_needs_nothing_installed(process, file):
    done = process("diagnose", file(json.dumps(FINE)))
    assert (*done.communicate(), done.returncode) == (b"fine\n  nothing is wrong\n", b"", 0)
