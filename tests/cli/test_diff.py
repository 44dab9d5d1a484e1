"""`diff`: where two configurations part, and why."""

import inspect
import json

import pytest

from sim import reasons
from sim.cli.words import SENTENCES, sentence

SIX_STEPS = {
    "name": "six-steps",
    "config": {"max_num_batched_tokens": 8, "max_num_seqs": 4, "max_model_len": 64},
    "requests": [
        {"id": "A", "arrival_step": 0, "prompt_tokens": 6, "output_tokens": 5},
        {"id": "B", "arrival_step": 1, "prompt_tokens": 10, "output_tokens": 3},
        {"id": "C", "arrival_step": 2, "prompt_tokens": 9, "output_tokens": 3},
    ],
}
TEXT = json.dumps(SIX_STEPS).encode()


def diff(cli, *settings: str, stdin: bytes = TEXT, json_form: bool = True):
    options = [word for setting in settings for word in ("--config", setting)]
    done = cli("diff", "-", *options, *(["--json"] if json_form else []), stdin=stdin)
    assert (done.status, done.err) == (0, "")
    return done.values if json_form else done.out


def test_the_first_step_its_field_and_both_reasons(cli):
    (found,) = diff(cli, "max_num_seqs=1")
    assert found == {
        "name": "six-steps",
        "config": {"max_num_seqs": 1},
        "refused": {"left": None, "right": None},
        "difference": {
            "step": 1,
            "field": "new",
            "left": ["B"],
            "right": [],
            "why_left": {"B": {"code": "token_budget", "wanted": 10, "got": 7}},
            "why_right": {"B": {"code": "max_num_seqs", "limit": 1, "running": 1}},
        },
        "decision": found["difference"],
    }


def test_in_words(cli):
    assert diff(cli, "max_num_seqs=1", json_form=False) == (
        "six-steps\n"
        "  step 1 is the first that differs in new:\n"
        '  as given        ["B"]\n'
        "  max_num_seqs=1  []\n"
        "  as given        B: all tokens of the step are handed out (wanted 10, got 7)\n"
        "  max_num_seqs=1  B: as many requests run as may (limit 1, running 1)\n"
    )


def test_several_keys_and_no_difference(cli):
    (found,) = diff(cli, "policy=priority", "max_loras=null", 'cost_model="h100-llama-3.1-8b"')
    assert found["config"] == {"policy": "priority", "max_loras": None, "cost_model": "h100-llama-3.1-8b"}
    assert (found["difference"], found["decision"]) == (None, None)
    assert diff(cli, "policy=priority", json_form=False) == "six-steps\n  no difference, 6 steps, finished\n"


def test_a_refusal_on_either_side(cli):
    (found,) = diff(cli, "max_num_batched_tokens=3")
    assert found["difference"]["field"] == "error"
    assert found["refused"]["left"] is None
    assert found["refused"]["right"]["field"] == "max_num_batched_tokens"
    lines = diff(cli, "max_num_batched_tokens=3", json_form=False).splitlines()
    message = "Value error, max_num_batched_tokens (3) must be greater than or equal to max_num_seqs (4)."
    assert lines[1:] == [
        "  as given                  6 steps, finished",
        f"  max_num_batched_tokens=3  refused (ValidationError): {message}",
    ]
    refused = json.dumps(SIX_STEPS | {"config": {"max_num_batched_tokens": 3, "max_num_seqs": 4}}).encode()
    (found,) = diff(cli, "max_num_seqs=2", stdin=refused)
    assert (found["refused"]["left"]["error"], found["refused"]["right"]) == ("ValidationError", None)
    (found,) = diff(cli, "policy=priority", stdin=refused)
    assert found["difference"] is None
    assert found["refused"]["left"] == found["refused"]["right"]
    assert found["refused"]["left"]["error"] == "ValidationError"


