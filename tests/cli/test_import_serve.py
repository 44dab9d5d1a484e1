"""`import serve-command`: command lines, scripts, containers, YAML; what vLLM's own parser makes of them."""

import pytest

from sim.errors import ConfigError
from sim.importers import detect, read_file
from sim.importers.human import human_readable_int
from sim.importers.yaml_subset import parse_yaml


def imported(text: str):
    return read_file("auto", text.splitlines(keepends=True))


def why(found) -> list[str]:
    return [item.why for item in found.left_out]


COMMANDS = {
    "vllm serve M --max-num-batched-tokens 8k --max-num-seqs=64 --no-enable-prefix-caching --max_model_len 32K": {
        "max_num_batched_tokens": 8000,
        "max_num_seqs": 64,
        "enable_prefix_caching": False,
        "max_model_len": 32768,
    },
    "vllm serve M --max-num-batched-token 25.6k --scheduling priority": {
        "max_num_batched_tokens": 25600,
        "policy": "priority",
    },
    "vllm serve M --disable-chunked-prefill --max-num-batched-tokens 9000": {
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": 9000,
    },
    "vllm serve M --enable_chunked_prefill False --max-num-batched-tokens 9000": {
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": 9000,
    },
    "vllm serve M --max-num-seqs 4 --max-num-seqs 8": {"max_num_seqs": 8},
    "vllm serve M -sc.method ngram -sc.num_speculative_tokens=4": {"num_speculative_tokens": 4},
    """vllm serve M --speculative-config '{"method": "eagle3", "num_speculative_tokens": 3}'""": {
        "num_speculative_tokens": 3,
        "num_lookahead_tokens": 3,
    },
    # Case C41: in 0.33.0 it is accepted, and needs no slots.
    """vllm serve M --speculative-config '{"method":"dflash","num_speculative_tokens":16}'""": {
        "num_speculative_tokens": 16,
        "num_lookahead_tokens": 17,
    },
    "vllm serve M --spec-model some/draft --spec-tokens 5": {
        "num_speculative_tokens": 5,
        "num_lookahead_tokens": 5,
        "draft_slots_per_request": 1,
    },
    "vllm serve M --enable-lora --watermark 0.05": {"watermark": 0.05, "max_loras": 1},
    "vllm serve M --max-num-batched-tokens 64": {"max_num_batched_tokens": 64, "max_num_seqs": 64},
    "vllm serve M --no-enable-chunked-prefill --max-model-len 4096": {
        "enable_chunked_prefill": False,
        "max_model_len": 4096,
        "max_num_batched_tokens": 4096,
    },
    "vllm serve M --max-model-len auto": {},
    "python3 -m vllm.entrypoints.openai.api_server --model M -tp=2 -O3 --no-async-scheduling": {
        "async_scheduling": False
    },
    "docker run --rm -it --gpus all -p 8000:8000 -e A=b --name vllm vllm/vllm-openai:v0.33.0 M --block-size 32": {
        "block_size": 32
    },
    "sudo podman run --entrypoint vllm --shm-size=2g registry:5000/x/vllm@sha256:ab serve M --max-num-seqs 7": {
        "max_num_seqs": 7
    },
    'bash -lc "vllm serve M --max-num-seqs 3"': {"max_num_seqs": 3},
    "--num-gpu-blocks-override 512 --scheduling-policy priority": {"num_gpu_blocks": 512, "policy": "priority"},
    "$ CUDA_VISIBLE_DEVICES=0,1 nohup vllm serve M --max-num-seqs 5 > log.txt 2>&1 &": {"max_num_seqs": 5},
    "user@host:~/x$ vllm serve M \u2013max-num-seqs 5": {"max_num_seqs": 5},
    "vllm serve M \\\r\n  --max-num-seqs 6 \\ \r\n  --block-size 8\r\n": {"max_num_seqs": 6, "block_size": 8},
    "vllm serve M `\n  --max-num-seqs 6 `\n  --block-size 8\n": {"max_num_seqs": 6, "block_size": 8},
    "vllm serve M\n  --max-num-seqs 6\n  # --block-size 8\n  --watermark 0.5": {"max_num_seqs": 6, "watermark": 0.5},
    "# it's\nN=64\nexport ARGS='--max-num-seqs 9'\nvllm serve $MODEL $ARGS --block-size ${N:-2}\ncurl x": {
        "max_num_seqs": 9,
        "block_size": 64,
    },
}


@pytest.mark.parametrize(("text", "config"), COMMANDS.items())
def test_a_command_line(text, config):
    found = imported(text)
    assert found.format == "serve-command"
    assert found.config == config
    assert (found.unknown, found.removed, found.left_out) == ([], [], [])


