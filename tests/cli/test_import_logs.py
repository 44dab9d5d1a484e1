"""`import vllm-log`: the command beside a log, errors of a start, logs of the engine before this one."""

import pytest

from sim.importers import read_file


def imported(text: str):
    return read_file("auto", text.splitlines(keepends=True))


COMMAND = "vllm serve x/m --max-num-seqs 64 --max-model-len 32k --swap-space 4"
KV_SIZE = (
    "INFO 11-20 10:00:30 [kv_cache_utils.py:864] GPU KV cache size: 93,872 tokens, "
    "Maximum concurrency for 16,384 tokens per request: 5.73x"
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"Starting\n$ {COMMAND}\n{KV_SIZE}\n", 2),
        (f"{KV_SIZE}\nI ran `{COMMAND}` there.\n", 2),
        (f"> ```\n> {COMMAND}\n> {KV_SIZE}\n> ```\n", 2),
        (f"{COMMAND.replace(' --', chr(92) + chr(10) + '  --')}\n{KV_SIZE}\n", 1),
        (f"{COMMAND.replace(' --', chr(10) + '  --')}\n{KV_SIZE}\n", 1),
        (f"u@h:~$ export N=64\nu@h:~$ {COMMAND.replace('64', '$N')}\n{KV_SIZE}\n", 2),
        (f"vllm-1  | + exec {COMMAND}\nvllm-1  | {KV_SIZE}\n", 1),
        (f'bash -c "{COMMAND}"\n{KV_SIZE}\n', 1),
        (f"When I run vllm serve it doesn't work.\n{KV_SIZE}\n{COMMAND}\n", 3),
        (f"usage: vllm serve [model_tag] [--max-num-seqs N]\n{COMMAND}\n{KV_SIZE}\n", 2),
        (f"python -m vllm.entrypoints.openai.api_server --model {COMMAND[11:]}\n{KV_SIZE}\n", 1),
        (f"docker run --gpus all \\\n  vllm/vllm-openai:v0.10.1 \\\n  --model {COMMAND[11:]}\n{KV_SIZE}\n", 3),
    ],
)
def test_the_command_before_a_log_is_read_and_the_log_counts(text, line):
    found = imported(text)
    assert (found.format, found.found["model"]) == ("vllm-log", "x/m")
    assert found.config == {"max_num_seqs": 64, "max_model_len": 16384, "num_gpu_blocks": 5867}
    assert (found.removed, found.left_out, found.unknown) == (["--swap-space"], [], [])
    assert f"the command on line {line} is read as well; what the server printed counts before it" in found.notes


def test_a_second_command_and_words_of_people_beside_a_log():
    found = imported(f"$ {COMMAND}\n{KV_SIZE}\n$ vllm serve n --max-num-seqs 3\n")
    assert [(item.line, item.why) for item in found.left_out] == [
        (3, "a second server is started here, only the first is read")
    ]
    found = imported(f"vllm serve crashes\nvllm serve: error: argument --max-num-seqs\n{KV_SIZE}\n")
    assert found.config == {"max_model_len": 16384, "num_gpu_blocks": 5867}
    assert ("model" in found.found, len(found.notes)) == (False, 1)


