"""`export`: runs and configurations in the formats of other tools."""

import csv
import io
import json
from html import unescape
from xml.etree import ElementTree as ET

import pytest

TWO = {
    "name": "two",
    "config": {"max_num_batched_tokens": 8, "max_num_seqs": 1, "enable_prefix_caching": True},
    "requests": [
        {"id": "A", "prompt_tokens": 6, "output_tokens": 2},
        {"id": "=B", "prompt_tokens": 9, "output_tokens": 2},
    ],
}
TIMED = {
    "requests": [{"id": "A", "prompt_tokens": 64, "output_tokens": 3, "arrival_us": 10}],
}


def exported(cli, file_format, document):
    done = cli("export", file_format, "-", stdin=json.dumps(document).encode())
    assert (done.status, done.err) == (0, "")
    return done.out


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_steps_are_a_table(cli):
    table = rows(exported(cli, "steps-csv", TWO))
    assert [(row["step"], row["scheduled_tokens"], row["running"], row["waiting"]) for row in table] == [
        ("0", "6", "1", "1"),
        ("1", "1", "1", "1"),
        ("2", "8", "1", "0"),
        ("3", "1", "1", "0"),
        ("4", "1", "1", "0"),
    ]
    assert [row["finished"] for row in table] == ["", "A", "", "", "'=B"]
    assert {row["start_us"] for row in table} == {""}


def test_requests_are_a_table(cli):
    first, second = rows(exported(cli, "requests-csv", TWO))
    assert (first["id"], first["first_token_step"], first["finish_step"], first["generated_tokens"]) == (
        *("A", "0", "1"),
        "2",
    )
    assert (second["id"], second["prompt_tokens"], second["first_token_step"]) == ("'=B", "9", "3")


def test_times_are_in_microseconds(cli):
    (row,) = rows(exported(cli, "requests-csv", TIMED))
    # Steps of 5503, 4922, 4922 us from 10 on.
    assert (row["arrival_us"], row["first_token_us"], row["finish_us"]) == ("10", "5513", "15357")
    assert [line["start_us"] for line in rows(exported(cli, "steps-csv", TIMED))] == ["10", "5513", "10435"]


def test_perfetto_has_a_track_a_request_and_counters(cli):
    events = json.loads(exported(cli, "perfetto", TWO))["traceEvents"]
    slices = [(e["name"], e["tid"], e["ts"], e["dur"], e["args"]["tokens"]) for e in events if e["ph"] == "X"]
    assert sorted(slices, key=lambda piece: (piece[1], piece[2])) == [
        ("prefill", 1, 0, 1000, 6),
        ("decode", 1, 1000, 1000, 1),
        ("waiting: max_num_seqs", 2, 0, 2000, 0),
        ("prefill", 2, 2000, 2000, 9),
        ("decode", 2, 4000, 1000, 1),
    ]
    counted = [e["args"]["value"] for e in events if e["ph"] == "C" and e["name"] == "scheduled_tokens"]
    assert counted == [6, 1, 8, 1, 1]


def test_the_picture_has_a_cell_for_what_each_request_got(cli):
    tree = ET.fromstring(exported(cli, "svg", TWO))
    name = "{http://www.w3.org/2000/svg}"
    drawn = [(cell.get("x"), cell.get("y")) for cell in tree.iter(f"{name}rect") if cell.get("height") == "16"]
    assert drawn == [("121", "47"), ("153", "47"), ("185", "69"), ("217", "69"), ("249", "69")]
    assert [text.text for text in tree.iter(f"{name}text") if text.get("fill") == "#ffffff"] == ["6", "8", "1"]
    assert len(list(tree.iter(f"{name}circle"))) == 2
    assert "two: 5 steps, finished" in [text.text for text in tree.iter(f"{name}text")]


def test_what_is_computed_again_is_no_decode_and_a_cache_hit_has_a_flag(cli):
    config = {"max_num_batched_tokens": 16, "max_num_seqs": 2, "max_model_len": 64, "block_size": 4}
    requests = [{"id": name, "prompt_tokens": 8, "output_tokens": 9} for name in "AB"]
    again = {"config": config | {"num_gpu_blocks": 7}, "requests": requests}
    tree = ET.fromstring(exported(cli, "svg", again))
    name = "{http://www.w3.org/2000/svg}"
    strokes = [path for path in tree.iter(f"{name}path") if path.get("stroke") == "#ffffff"]
    assert len(strokes) == 1
    assert "13" in [text.text for text in tree.iter(f"{name}text") if text.get("fill") == "#ffffff"]
    shared = [
        {"id": "A", "prompt_tokens": 9, "output_tokens": 2, "prefix": [["s", 8]]},
        {"id": "B", "arrival_step": 2, "prompt_tokens": 12, "output_tokens": 2, "prefix": [["s", 8]]},
    ]
    cached = {"config": config | {"num_gpu_blocks": 40, "enable_prefix_caching": True}, "requests": shared}
    assert exported(cli, "svg", cached).count('h5v7l-2.5 -2.5l-2.5 2.5z"') == 1


def test_a_page_holds_all_of_a_run(cli):
    evil = TWO | {"name": "<script>alert(1)</script>"}
    page = exported(cli, "html", evil)
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "src=" not in page
    assert page.count("<svg") == 1
    assert all(f"<td>{name}</td>" in page for name in ("A", "&#39;=B", "generated_tokens"))
    written = page.partition("<pre>")[2].partition("</pre>")[0]
    assert json.loads(unescape(written)) == evil


def test_a_trace_does_as_well_as_its_scenario(cli):
    document = json.dumps(TWO).encode()
    trace = cli("trace", "-", stdin=document).values[0]
    assert exported(cli, "steps-csv", trace) == exported(cli, "steps-csv", TWO)


def test_a_serve_command_reads_back_as_the_configuration(cli):
    line = exported(cli, "serve-command", TWO)
    flags = "--max-num-batched-tokens 8 --max-num-seqs 1 --max-model-len 8192 --enable-prefix-caching"
    assert line == f"vllm serve MODEL {flags} --no-async-scheduling\n"
    config = cli("import", "serve-command", "-", stdin=line.encode()).values[0]["config"]
    assert TWO["config"].items() <= config.items()


@pytest.mark.parametrize("file_format", ["perfetto", "steps-csv", "requests-csv", "svg", "html"])
def test_an_id_may_be_any_text(cli, file_format):
    odd = {"requests": [{"id": 'a "quoted", \ud800\n', "prompt_tokens": 1, "output_tokens": 1}]}
    assert exported(cli, file_format, odd)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (b"", "is empty"),
        (b"[]", "<stdin>: holds no scenario"),
        (json.dumps([TWO, TWO]).encode(), "holds several"),
        (b'{"config": {"max_num_seqs": 0}, "requests": []}', "max_num_seqs: 0 is not allowed"),
        (b'{"config": {"max_num_batched_tokens": 8, "max_num_seqs": 9}, "requests": []}', "vLLM refuses this"),
    ],
)
def test_what_cannot_be_exported_is_told_in_a_line(cli, document, message):
    done = cli("export", "perfetto", "-", stdin=document)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
