"""`import vllm-log|prometheus|bench-json|sharegpt` and our own files: what servers and clients write down."""

import json
import re

import pytest

from sim.engine import simulate
from sim.errors import ConfigError
from sim.importers import read_file
from sim.scenario import parse_scenario


def imported(text: str, name: str = "auto", rows: int | None = None):
    return read_file(name, text.splitlines(keepends=True), rows)


def test_the_log_of_a_server(cli, root):
    done = cli("import", "auto", root / "tests" / "data" / "vllm-server.log")
    (scenario,) = done.values
    assert scenario["config"] == {
        "max_model_len": 16384,
        "max_num_batched_tokens": 4096,
        "enable_chunked_prefill": True,
        "policy": "priority",
        "enable_prefix_caching": True,
        "num_speculative_tokens": 3,
        # Case C53: 93,872 tokens in blocks of 16; the null block is one of them.
        "num_gpu_blocks": 5867,
    }
    account = scenario["imported"]
    assert (account["format"], account["rows"], account["unit"]) == ("vllm-log", 4, "clock")
    assert account["found"] == {
        "version": "0.33.0",
        "model": "example/model-8b",
        "kv_cache_size_tokens": 93872,
        "max_concurrency": 5.73,
    }
    # The year turns between the first two lines.
    assert account["series"]["num_requests_running"] == [[0, 8], [10_000_000, 9]]
    assert account["series"]["num_requests_waiting"] == [[0, 3], [10_000_000, 0]]
    assert account["series"]["kv_cache_usage_perc"] == [[0, 0.939], [10_000_000, 0.4], [15_000_000, 0.05]]
    assert account["series"]["num_preemptions"] == [[0, 2]]
    assert account["series"]["iteration_ms"] == [[15_000_000, 12.34]]
    assert account["left_out"] == [
        {"line": 10, "why": "prompt_throughput is missing, the line is cut or of another form"}
    ]
    assert (
        done.err
        == f"batchloom: {root / 'tests' / 'data' / 'vllm-server.log'}:10: left out: {account['left_out'][0]['why']}\n"
    )


STATS = "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: {} reqs, "


def test_lines_of_older_releases_other_devices_and_collectors():
    old = STATS.format(1) + "Swapped: 4 reqs, Pending: 2 reqs, GPU KV cache usage: 15,5%, CPU KV cache usage: 0.1%."
    found = imported(f"[2024-07-08 15:17:34] INFO 07-08 07:17:34 metrics.py:334] {old}\n")
    assert {name: points[0][1] for name, points in found.series.items()} == {
        "prompt_throughput": 1.0,
        "generation_throughput": 2.0,
        "num_requests_running": 1,
        "num_requests_waiting": 2,
        "num_requests_swapped": 4,
        "kv_cache_usage_perc": 0.155,
        "cpu_kv_cache_usage_perc": 0.001,
    }
    new = STATS.format(7) + "Waiting: 0 reqs, XPU KV cache usage: 5.0%"
    lines = [
        "vllm-1  | 2026-05-12T08:01:39.25Z \x1b[36m(APIServer pid=1)\x1b[0m INFO 05-12 10:01:39 [l.py] Engine 000: "
        + new,
        json.dumps({"timestamp": "2026-05-12 08:01:40,75", "message": f"Engine 001: {new}"}),
        f"INFO: {new}",
    ]
    found = imported("\n".join(lines))
    assert found.series['num_requests_running{engine="0"}'] == [[0, 7]]
    assert found.series['num_requests_running{engine="1"}'] == [[1_500_000, 7]]
    without_times = imported(f"{new}\n{new}\n")
    assert without_times.series["num_requests_running"] == [[0, 7], [1, 7]]
    assert without_times.notes == ["the lines have no times: points are counted by line"]


def test_arguments_as_older_releases_list_them():
    found = imported(
        "INFO 04-17 19:48:21 [api_server.py:1035] args: Namespace(subparser='serve', model_tag='m', model='m', "
        "max_model_len=4096, block_size=None, enable_prefix_caching=None, max_num_seqs=8, max_loras=1, "
        "enable_lora=False, scheduling_policy='fcfs', "
        "speculative_config={'method': 'ngram', 'num_speculative_tokens': 3}, port=8000)\n"
    )
    assert found.config == {
        "max_model_len": 4096,
        "max_num_seqs": 8,
        "policy": "fcfs",
        "num_speculative_tokens": 3,
    }