def test_a_larger_pool_alone_is_no_decision(cli):
    (found,) = diff(cli, "num_gpu_blocks=100")
    assert (found["difference"]["step"], found["difference"]["field"], found["decision"]) == (0, "free_blocks", None)
    assert diff(cli, "num_gpu_blocks=100", json_form=False).endswith("  no decision differs\n")
    (found,) = diff(cli, "num_gpu_blocks=2")
    assert (found["difference"]["field"], found["decision"]["field"]) == ("free_blocks", "new")
    why = {"code": "kv_blocks", "needs": 1, "free": 0, "watermark": 0}
    assert found["decision"]["why_right"] == {"B": why}


def test_another_device_takes_another_time(cli):
    timed = {"requests": [{"id": "A", "prompt_tokens": 64, "output_tokens": 2, "arrival_us": 0}]}
    (found,) = diff(cli, "cost_model=h100-llama-3.1-8b", stdin=json.dumps(timed).encode())
    assert (found["difference"]["step"], found["difference"]["field"]) == (0, "step_us")


def test_one_run_is_longer(cli):
    one = {"config": {"max_model_len": 12}, "requests": [{"id": "A", "prompt_tokens": 9, "output_tokens": 9}]}
    (found,) = diff(cli, "max_model_len=64", stdin=json.dumps(one).encode())
    assert found["difference"]["field"] == "finished"
    stalled = {"config": {"num_gpu_blocks": 2}, "requests": [{"id": "A", "prompt_tokens": 17, "output_tokens": 1}]}
    (found,) = diff(cli, "num_gpu_blocks=3", stdin=json.dumps(stalled).encode())
    assert (found["difference"]["field"], found["difference"]["left"]) == ("steps", 0)
    lines = diff(cli, "num_gpu_blocks=3", stdin=json.dumps(stalled).encode(), json_form=False).splitlines()
    assert lines[1:] == [
        "  the same for 0 steps, then one has ended; steps in all:",
        "  as given          0",
        "  num_gpu_blocks=3  1",
    ]


def test_each_scenario_of_a_file(cli):
    found = diff(cli, "max_num_seqs=1", stdin=TEXT + b"\n" + TEXT)
    assert len(found) == 2
    assert diff(cli, "max_num_seqs=1", stdin=TEXT + b"\n" + TEXT, json_form=False).count("\n\n") == 1


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("max_num_seqs", '--config: "max_num_seqs" is not allowed, must be KEY=VALUE'),
        ("max_seqs=3", "--config max_seqs: unknown key, must be one of max_num_batched_tokens, "),
        ("max_num_seqs=0", "--config max_num_seqs: 0 is not allowed, must be an integer from 1 to 1000000"),
        ("max_num_seqs=few", '--config max_num_seqs: "few" is not allowed, must be an integer from 1 to 1000000'),
        ("max_num_seqs=", '--config max_num_seqs: "" is not allowed, must be an integer from 1 to 1000000'),
        ("watermark=NaN", "--config watermark: NaN is not allowed, must be a number from 0 to below 1"),
        ("policy=sjf", "--config policy: \"sjf\" is not allowed, must be 'fcfs' or 'priority'"),
    ],
)
def test_settings_that_are_none(cli, setting, problem):
    done = cli("diff", "-", "--config", setting, stdin=TEXT)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"batchloom: {problem}")
    assert done.err.count("\n") == 1


def test_a_key_twice_no_key_and_no_scenario(cli):
    done = cli("diff", "-", "--config", "block_size=1", "--config", "block_size=2", stdin=TEXT)
    assert (done.status, done.err) == (2, "batchloom: --config block_size: given twice, must be given once\n")
    assert "the following arguments are required: --config" in cli("diff", "-", stdin=TEXT).err
    done = cli("diff", "-", "--config", "block_size=1", stdin=b"3")
    assert (done.status, done.err.count("\n")) == (2, 1)


def test_every_reason_has_a_sentence():
    makers = [f for name, f in inspect.getmembers(reasons, inspect.isfunction) if name != "fill"]
    codes = {maker(*("x" for _ in inspect.signature(maker).parameters))["code"] for maker in makers}
    assert codes - set(SENTENCES) == set()
    assert sentence(reasons.after_preemption(["A", "B"])).endswith("(victims A B)")
    assert sentence(reasons.async_finishing()) == SENTENCES["async_finishing"]