def test_flags_that_are_gone_or_unknown_are_named(cli):
    # Case C13.
    text = (
        "VLLM_USE_V1=1 vllm serve M --max-num-partial-prefills 4 --preemption_mode swap --swap-space=8 "
        "--num-scheduler-steps 8 --max-long-partial-prefills 1 --no-use-v2-block-manager --frobnicate 3 "
        "--max-num-seqs 9"
    )
    done = cli("import", "serve-command", "-", stdin=text.encode())
    (scenario,) = done.values
    assert scenario["imported"]["removed"] == [
        *("VLLM_USE_V1", "--max-num-partial-prefills", "--preemption-mode", "--swap-space", "--num-scheduler-steps"),
        *("--max-long-partial-prefills", "--use-v2-block-manager"),
    ]
    assert scenario["imported"]["unknown"] == ["--frobnicate"]
    assert (scenario["config"], scenario["requests"]) == ({"max_num_seqs": 9}, [])
    assert "batchloom: <stdin>: --swap-space was removed from vLLM, left out\n" in done.err
    assert "batchloom: <stdin>: --frobnicate is not understood, left out\n" in done.err


@pytest.mark.parametrize(
    "text",
    [
        "export VLLM_USE_V1=0\nvllm serve M\n",
        "docker run -e VLLM_USE_V1=0 vllm/vllm-openai --model M",
        "a:\n  image: vllm/vllm-openai\n  environment:\n    VLLM_USE_V1: '0'\n  command: --model M\n",
    ],
)
def test_a_variable_that_is_gone(text):
    assert imported(text).removed == ["VLLM_USE_V1"]


def test_what_vllm_refuses_is_told_in_its_words(cli):
    # Cases C09 and C11.
    text = "vllm serve M --no-enable-chunked-prefill --max-num-batched-tokens 8192 --max-model-len 131072"
    done = cli("import", "auto", "-", stdin=text.encode())
    message = "max_num_batched_tokens (8192) is smaller than max_model_len (131072). This effectively limits"
    assert (done.status, done.err.count("\n")) == (0, 1)
    assert message in done.err
    assert message in done.values[0]["imported"]["notes"][-1]
    equal = cli("import", "auto", "-", stdin=text.replace("131072", "8192").encode())
    assert equal.err == ""
    text = "vllm serve M --max-num-batched-tokens 64 --max-num-seqs 128"
    done = cli("import", "auto", "-", stdin=text.encode())
    assert "max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (128)." in done.err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("--max-num-seqs 1k", '--max-num-seqs: "1k" is not allowed, must be an integer from 1 to 1000000'),
        ("--max-num-seqs $N", '--max-num-seqs: "$N" is not allowed, must be an integer from 1 to 1000000'),
        ("--max-num-seqs", "--max-num-seqs needs a value, none follows"),
        ("--max-num-batched-tokens 1.5K", "allows no fraction; 1.5k is one of 1000"),
        ("--watermark 1", "--watermark: 1.0 is not allowed, must be a number from 0 to below 1"),
        ("--enable-chunked", "could be --enable-chunked-prefill or --enable-chunked-mm-input"),
        ("--speculative-config '{x'", '--speculative-config: "{x" is not JSON'),
        ("--speculative-config '{}x'", '--speculative-config: "{}x" is not JSON'),
        ("--spec-method ngram", "--spec-method: num_speculative_tokens: missing"),
        ("--trust-remote-code=maybe", '--trust-remote-code takes no value, "maybe" is left out'),
        ("M2", '"M2" stands behind no flag that takes it'),
        ("; vllm serve B --max-num-seqs 3", "a second server is started here, only the first is read"),
        ("--served-model-name 'a", "a quote is not closed"),
    ],
)
def test_what_cannot_be_used_has_its_line_and_a_reason(text, reason):
    found = imported(f"#\nvllm serve M --block-size 8 {text}")
    assert [item.line for item in found.left_out] == [2]
    assert reason in why(found)[0]
    assert found.config == {"block_size": 8}


def test_what_is_not_simulated_is_noted():
    # Case C55 among them.
    found = imported('vllm serve M --kv-transfer-config \'{"kv_connector":"X"}\' -pp 2 -dp 1 --config more.yaml')
    notes = " ".join(found.notes)
    assert "the blocks they hold, are not modelled" in notes
    assert "-pp 2: several batches in flight" in notes
    assert "-dp" not in notes
    assert "--config more.yaml: what that file sets is not here" in notes
    assert "a server has it on by default and a scenario off: enable_prefix_caching, async_scheduling" in notes


YAML = """\
# for --config
model: example/model   # the model
max-num-seqs: 64
max_num_batched_tokens: 8K
enable-prefix-caching: off
no-async-scheduling: true
served-model-name:
- a
- b
speculative-config:
  model: "x/eagle3"
  num_speculative_tokens: 3
preemption_mode: swap
scheduler_type: fair
"""


