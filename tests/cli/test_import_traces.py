"""`import mooncake|burstgpt|vidur`: real rows, the layouts of columns, rows that cannot be used."""

import json

import pytest

from sim.importers import FORMATS, burstgpt, detect, mooncake, read_file, vidur

FILES = {
    "mooncake": "mooncake.first60.jsonl",
    "burstgpt": "burstgpt.3rows.csv",
    "vidur": "vidur-timed.first60.csv",
}
REQUEST = {"arrival_us": 0, "prompt_tokens": 5, "output_tokens": 7}


def requests_of(imported) -> list[dict]:
    return [{key: value for key, value in request.items() if key != "id"} for request in imported.requests]


@pytest.mark.parametrize("name", FILES)
def test_real_rows_named_or_detected_with_any_line_ends(cli, root, name):
    content = (root / "tests" / "data" / FILES[name]).read_bytes()
    named = cli("import", name, "-", stdin=content)
    assert (named.status, named.err) == (0, "")
    (scenario,) = named.values
    assert scenario["imported"]["format"] == name
    assert (
        scenario["imported"]["rows"] == len(scenario["requests"]) == content.strip().count(b"\n") + (name == "mooncake")
    )
    assert (scenario["imported"]["left_out_total"], scenario["imported"]["unknown"]) == (0, [])
    lines = b"\r\n".join(content.splitlines())
    for other in (content.rstrip(b"\n"), b"\xef\xbb\xbf" + lines, lines + b"\r\n\r\n"):
        assert cli("import", "auto", "-", stdin=other) == named


@pytest.mark.parametrize("name", FILES)
def test_rows_and_a_last_line_that_is_cut(cli, root, name):
    content = (root / "tests" / "data" / FILES[name]).read_bytes().rstrip(b"\n")
    (two,) = cli("import", name, "-", "--rows", "2", stdin=content).values
    assert (len(two["requests"]), two["imported"]["rows"]) == (2, 2)
    cut = content[: content.rindex(b"\n") + 4]
    done = cli("import", name, "-", stdin=cut)
    last = cut.count(b"\n") + 1
    assert done.status == 0
    assert done.values[0]["imported"]["left_out_total"] == 1
    assert done.err.startswith(f"batchloom: <stdin>:{last}: left out: ")


@pytest.mark.parametrize("name", FILES)
def test_each_is_detected_by_itself_alone(root, name):
    line = (root / "tests" / "data" / FILES[name]).read_text().splitlines()[0]
    assert [importer.name for importer in FORMATS.values() if importer.detect(line)] == [name]
    assert detect(line) is FORMATS[name]


@pytest.mark.parametrize("name", FILES)
def test_nothing_to_import(cli, name):
    done = cli("import", name, "-")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)


def row(**changed) -> str:
    values = {"timestamp": 3, "input_length": 1100, "output_length": 7, "hash_ids": [0, 42, 43]} | changed
    return json.dumps({key: value for key, value in values.items() if value is not None})


def test_mooncake_hashes_are_segments_of_512_tokens():
    imported = mooncake.read([row(), row(timestamp=2003, input_length=600, hash_ids=[0, 44])])
    assert requests_of(imported) == [
        {
            "arrival_us": 0,
            "prompt_tokens": 1100,
            "output_tokens": 7,
            "prefix": [["0", 512], ["42", 512], ["43", 76]],
        },
        {"arrival_us": 2_000_000, "prompt_tokens": 600, "output_tokens": 7, "prefix": [["0", 512], ["44", 88]]},
    ]
    assert imported.config["enable_prefix_caching"]


def test_mooncake_equal_hashes_are_found_in_the_cache(cli):
    lines = "\n".join([row(), row(timestamp=9000, input_length=600, hash_ids=[0, 44])])
    scenario = cli("import", "mooncake", "-", stdin=lines.encode()).out
    (summary,) = cli("summary", "--json", "-", stdin=scenario.encode()).values
    assert summary["cached_tokens"] == 512