@pytest.mark.parametrize(
    ("lines", "blocks"),
    [
        (["GPU KV cache size: 93,872 tokens", "Maximum concurrency for 16,384 tokens per request: 5.73x"], 5867),
        # 16,390 tokens need 1,025 blocks; 0.33.0 logs int(5867 / 1025 * 16390).
        (["GPU KV cache size: 93,814 tokens, Maximum concurrency for 16,390 tokens per request: 5.72x"], 5867),
        (["GPU KV cache size: 2,640,144 tokens", "Maximum concurrency for 131,072 tokens per request: 284.25x"], None),
        (["GPU KV cache size: 290,864 tokens, Maximum concurrency for 262,144 tokens per request: 33.04x"], None),
        (["GPU KV cache size: 93,872 tokens", "hybrid KV cache manager: 2 groups"], None),
        (["# GPU blocks: 330018, # CPU blocks: 2048", "GPU KV cache size: 2,640,144 tokens"], 330018),
        (["GPU KV cache size: 64,000 tokens", "GPU KV cache size: 32,000 tokens"], 2000),
    ],
)
def test_blocks_are_derived_where_they_are_certain(lines, blocks):
    found = imported("\n".join(lines), "vllm-log")
    assert found.config.get("num_gpu_blocks") == blocks
    assert ("is not derived" in " ".join(found.notes)) == (blocks is None)


def test_an_exemplar_behind_a_bucket_is_passed_over():
    name = 'vllm:iteration_tokens_total_bucket{engine="0",le='
    lines = [name + '"8.0"} 5.0 # {trace_id="a}b"} 0.05 1700000000.0', name + '"+Inf"} 7 # {} 9.5']
    found = imported("\n".join(lines), "prometheus")
    assert (found.left_out, list(found.found["histograms"].values())) == ([], [[["8.0", 5], ["+Inf", 7]]])


def test_metrics(cli, root):
    content = (root / "tests" / "data" / "vllm-metrics.txt").read_text()
    (scenario,) = cli("import", "auto", "-", stdin=content.encode()).values
    assert scenario["config"] == {"block_size": 16, "num_gpu_blocks": 118, "enable_prefix_caching": True}
    account = scenario["imported"]
    assert (account["format"], account["unknown"], account["left_out"]) == ("prometheus", [], [])
    assert account["series"] == {
        "num_requests_running": [[0, 3]],
        'num_requests_waiting_by_reason{reason="capacity"}': [[0, 6]],
        'num_requests_waiting_by_reason{reason="deferred"}': [[0, 1]],
        "kv_cache_usage_perc": [[0, 0.25]],
        "prompt_tokens": [[0, 1024]],
        "iteration_tokens_total_sum": [[0, 1100]],
        "iteration_tokens_total_count": [[0, 7]],
    }
    assert account["found"] == {
        "model": "example/model-8b",
        "histograms": {"iteration_tokens_total": [["8.0", 5], ["+Inf", 7]]},
    }


def test_scrapes_with_and_without_times_several_engines_and_models():
    line = 'vllm:num_requests_running{{engine="{}",model_name="{}"}} {}'
    by_scrape = imported("\n".join([line.format(0, "a", 1), line.format(1, "a", 2), line.format(0, "a", 3)]))
    assert by_scrape.series == {
        'num_requests_running{engine="0"}': [[0, 1], [1, 3]],
        'num_requests_running{engine="1"}': [[0, 2]],
    }
    times = [line.format(0, "a", 1) + " 1700000000000", line.format(0, "a", 2) + " 1700000005250"]
    assert imported("\n".join(times)).series == {"num_requests_running": [[0, 1], [5_250_000, 2]]}
    open_metrics = [
        line.format(0, "a", 1) + " 1700000000.5",
        "# EOF",
        line.format(0, "b", 2) + " 1700000001.0",
        "# EOF",
    ]
    assert imported("\n".join(open_metrics)).series == {
        'num_requests_running{model_name="a"}': [[0, 1]],
        'num_requests_running{model_name="b"}': [[500_000, 2]],
    }


def test_samples_that_cannot_be_used():
    lines = ["vllm:num_requests_running 1", "vllm:kv_cache_usage_perc NaN", "vllm:num_pre{x 1", "vllm:new_one 3"]
    text = "\n".join([*lines, "python_gc 1", "vllm:num_"])
    found = imported(text)
    assert [(item.line, item.why.split(":")[0]) for item in found.left_out] == [
        (2, "kv_cache_usage_perc"),
        (3, '"vllm'),
        (6, '"vllm'),
    ]
    assert found.unknown == ["new_one"]


