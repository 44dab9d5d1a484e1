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


SVG = "{http://www.w3.org/2000/svg}"
AGAIN = {
    "name": "again",
    "config": {
        "max_num_batched_tokens": 16,
        "max_num_seqs": 2,
        "max_model_len": 64,
        "block_size": 4,
        "num_gpu_blocks": 7,
    },
    "requests": [{"id": name, "prompt_tokens": 8, "output_tokens": 9} for name in "AB"],
}


def pieces(picture, kind):
    """Who did `kind` in which step."""
    drawn = [group for group in ET.fromstring(picture).iter(f"{SVG}g") if group.get("class", "").startswith("piece")]
    return [
        (group.get("data-request"), int(group.get("data-step")))
        for group in drawn
        if any(kind in (part.get("class") or "").split() for part in group)
    ]


def texts(picture, kind):
    return [
        text.text for text in ET.fromstring(picture).iter(f"{SVG}text") if kind in (text.get("class") or "").split()
    ]


def test_the_picture_is_the_timeline_of_the_sandbox(cli):
    picture = exported(cli, "svg", TWO)
    assert pieces(picture, "prefill") == [("A", 0), ("=B", 2), ("=B", 3)]
    assert pieces(picture, "decode") == [("A", 1), ("=B", 4)]
    assert pieces(picture, "wait") == [("=B", 0), ("=B", 1)]
    assert texts(picture, "tick") == ["0", "1", "2", "3", "4"]
    told = [text.text for text in ET.fromstring(picture).iter(f"{SVG}text")]
    assert {"budget 8", "blocks of 9999", "running, most 1", "waiting, most 1", "two: 5 steps, finished"} <= set(told)


def test_what_is_computed_again_is_no_decode_and_a_cache_hit_has_a_ribbon(cli):
    picture = exported(cli, "svg", AGAIN)
    assert pieces(picture, "recompute") == pieces(picture, "hatch") == [("B", 9)]
    assert pieces(picture, "slash") == [("B", 5)]
    shared = [
        {"id": "A", "prompt_tokens": 9, "output_tokens": 2, "prefix": [["s", 8]]},
        {"id": "B", "arrival_step": 2, "prompt_tokens": 12, "output_tokens": 2, "prefix": [["s", 8]]},
    ]
    config = AGAIN["config"] | {"num_gpu_blocks": 40, "enable_prefix_caching": True}
    assert pieces(exported(cli, "svg", {"config": config, "requests": shared}), "ribbon") == [("B", 2)]


def test_a_second_chunk_of_what_is_computed_again_is_no_decode_either(cli):
    config = AGAIN["config"] | {"max_num_batched_tokens": 8, "enable_chunked_prefill": True}
    picture = exported(cli, "svg", AGAIN | {"config": config})
    again = pieces(picture, "recompute")
    assert [request_id for request_id, _ in again] == ["B", "B"]
    assert not set(again) & set(pieces(picture, "decode"))


def test_a_trace_alone_gives_the_same_picture_but_for_what_it_cannot_tell(cli):
    trace = cli("trace", "-", stdin=json.dumps(AGAIN).encode()).values[0]
    of_scenario, of_trace = exported(cli, "svg", AGAIN), exported(cli, "svg", trace)
    for kind in ("prefill", "decode", "recompute", "wait", "slash"):
        assert pieces(of_trace, kind) == pieces(of_scenario, kind)
    told = [text.text for text in ET.fromstring(of_trace).iter(f"{SVG}text")]
    assert {"tokens, most 16", "blocks of 6 seen"} <= set(told)


def test_part_of_a_trace_keeps_its_numbers_and_whoever_leaves_is_gone(cli):
    document = AGAIN | {
        "requests": [*AGAIN["requests"], {"id": "C", "prompt_tokens": 4, "output_tokens": 1, "abort_step": 3}]
    }
    trace = cli("trace", "-", stdin=json.dumps(document).encode()).values[0]
    picture = exported(cli, "svg", trace | {"steps": trace["steps"][2:]})
    assert texts(picture, "tick")[:3] == ["2", "3", "4"]
    assert [step for request_id, step in pieces(picture, "wait") if request_id == "C"] == [0]


def test_many_steps_are_stretches_and_have_numbers_where_they_fit(cli):
    config = AGAIN["config"] | {"max_model_len": 512, "num_gpu_blocks": 200}
    long = {"config": config, "requests": [{"id": "A", "prompt_tokens": 30, "output_tokens": 100}]}
    picture = exported(cli, "svg", long)
    assert texts(picture, "tick") == [str(n) for n in range(0, 100, 10)]
    drawn = {path.get("class"): path.get("d") for path in ET.fromstring(picture).iter(f"{SVG}path") if path.get("d")}
    assert drawn["limit"] == "M0 22H101"
    stretches = [
        path.get("d") for path in ET.fromstring(picture).iter(f"{SVG}path") if path.get("class") == "long decode"
    ]
    assert "M2 72h99v10h-99z" in stretches


def test_a_character_that_xml_forbids_does_not_break_the_picture(cli):
    odd = {"requests": [{"id": "a\u0001b", "prompt_tokens": 1, "output_tokens": 1}]}
    assert pieces(exported(cli, "svg", odd), "prefill") == [("a\ufffdb", 0)]


def test_a_page_holds_all_of_a_run(cli):
    evil = TWO | {"name": "<script>alert(1)</script>"}
    page = exported(cli, "html", evil)
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "src=" not in page
    assert page.count('role="img"') == 1
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