BLAMED = "ValueError: To serve at least one request with the {}'s max seq len (131072), "
REFUSALS = {
    BLAMED.format("models") + "(16.00 GiB KV cache is needed, which is larger than the available KV cache memory "
    "(10.95 GiB). Based on the available memory, the estimated maximum model length is 89696. Try increasing": (
        {"max_model_len": 131072},
        {"needed_kv_cache_gib": 16.0, "available_kv_cache_gib": 10.95, "estimated_max_model_len": 89696},
        [
            "vLLM did not start: a request of 131072 tokens needs 16.00 GiB of KV cache, it had 10.95",
            "by vLLM's estimate a max_model_len of 89696 would have fitted",
        ],
    ),
    BLAMED.format("model")
    + "(16.0 GB KV cache is needed, which is larger than the available KV cache memory (0 GB).": (
        {"max_model_len": 131072},
        {"needed_kv_cache_gib": 16.0, "available_kv_cache_gib": 0},
        ["vLLM did not start: a request of 131072 tokens needs 16.0 GiB of KV cache, it had 0"],
    ),
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when": (
        {},
        {},
        ["vLLM did not start: no memory was left for KV blocks"],
    ),
    "  Value error, max_num_batched_tokens (2048) is smaller than max_model_len (32768). This effectively": (
        {"max_num_batched_tokens": 2048, "max_model_len": 32768, "enable_chunked_prefill": False},
        {},
        [
            (
                "vLLM refuses this: max_num_batched_tokens (2048) is smaller than max_model_len (32768). This "
                "effectively limits the maximum sequence length to max_num_batched_tokens and makes vLLM reject longer "
                "sequences. "
                "Please increase max_num_batched_tokens or decrease max_model_len."
            )
        ],
    ),
    "ValueError: max_num_batched_tokens (8) must be greater than or equal to max_num_seqs (16).": (
        {"max_num_batched_tokens": 8, "max_num_seqs": 16},
        {},
        ["vLLM refuses this: max_num_batched_tokens (8) must be greater than or equal to max_num_seqs (16)."],
    ),
    "ValueError: max_num_active_seqs (9) cannot be greater than max_num_seqs (8).": (
        {"max_num_active_seqs": 9, "max_num_seqs": 8},
        {},
        ["vLLM refuses this: max_num_active_seqs (9) cannot be greater than max_num_seqs (8)."],
    ),
    "ValueError: long_prefill_token_threshold (9) cannot be greater than the max_model_len (8).": (
        {"long_prefill_token_threshold": 9, "max_model_len": 8},
        {},
        ["vLLM refuses this: long_prefill_token_threshold (9) cannot be greater than the max_model_len (8)."],
    ),
    "ValueError: Chunked MM input disabled but max_tokens_per_mm_item (4096) is larger than max_num_batched_tokens "
    "(2048). Please increase max_num_batched_tokens.": (
        {"max_num_batched_tokens": 2048, "disable_chunked_mm_input": True},
        {},
        [],
    ),
    "ValueError: User-specified max_model_len (65536) is greater than the derived max_model_len "
    "(max_position_embeddings=32768 or model_max_length=None in model's config.json).": (
        {"max_model_len": 65536},
        {"derived_max_model_len": 32768},
        ["vLLM refused max_model_len 65536: that of the model is 32768"],
    ),
    "ValueError: The model's max seq len (8192) is larger than the maximum number of tokens that can be stored in "
    "KV cache (4096). Try increasing `gpu_memory_utilization`": (
        {"max_model_len": 8192, "num_gpu_blocks": 256},
        {"kv_cache_size_tokens": 4096},
        [
            "this is of vLLM's V0 engine, whose scheduler was another than the one simulated",
            "vLLM did not start: a request of 8192 tokens is longer than its KV cache, which holds 4096",
            (
                "num_gpu_blocks: 256 blocks hold 4096 tokens, if a block holds 16, which the log does not tell; one is "
                "the null block"
            ),
        ],
    ),
}


@pytest.mark.parametrize(("text", "told"), REFUSALS.items(), ids=range(len(REFUSALS)))
@pytest.mark.parametrize("before", ["", "(EngineCore_DP0 pid=272) ERROR 11-20 10:00:30 [core.py:700] "])
def test_an_error_of_a_start_alone(before, text, told):
    found = imported(f"{before}{text}\n")
    assert (found.format, found.left_out) == ("vllm-log", [])
    assert (found.config, found.found, found.notes) == told


def test_a_command_and_the_error_that_it_ended_in():
    text = f"$ vllm serve m --max-num-seqs 8\nTraceback (most recent call last):\n{next(iter(REFUSALS))}\n"
    assert imported(text).config == {"max_num_seqs": 8, "max_model_len": 131072}


def test_what_lines_of_a_start_resolve():
    lines = [
        "INFO 11-20 10:00:01 [arg_utils.py:1] Defaulting max_num_batched_tokens to 8192 for OPENAI_API_SERVER usage.",
        "INFO 11-20 10:00:01 [arg_utils.py:1] Defaulting max_num_seqs to 256 for OPENAI_API_SERVER usage.",
        "WARNING 11-20 10:00:01 [vllm.py:1] max_num_scheduled_tokens is set to 7936 based on the speculative decoding",
        "INFO 11-20 10:00:01 [kv_cache_utils.py:1] Overriding num_gpu_blocks=7716 with num_gpu_blocks_override=512",
        "INFO 11-20 10:00:01 [gpu_worker.py:1] Available KV cache memory: 10.95 GiB",
        "INFO 11-20 10:00:01 [gpu_worker.py:1] Available KV cache memory: 9.5 GiB",
    ]
    found = imported("\n".join(lines))
    assert found.config == {
        "max_num_scheduled_tokens": 7936,
        "max_num_batched_tokens": 8192,
        "max_num_seqs": 256,
        "num_gpu_blocks": 512,
    }
    assert (found.found, found.notes) == ({"available_kv_cache_gib": 9.5}, [])