def test_mooncake_without_hashes_and_with_more_fields():
    imported = mooncake.read([row(hash_ids=None, session_id="s")])
    assert requests_of(imported) == [{"arrival_us": 0, "prompt_tokens": 1100, "output_tokens": 7}]
    assert imported.unknown == ["session_id"]


BAD_MOONCAKE = {
    '{"timestamp": 3': '"{\\"timestamp\\": 3" is not JSON',
    "[" * 9999: "is not JSON",
    "3": "3 is not allowed, must be an object",
    row(timestamp=None): "timestamp: missing, a row has this field",
    row(timestamp=-1): "timestamp: -1 is not allowed, must be an integer from 0 to 1000000000000000 (ms)",
    row(timestamp=1.5): "timestamp: 1.5 is not allowed, must be an integer",
    row(input_length=0, hash_ids=[]): "input_length: 0 is not allowed, must be an integer from 1 to 10000000",
    row(output_length="7"): 'output_length: "7" is not allowed, must be an integer from 1 to 10000000',
    row(hash_ids=[1, 2]): "hash_ids: 2 of them, must be 3: one for each 512 of 1100 tokens",
    row(hash_ids=[1, 2, "3"]): 'hash_ids: [1, 2, "3"] is not allowed, must be a list of integers',
    row(timestamp=10**15): "timestamp: 999999999999997000 us after the first arrival, must be at most ",
}


@pytest.mark.parametrize(("line", "why"), BAD_MOONCAKE.items(), ids=range(len(BAD_MOONCAKE)))
def test_mooncake_rows_that_cannot_be_used(line, why):
    imported = mooncake.read([row(), "", line, row()])
    assert (imported.rows, imported.left_out_total, len(imported.requests)) == (3, 1, 2)
    assert imported.left_out[0].line == 3
    assert why in imported.left_out[0].why


def test_burstgpt_with_and_without_sessions():
    first = burstgpt.read(
        ["Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type", "5,GPT-4,5,7,12,API log"]
    )
    third = burstgpt.read(
        [
            "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type",
            "5.25,s1,0.5,GPT-4,5,7,12,Conversation log",
            "6.5,s1,0.5,GPT-4,5,7,12,Conversation log",
        ]
    )
    assert requests_of(first) == [REQUEST]
    assert requests_of(third) == [REQUEST, REQUEST | {"arrival_us": 1_250_000}]
    assert (first.unknown, third.unknown) == ([], [])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("5,5,0", "Response tokens: 0, the request failed"),
        ("5,0,7", "Request tokens: 0 is not allowed, must be an integer from 1 to 10000000"),
        ("-5,5,7", 'Timestamp: "-5" is not allowed, must be seconds such as 4.314579'),
        ("nan,5,7", 'Timestamp: "nan" is not allowed, must be seconds such as 4.314579'),
        ("5e99,5,7", "us after the first arrival, must be at most "),
        ("5,5", '2 columns in "5,5", must be 3'),
    ],
)
def test_burstgpt_rows_that_cannot_be_used(line, why):
    imported = burstgpt.read(["Timestamp,Request tokens,Response tokens", "5,5,7", line])
    assert requests_of(imported) == [REQUEST]
    assert imported.left_out[0].line == 3
    assert why in imported.left_out[0].why


def test_vidur_times_are_exact():
    lines = ["arrived_at,num_prefill_tokens,num_decode_tokens", "0.1,5,7", "4.3145799,5,7", "1e-1,5,7"]
    assert [request["arrival_us"] for request in vidur.read(lines).requests] == [0, 0, 4_214_579]


def test_vidur_without_arrivals_is_all_at_once(cli, root):
    (scenario,) = cli("import", "auto", root / "tests" / "data" / "vidur-lengths.first60.csv").values
    assert scenario["imported"]["format"] == "vidur"
    assert {request["arrival_us"] for request in scenario["requests"]} == {0}
    assert [request["prompt_tokens"] for request in scenario["requests"][:2]] == [3772, 2015]