@pytest.mark.parametrize("text", [YAML, "\ufeff" + YAML, "---\n" + YAML, YAML.replace("\n", "\r\n")])
def test_a_configuration_file(cli, text):
    (scenario,) = cli("import", "auto", "-", stdin=text.encode()).values
    assert scenario["config"] == {
        "max_num_seqs": 64,
        "max_num_batched_tokens": 8192,
        "enable_prefix_caching": False,
        "async_scheduling": False,
        "num_speculative_tokens": 3,
        "num_lookahead_tokens": 3,
    }
    account = scenario["imported"]
    assert (account["removed"], account["unknown"]) == (["--preemption-mode"], ["--scheduler-type"])
    assert account["found"] == {"model": "example/model"}


@pytest.mark.parametrize(
    "text",
    [
        "services:\n  a:\n    image: x/vllm\n    command: >\n      --model M\n      --max-num-seqs 8\n    ports: []",
        'FROM vllm/vllm-openai\nENTRYPOINT ["vllm", "serve"]\nCMD ["M",\n  "--max-num-seqs", "8"]\n',
        '["vllm", "serve", "M", "--max-num-seqs=8"]',
        "[Service]\nExecStart=/usr/bin/vllm serve M --max-num-seqs 8\n",
        "ssh host 'vllm serve M --max-num-seqs 8'",
        "```sh\nvllm serve M --max-num-seqs 8\n```",
        "spec:\n  containers:\n  - image: x/vllm:1\n    args:\n    - --model=M\n    - --max-num-seqs\n    - '8'\n",
        "a:\n- image: x/vllm:1\n  command: ['sh', '-c']\n  args: [\n    vllm serve M --max-num-seqs 8\n  ]",
    ],
)
def test_the_command_of_a_container(text):
    assert imported(text).config == {"max_num_seqs": 8}


YAML_VALUES = {
    "a: 1 # x": {"a": 1},
    'a: "x # y" # z': {"a": "x # y"},
    "a: 'it''s'": {"a": "it's"},
    "a: don't": {"a": "don't"},
    "a: b\n  c\nd: 1_024": {"a": "b c", "d": 1024},
    "- 1\n- - 2\n  - 3\n- k: v\n  l: ~": [1, [2, 3], {"k": "v", "l": None}],
    "a: {x: 1, 'y': [a, yes]}": {"a": {"x": 1, "y": ["a", True]}},
    "a:\n- 1\nb:\n  c: 0.92": {"a": [1], "b": {"c": 0.92}},
    "a: |\n  x\n\n  y\nb: 1": {"a": "x\n\ny", "b": 1},
    "u: http://h:1/#f": {"u": "http://h:1/#f"},
    "a: [1,\n2]": {"a": [1, 2]},
}


@pytest.mark.parametrize(("text", "value"), YAML_VALUES.items())
def test_yaml(text, value):
    assert parse_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: &x 2", '2: "&x 2" has an anchor, which is not read here; write it out'),
        ("a: *x", '1: "*x" has an alias'),
        ("a: !!int 2", '1: "!!int 2" has a tag'),
        ("a: 1\na: 2", '2: the key "a" stands twice, must be unique'),
        ("a: 1\n  b: 2", '2: "b: 2" is indented otherwise than what it belongs to'),
        ("a: [1, 2", '1: "[1, 2" has a bracket that is not closed'),
        ("a: 'x", '1: "\'x" has no closing quote'),
        ("a:\n\tb: 1", "2: is indented with a tab, must be with spaces"),
        ("a: 1\n---\nb: 2", "2: a second document begins, only one is read"),
        ("a:\n" + "\n".join(f"{' ' * n}- " for n in range(1, 60)), "nested too deeply"),
    ],
)
def test_yaml_that_is_not_read(text, problem):
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"), [("1k", 1000), ("1K", 1024), ("2.5m", 2_500_000), ("3G", 3 * 2**30), (" 7 ", 7), ("-1", -1)]
)
def test_human_readable_integers(text, value):
    assert human_readable_int(text) == value


@pytest.mark.parametrize("text", ["", "k", "1.5K", "1.5", "1kk", "0x10", "9" * 5000])
def test_what_is_no_human_readable_integer(text):
    with pytest.raises(ValueError, match=r"suffix|too many digits"):
        human_readable_int(text)


def test_nothing_to_import(cli):
    done = cli("import", "serve-command", "-", stdin=b"echo hello\n")
    assert (done.status, done.out) == (2, "")
    assert done.err == 'batchloom: <stdin>:1: "echo hello" starts no vllm serve, and sets no argument of it\n'
    assert cli("import", "serve-command", "-").err.startswith("batchloom: <stdin>: is empty, must hold a command line")
    with pytest.raises(ConfigError, match="is not known"):
        detect("model: x\nlearning_rate: 3\nepochs: 7\nbatch: 9\n")