def test_a_result_with_a_list_for_each_request(cli, root):
    done = cli("import", "auto", root / "tests" / "data" / "bench-detailed.json")
    (scenario,) = done.values
    assert scenario["requests"] == [
        {"id": "r1", "arrival_us": 0, "prompt_tokens": 20, "output_tokens": 4},
        {"id": "r0", "arrival_us": 250_000, "prompt_tokens": 10, "output_tokens": 3},
    ]
    account = scenario["imported"]
    assert (account["rows"], account["unit"], account["unknown"]) == (3, "s", ["gpu"])
    assert account["series"] == {
        "ttft_us": [[0, 200_000], [250_000, 100_000]],
        "e2el_us": [[0, 500_000], [250_000, 130_000]],
        "num_requests_in_flight": [[0, 1], [250_000, 2], [380_000, 1], [500_000, 0]],
    }
    assert account["found"]["mean_ttft_ms"] == 150.0
    assert account["left_out"] == [{"line": 1, "why": 'request 2: failed: "boom"'}]


def test_a_result_with_totals_alone_keeps_them():
    result = {"completed": 3, "total_input_tokens": 10, "total_output_tokens": 7, "request_rate": 2.0, "num_prompts": 3}
    found = imported(json.dumps(result))
    assert [tuple(request.values()) for request in found.requests] == [
        ("r0", 0, 3, 2),
        ("r1", 500_000, 3, 2),
        ("r2", 1_000_000, 4, 3),
    ]
    assert "average lengths" in found.notes[0]
    appended = imported(json.dumps(result) + "\n" + json.dumps(result) + "\n{")
    assert appended.requests == found.requests
    assert [(item.line, item.why) for item in appended.left_out] == [
        (2, "another result, only the first is read"),
        (3, "is cut: the file ends within it"),
    ]


def test_the_printed_table():
    found = imported(
        "============ Serving Benchmark Result ============\nSuccessful requests:                     2\n"
        "Total input tokens:                      2,048\nTotal generated tokens:                  64\n"
        "Mean TTFT (ms):                          7279.56\n"
    )
    assert [(r["prompt_tokens"], r["output_tokens"]) for r in found.requests] == [(1024, 32)] * 2
    assert found.found["mean_ttft_ms"] == 7279.56


def test_conversations_are_estimated_by_the_rule(cli, root):
    done = cli("import", "auto", root / "tests" / "data" / "sharegpt.3.json")
    (scenario,) = done.values
    # 25 characters are 7 tokens; seven that are not ASCII are seven. Four characters are one token, 14 are four.
    assert scenario["requests"] == [
        {"id": "r0", "arrival_us": 0, "prompt_tokens": 7, "output_tokens": 7},
        {"id": "r1", "arrival_us": 0, "prompt_tokens": 1, "output_tokens": 4},
    ]
    account = scenario["imported"]
    assert account["left_out"] == [
        {"line": 4, "why": "conversations: 1 turns, must be a prompt and an answer at least"}
    ]
    assert account["notes"][0].startswith("lengths are estimated without a tokenizer: four ASCII characters")


@pytest.mark.parametrize(
    "text",
    [
        '[{"prompt_len": 5, "output_len": 7}, {"prompt_len": 6, "output_len": 8}]',
        '{"input_tokens": 5, "output_tokens": 7}\n{"input_tokens": 6, "output_tokens": 8}\n',
        "[[5, 7],\n [6, 8]]",
        "prompt_tokens,completion_tokens\n5,7\n6,8\n",
        "prompt_tokens;completion_tokens\r\n5;7\r\n6;8",
        '[{"prompt_len": 5, "output_len": 7},\n {"prompt_len": 6, "output_len": 8},\n {"prompt_len": 6, "out',
    ],
)
def test_lengths_without_texts(text):
    found = imported(text)
    assert found.format == "sharegpt"
    assert [(r["prompt_tokens"], r["output_tokens"]) for r in found.requests] == [(5, 7), (6, 8)]
    assert [item.line for item in found.left_out] == ([3] if text.endswith("out") else [])


SCENARIO = {
    "name": "own",
    "config": {"block_size": 4, "num_gpu_blocks": 5},
    "requests": [
        {"id": "A", "prompt_tokens": 9, "output_tokens": 7},
        {"id": "B", "arrival_step": 1, "prompt_tokens": 4, "output_tokens": 3},
    ],
}


def test_our_own_scenarios_are_taken_as_they_are(cli):
    (scenario,) = cli("import", "auto", "-", stdin=json.dumps(SCENARIO, indent=1).encode()).values
    assert {key: scenario[key] for key in SCENARIO} == SCENARIO
    bad = json.dumps(SCENARIO | {"config": {"block_sise": 4}}).encode()
    done = cli("import", "auto", "-", stdin=bad)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert done.err.startswith("batchloom: <stdin>: config.block_sise: unknown key")