WHOLE = {
    "azure": "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,{0},{1}\n",
    "burstgpt": ",Timestamp,Request tokens,Response tokens\n0,5,{0},{1}\n",
    "vidur": "num_prefill_tokens,num_decode_tokens\n{0},{1}\n",
    "mooncake": '{{"timestamp": 3, "input_length": {0}, "output_length": {1}}}\n',
    "sharegpt": "[[{0}, {1}], [1, 1]]\n",
    "bench-json": '{{"input_lens": [{0}], "output_lens": [{1}], "num_prompts": 1, "ttfts": []}}\n',
}


@pytest.mark.parametrize(("prompt", "output"), [("3000.0", "70.00"), ("3e3", "7E+1"), ("30000e-1", "700.0e-1")])
@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_in_any_notation(name, prompt, output):
    found = read_file("auto", WHOLE[name].format(prompt, output).splitlines(keepends=True))
    assert (found.format, found.left_out, found.unknown) == (name, [], [])
    assert (found.requests[0]["prompt_tokens"], found.requests[0]["output_tokens"]) == (3000, 70)
    assert type(found.requests[0]["prompt_tokens"]) is int


@pytest.mark.parametrize("text", ["5.5", "5.5e0", "55e-1", "1e99", "NaN"])
@pytest.mark.parametrize("name", WHOLE)
def test_numbers_that_are_none_or_not_whole_are_left_out(name, text):
    lines = WHOLE[name].format(3, 7)
    bad = WHOLE[name].format(text, 7)
    if name == "bench-json":
        bad = bad.replace("], ", ", 3], ")
    lines = bad if name in {"sharegpt", "bench-json"} else lines + bad.splitlines(keepends=True)[-1]
    found = read_file(name, lines.splitlines(keepends=True))
    assert (len(found.requests), found.left_out_total) == (1, 1)
    assert "an integer from 1 to 10000000" in found.left_out[0].why.replace("integers", "an integer")


@pytest.mark.parametrize("cell", ["", "1,000", "5.00000000000000000001", "nan", "<NA>", "five", "0x5"])
def test_a_cell_that_is_no_whole_number_leaves_its_row_out(cell):
    found = vidur.read(["num_prefill_tokens;num_decode_tokens", "5,0;7", f"{cell};7"])
    assert requests_of(found) == [REQUEST]
    assert [(item.line, item.why) for item in found.left_out] == [
        (3, f'num_prefill_tokens: "{cell}" is not allowed, must be an integer from 1 to 10000000')
    ]


def test_mooncake_numbers_with_a_point_are_exact():
    in_ms = mooncake.read([row(timestamp=3e4, hash_ids=[1.0, 2.0, 9e2]), row(timestamp=31000.0)])
    assert (in_ms.unit, in_ms.requests[1]["arrival_us"]) == ("ms", 1_000_000)
    assert in_ms.requests[0]["prefix"] == [["1", 512], ["2", 512], ["900", 76]]
    line = '{"timestamp": 1700000000.%s, "input_length": 1, "output_length": 1, "hash_ids": [18446744073709551615.0]}'
    in_seconds = mooncake.read([line % "000000100", line % "000001099"])
    assert (in_seconds.unit, in_seconds.requests[1]["arrival_us"]) == ("s", 0)
    none = mooncake.read([line % "5", line.replace("1700000000.%s", "-0.5")])
    assert none.left_out[0].why == "timestamp: -0.5 is not allowed, must be seconds such as 4.314579"
    assert in_seconds.requests[0]["prefix"] == [["18446744073709551615", 1]]


def test_burstgpt_a_failed_request_in_any_notation():
    found = burstgpt.read(["Timestamp,Request tokens,Response tokens", "5,5,7", "5,5,0.0"])
    assert [item.why for item in found.left_out] == ["Response tokens: 0, the request failed"]