@pytest.mark.parametrize("device", ["cuda", "GPU", "CUDA", "rocm", "hpu"])
def test_blocks_of_the_engine_before_this_one(device):
    line = f"INFO 08-01 10:00:00 executor_base.py:110] # {device} blocks: 12345, # CPU blocks: 2048"
    found = imported(line)
    assert (found.config, found.found) == ({"num_gpu_blocks": 12345}, {})
    assert found.notes == ["this is of vLLM's V0 engine, whose scheduler was another than the one simulated"]
    found = imported(f"INFO 08-01 10:00:00 api_server.py:1] args: Namespace(block_size=32, max_num_seqs=7)\n{line}")
    assert found.config == {"block_size": 32, "max_num_seqs": 7, "num_gpu_blocks": 12345}


RUNNING = (
    "Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: {} reqs, "
    "Waiting: 0 reqs, GPU KV cache usage: 1.0%"
)


@pytest.mark.parametrize(
    "prefix",
    [
        "Nov 30 23:59:5{} host vllm[12]: ",
        "<30>Nov 30 23:59:5{} host vllm[12]: ",
        "^[[32mINFO^[[0m 2026-11-30T23:59:5{}+01:00 ",
        "\\u001b[32mINFO 11-30 23:59:5{} [l.py:1] ",
        "\x1b]0;title\x07INFO 11-30 23:59:5{} [l.py:1] ",
        "[1;36m(APIServer pid=1)[0;0m INFO 11-30 23:59:5{} [l.py:1] ",
        '1764547195,"INFO 11-30 23:59:5{} [l.py:1] ',
    ],
)
def test_times_of_collectors_and_terminals(prefix):
    found = imported("".join(prefix.format(second) + RUNNING.format(second) + "\n" for second in (1, 4)))
    assert found.series["num_requests_running"] == [[0, 1], [3_000_000, 4]]
    assert found.unit == "clock"


def test_lines_that_come_late_are_put_in_order():
    lines = [f"INFO 11-30 23:59:5{second} [l.py:1] " + RUNNING.format(second) for second in (4, 1)]
    assert imported("\n".join(lines)).series["num_requests_running"] == [[0, 1], [3_000_000, 4]]


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 399, "1" + "0" * 16])
def test_numbers_that_no_server_has_are_left_out(number):
    lines = [RUNNING.format(number), RUNNING.format(3), f"Available KV cache memory: {number} GiB"]
    found = imported("\n".join(lines))
    assert (found.series["num_requests_running"], found.found) == ([[0, 3]], {})
    assert [item.line for item in found.left_out] == [1]


@pytest.mark.parametrize(
    ("text", "config"),
    [
        (
            "non-default args: {'hf_overrides': {'max_model_len': 5}, 'model': 'm', 'max_model_len': 4096}",
            {"max_model_len": 4096},
        ),
        (
            "non-default args: {'speculative_config': {'model': 'eagle3', 'num_speculative_tokens': 3}, 'model': 'm'}",
            {"num_speculative_tokens": 3, "num_lookahead_tokens": 3},
        ),
        (
            (
                "args: Namespace(hf_overrides={'max_num_seqs': 1}, speculative_config={'method': 'ngram', "
                "'num_speculative_tokens': 2}, model='m', max_num_seqs=8)"
            ),
            {"num_speculative_tokens": 2, "max_num_seqs": 8},
        ),
        (
            (
                "Initializing a V1 LLM engine (v0.33.0) with config: model='m', speculative_config=SpeculativeConfig("
                "method='eagle', num_spec_tokens=3), max_seq_len=4096, compilation_config={'max_seq_len': 5}"
            ),
            {"num_speculative_tokens": 3, "num_lookahead_tokens": 3, "max_model_len": 4096},
        ),
    ],
)
def test_arguments_within_arguments_are_not_the_server_s(text, config):
    found = imported(f"(APIServer pid=1) INFO 11-20 10:00:01 [utils.py:233] {text}\n")
    assert (found.config, found.found["model"]) == (config, "m")


def test_a_comma_is_no_number_of_blocks():
    assert imported("# GPU blocks: ,\n# GPU blocks: 1,024\n").config == {"num_gpu_blocks": 1024}