def test_our_own_traces_give_their_requests_back():
    trace = json.dumps(simulate(parse_scenario(SCENARIO)).to_json())
    found = imported(trace + "\n" + trace)
    assert found.requests == [
        {"id": "A", "arrival_step": 0, "prompt_tokens": 9, "output_tokens": 7},
        {"id": "B", "arrival_step": 1, "prompt_tokens": 4, "output_tokens": 3},
    ]
    assert [item.line for item in found.left_out] == [2]


def test_sample_and_unit(cli):
    rows = "".join(f"{n},GPT-4,5,7,12,API\n" for n in range(10))
    text = ("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n" + rows).encode()
    (scenario,) = cli("import", "auto", "-", "--sample", "3", stdin=text).values
    assert [(r["id"], r["arrival_us"]) for r in scenario["requests"]] == [
        ("r0", 0),
        ("r3", 3_000_000),
        ("r6", 6_000_000),
    ]
    assert scenario["imported"]["notes"] == ["a sample: 3 of 10 requests with their arrivals, so the load is lower"]
    (scenario,) = cli("import", "auto", "-", "--unit", "ms", stdin=text).values
    assert (scenario["requests"][9]["arrival_us"], scenario["imported"]["unit"]) == (9_000, "ms")
    done = cli("import", "auto", "-", "--unit", "ms", stdin=b"prompt_tokens,output_tokens\n1,1\n")
    assert (done.status, done.err.count("\n")) == (2, 1)


def test_hashes_of_another_size_and_seconds_are_detected():
    row = '{{"timestamp": {}, "input_length": 40, "output_length": 3, "hash_ids": [1, 2, {}]}}\n'
    found = imported(row.format("0.5", 3) + row.format("2", 4))
    assert found.requests[1]["prefix"] == [["1", 16], ["2", 16], ["4", 8]]
    assert (found.requests[1]["arrival_us"], found.unit, found.found) == (1_500_000, "s", {"hash_tokens": 16})


def test_tables_of_another_locale():
    azure = imported(
        "TIMESTAMP;ContextTokens;GeneratedTokens\n2023-11-16 18:15:46,68;3;4\n2023-11-16 18:15:47,18;3;4\n"
    )
    vidur = imported("arrived_at;num_prefill_tokens;num_decode_tokens\n0;3;4\n0,5;3;4\n")
    assert [azure.requests[1]["arrival_us"], vidur.requests[1]["arrival_us"]] == [500_000, 500_000]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_encodings_of_other_systems(cli, azure, encoding):
    text = azure.read_text("utf-8")
    plain = cli("import", "auto", "-", stdin=azure.read_bytes())
    assert cli("import", "auto", "-", stdin=text.encode(encoding)) == plain
    assert cli("import", "auto", "-", stdin=text.replace("\r\n", "\n").replace("\n", "\r").encode()) == plain


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"\x1f\x8b\x08\x00", "a gzip file"), (b"PK\x03\x04zip", "a zip file"), (b"\x00\x01\x02\xff" * 9, "value 0")],
)
def test_what_is_no_text(cli, content, what):
    for name in ("auto", "vllm-log", "sharegpt"):
        done = cli("import", name, "-", stdin=content)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
        assert re.match(f"batchloom: <stdin>:1: is not text.*{what}", done.err)


def test_twenty_thousand_requests_take_time_in_proportion(cli):
    def text(count: int) -> str:
        turns = '{"conversations": [{"from": "human", "value": "Hello there"}, {"from": "gpt", "value": "Yes."}]}'
        return "[" + ",\n".join([turns] * count) + "]"

    found = imported(text(20_000))
    assert (found.rows, len(found.requests)) == (20_000, 20_000)
    assert len(imported(text(20_000), rows=7).requests) == 7


def test_an_answer_of_prometheus_itself():
    def series(name: str, engine: str, *values: str) -> dict:
        metric = {"__name__": name, "engine": engine, "instance": "h:8000", "job": "vllm", "model_name": "m"}
        return {"metric": metric, "values": [[1_700_000_000 + 15 * n, value] for n, value in enumerate(values)]}

    running, total = "vllm:num_requests_running", "vllm:prompt_tokens_total"
    result = [series(running, "0", "1", "2"), series(running, "1", "3", "4"), series(total, "0", "5", "6.5")]
    text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}, indent=1)
    found = imported(text)
    assert (found.format, found.unit) == ("prometheus", "us")
    assert found.series == {
        'num_requests_running{engine="0"}': [[0, 1], [15_000_000, 2]],
        'num_requests_running{engine="1"}': [[0, 3], [15_000_000, 4]],
        'prompt_tokens{engine="0"}': [[0, 5], [15_000_000, 6.5]],
    }
    with pytest.raises(ConfigError, match="is not JSON, or is cut"):
        imported(text[:-20])
    with pytest.raises(ConfigError, match="is no answer of Prometheus"):
        imported(text.replace('"result":', '"results":'))
