"""`import bench-json|prometheus`: numbers and times that are none, tables behind prefixes, metrics of V0."""

import json
import re

import pytest

from sim.errors import ConfigError
from sim.importers import read_file


def imported(text: str):
    return read_file("auto", text.splitlines(keepends=True))


def test_a_result_with_numbers_that_are_none():
    result = {
        "input_lens": [5, 5, 5],
        "output_lens": [7, 7, 7],
        "start_times": [float("nan"), 1.0, 1.5],
        "ttfts": [float("inf"), 0.5, 0.5],
        "itls": [[], [float("nan")], [0.25]],
        "errors": [" \n", "", "a\nb"],
    }
    found = imported(json.dumps(result))
    assert [request["arrival_us"] for request in found.requests] == [0]
    assert found.series == {"ttft_us": [[0, 500_000]]}
    assert [item.why for item in found.left_out] == ['request 0: failed: ""', 'request 2: failed: "b"']


@pytest.mark.parametrize(
    ("text", "number"), [("7,279.56", 7279.56), ("7279,56", 7279.56), ("2,048", 2048), ("1.2.3", 1.2), ("-5", -5)]
)
def test_printed_numbers(text, number):
    found = imported(f"==== Serving Benchmark Result ====\nMean TTFT (ms):   {text}\n")
    assert found.found == {"mean_ttft_ms": number}


TABLE = """============ Serving Benchmark Result ============
Successful requests:                     2
Total input tokens:                      2048
Total generated tokens:                  64
Mean TTFT (ms):                          10.5
"""


@pytest.mark.parametrize(
    "prefix", ["", "> ", "bench-1  | ", "2026-11-20T10:01:00Z ", "INFO 11-20 10:00:30 [serve.py:1] "]
)
def test_a_printed_table_behind_prefixes(prefix):
    found = imported("".join(prefix + line + "\n" for line in TABLE.splitlines()))
    assert [(r["prompt_tokens"], r["output_tokens"]) for r in found.requests] == [(1024, 32)] * 2
    assert found.found["mean_ttft_ms"] == 10.5


def test_a_second_table_and_the_command_of_the_server_beside_a_table():
    other = TABLE.replace("10.5", "99.5").replace("2048", "4096")
    found = imported(f"$ vllm serve m --max-num-seqs 8\n{TABLE}{other}")
    assert (found.found["mean_ttft_ms"], found.found["total_input_tokens"]) == (10.5, 2048)
    assert [(item.line, item.why) for item in found.left_out] == [(7, "another result, only the first is read")]
    assert found.config["max_num_seqs"] == 8
    assert "the command on line 1 is read as well; what the server printed counts before it" in found.notes


def test_numbers_without_a_value_in_json_are_none(cli):
    text = '{"num_prompts": 1, "completed": 1, "request_throughput": NaN, "mean_ttft_ms": 1e999, "duration": -Infinity}'
    done = cli("import", "bench-json", "-", stdin=text.encode())
    found = done.values[0]["imported"]["found"]
    assert [found[key] for key in ("request_throughput", "mean_ttft_ms", "duration")] == [None, None, None]
    assert not re.search("NaN|Infinity", done.out)


@pytest.mark.parametrize("time", ["NaN", "inf", "-inf", "1e400", "9" * 400, "soon"])
def test_a_sample_at_no_time_is_left_out(time):
    name = "vllm:num_requests_running"
    found = imported(f"{name} 1 {time}\n{name} 2 1700000000000\n")
    assert (found.series, found.found) == ({"num_requests_running": [[0, 2]]}, {})
    assert found.left_out[0].why.endswith("is not allowed as a time, must be a number of seconds or ms")


def test_an_answer_with_a_series_without_samples():
    series = {"metric": {"__name__": "vllm:num_requests_running"}, "values": []}
    answer = {"status": "success", "data": {"resultType": "matrix", "result": [series]}}
    with pytest.raises(ConfigError, match="has no metric of vLLM"):
        imported(json.dumps(answer))


@pytest.mark.parametrize("name", ["num_requests_swapped", "cpu_cache_usage_perc"])
def test_metrics_of_the_engine_before_this_one(name):
    found = imported(f"vllm:{name} 0.0\nvllm:num_requests_running 1e300\n")
    assert "this is of vLLM's V0 engine, whose scheduler was another than the one simulated" in found.notes
    assert found.series["num_requests_running"] == [[0, 1e300]]
