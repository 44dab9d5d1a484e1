"""`sweep`: every point once, in order, the same wherever it runs and after a kill."""

import csv
import json
import re
import signal
import subprocess
import sys
from html import unescape

import numpy as np
import pytest
from babel.messages.pofile import read_po

from sim.cli import catalog
from sim.errors import ConfigError
from sim.points import METRICS, document_at
from sim.sweep import points, run, table
from sim.sweep.progress import Progress

SCENARIO = {
    "name": "small",
    "config": {"max_num_batched_tokens": 64, "max_num_seqs": 4, "max_model_len": 64},
    "requests": [
        {"id": f"r{i}", "arrival_step": 3 * i, "prompt_tokens": 5 + 7 * i % 20, "output_tokens": 2 + i % 5}
        for i in range(12)
    ],
}
VARY = ("--vary", "max_num_seqs=1,4", "--vary", "policy=fcfs,priority")


@pytest.fixture
def scenario(file):
    return file(json.dumps(SCENARIO), "small.json")


def test_every_combination_in_order(cli, scenario):
    done = cli("sweep", scenario, *VARY, "--replicas", "2", "--jobs", "1")
    assert (done.status, done.err) == (0, "")
    header, *lines = done.out.split("\n")
    assert header == ",".join(["max_num_seqs", "policy", "replica", "outcome", *METRICS])
    assert [line.rsplit(",", len(METRICS))[0] for line in lines] == [
        *("1,fcfs,0,finished", "1,fcfs,1,finished", "1,priority,0,finished", "1,priority,1,finished"),
        *("4,fcfs,0,finished", "4,fcfs,1,finished", "4,priority,0,finished", "4,priority,1,finished"),
        "",
    ]


def test_numbers_are_those_of_a_summary(cli, scenario):
    header, line = cli("sweep", scenario, "--vary", "max_num_seqs=2", "--jobs", "1").out.splitlines()
    found = dict(zip(header.split(","), line.split(","), strict=True))
    changed = SCENARIO | {"config": SCENARIO["config"] | {"max_num_seqs": 2}}
    (summary,) = cli("summary", "--json", "-", stdin=json.dumps(changed).encode()).values
    assert {name: int(found[name]) for name in ("steps", "waiting_max", "generated_tokens")} == {
        name: summary[name] for name in ("steps", "waiting_max", "generated_tokens")
    }
    assert int(found["ttft_steps_p99"]) == summary["ttft_steps"]["p99"]
    assert (found["duration_us"], found["itl_us_p50"]) == ("-1", "-1")


def test_all_cores_give_what_one_gives(cli, scenario, tmp_path):
    one = cli("sweep", scenario, *VARY, "--jobs", "1").out
    out = tmp_path / "out.csv"
    done = cli("sweep", scenario, *VARY, "--jobs", "2", "-o", out)
    assert (done.status, done.out, done.err) == (0, "", "")
    assert out.read_bytes() == one.encode()
    assert set(tmp_path.iterdir()) == {scenario, out}


def test_a_cluster_gives_what_one_core_gives(cli, scenario):
    distributed = pytest.importorskip("distributed")
    one = cli("sweep", scenario, *VARY, "--jobs", "1").out
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, protocol="tcp", host="127.0.0.1"
    ) as cluster:
        done = cli("sweep", scenario, *VARY, "--dask", cluster.scheduler_address)
    assert (done.status, done.out) == (0, one)


def test_a_trace_of_requests_in_time_at_several_rates(cli, azure):
    done = cli("sweep", azure, "--vary", "rate=1:9:4", "--jobs", "1")
    assert (done.status, done.err) == (0, "")
    rows = [line.split(",") for line in done.out.splitlines()]
    assert [row[0] for row in rows[1:]] == ["1", "5", "9"]
    durations = [int(row[rows[0].index("duration_us")]) for row in rows[1:]]
    assert durations == sorted(durations, reverse=True)
    assert min(durations) > 0


KILLED = """
import os, signal
from sim.cli import main
from sim.sweep.progress import Progress

add = Progress.add

def add_and_die(self, index, result):
    add(self, index, result)
    if len(self.done) == 3:
        os.kill(os.getpid(), signal.SIGKILL)

Progress.add = add_and_die
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_sweep_goes_on_where_it_was(cli, scenario, tmp_path, root, monkeypatch):
    whole = cli("sweep", scenario, *VARY, "--replicas", "2", "--jobs", "1").out
    out = tmp_path / "out.csv"
    words = ["sweep", str(scenario), *VARY, "--replicas", "2", "--jobs", "1", "-o", str(out)]
    killed = subprocess.run([sys.executable, "-c", KILLED, *words], cwd=root, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    kept = tmp_path / "out.csv.progress"
    assert len(kept.read_text().splitlines()) == 1 + 3
    kept.write_text(kept.read_text() + '{"index": 3, "resu')
    ran = []
    run_point = points.run_point
    monkeypatch.setattr(run, "run_point", lambda document, point: ran.append(point) or run_point(document, point))
    assert cli(*words).status == 0
    assert len(ran) == 8 - 3
    assert out.read_text() == whole
    assert not kept.exists()


def test_progress_of_something_else(tmp_path):
    path = tmp_path / "kept"
    Progress(path, "one").add(0, {"steps": 3})
    assert Progress(path, "one").done == {0: {"steps": 3}}
    with pytest.raises(ConfigError, match="holds points of another sweep, remove it"):
        Progress(path, "two")
    path.write_text('{"sweep": "one"}\n{"index": 0}\n')
    with pytest.raises(ConfigError, match=":2: is no finished point, remove it"):
        Progress(path, "one")
    path.write_text('{"swe')
    assert Progress(path, "one").done == {}


def test_a_refused_point_has_no_numbers(cli, scenario):
    lines = cli("sweep", scenario, "--vary", "max_num_batched_tokens=3,64", "--jobs", "1").out.splitlines()
    assert lines[1] == "3,0,refused" + ",-1" * len(METRICS)
    assert lines[2].startswith("64,0,finished,12,12,")


def test_a_replica_has_the_same_arrivals_and_other_requests_there():
    requests = points.shuffled(SCENARIO["requests"], 1)
    assert requests == points.shuffled(SCENARIO["requests"], 1)
    assert [request["arrival_step"] for request in requests] == [3 * i for i in range(12)]
    assert [request["id"] for request in requests] != [request["id"] for request in SCENARIO["requests"]]
    assert {request["id"] for request in requests} == {request["id"] for request in SCENARIO["requests"]}
    assert points.shuffled(SCENARIO["requests"], 0) == SCENARIO["requests"]
    assert document_at(SCENARIO, {"rate": 2})["requests"][3]["arrival_step"] == 4


def test_pictures_in_one_file(cli, scenario, tmp_path):
    out = tmp_path / "out.html"
    done = cli("sweep", scenario, "--vary", "max_num_seqs=1,2,4", "--jobs", "1", "--html", out)
    assert (done.status, done.err, len(done.out.splitlines())) == (0, "", 4)
    text = out.read_text("utf-8")
    assert text.count("<svg ") == 7
    assert "<h2>TTFT p99 against max_num_seqs</h2>" in text
    assert text.count('aria-label="max_num_seqs = 2: ') == 7
    assert text.count("<button") + text.count("data-set") + text.count("<script") == 0
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids)) == 8
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    (pre,) = re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL)
    assert json.loads(unescape(pre)) == SCENARIO
    assert cli("sweep", scenario, *VARY, "--replicas", "2", "--jobs", "1", "--html", out).status == 0
    text = out.read_text("utf-8")
    assert text.count("<svg ") == 4
    assert 'aria-label="max_num_seqs = 4, policy = fcfs, replica = 1: ' in text


def test_pictures_need_a_checkout(cli, scenario, tmp_path, monkeypatch):
    monkeypatch.setattr(catalog, "SITE", tmp_path)
    done = cli("sweep", scenario, *VARY, "--jobs", "1", "--html", tmp_path / "out.html")
    problem = "--html: needs a checkout of Batchloom: site/locales/en.po cannot be read"
    assert (done.status, done.out, done.err) == (2, "", f"batchloom: {problem}\n")


def test_words_are_those_of_the_catalogue(root):
    for name in ("en.po", "sweep.en.po"):
        path = root / "site" / "locales" / name
        with path.open("rb") as file:
            expected = {str(message.id): str(message.string) for message in read_po(file) if message.id}
        assert catalog.messages_of(path.read_text("utf-8")) | expected == expected | {"": ""}


def test_the_table_is_a_structured_array():
    settings = [{"watermark": 0.5, "async_scheduling": True, "max_loras": None, "replica": 0}]
    array = table.to_array(settings, [{"outcome": "finished"} | dict.fromkeys(METRICS, 7)])
    assert array.dtype["watermark"] == np.float64
    assert array.dtype["steps"] == np.int64
    assert (array["max_loras"][0], array["steps"][0]) == ("null", 7)
    assert table.to_csv(array).splitlines()[1].startswith("0.5,true,null,0,finished,7,")


def test_parquet_holds_what_the_table_holds(cli, scenario, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    kinds = (*VARY, "--vary", "watermark=0,0.5", "--vary", "async_scheduling=true", "--vary", "max_loras=null,2")
    written = {suffix: tmp_path / f"out.{suffix}" for suffix in ("csv", "parquet")}
    for out in written.values():
        assert cli("sweep", scenario, *kinds, "--jobs", "1", "-o", out).status == 0
    names, *rows = csv.reader(written["csv"].read_text().splitlines())
    found = parquet.read_table(written["parquet"])
    assert found.column_names == names
    assert [str(kind) for kind in found.schema.types[:5]] == ["int64", "string", "double", "bool", "string"]
    assert [[str(value).lower() for value in row.values()] for row in found.to_pylist()] == rows


def test_parquet_says_how_to_get_it(cli, scenario, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = cli("sweep", scenario, *VARY, "--jobs", "1", "-o", tmp_path / "out.parquet")
    assert (done.status, done.err) == (2, "batchloom: -o: Parquet needs the package pyarrow: pip install pyarrow\n")


def test_without_packages_it_says_so(process, scenario):
    done = process("sweep", scenario, *VARY)
    assert done.communicate()[1] == b"batchloom: sweep: needs the package joblib: pip install joblib numpy\n"
    assert done.returncode == 2


class Terminal:
    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_a_bar_on_a_terminal(cli, scenario, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert cli("sweep", scenario, *VARY, "--jobs", "1").status == 0
    drawn = terminal.text.split("\r")[1:]
    assert drawn[0] == f"[{'.' * 30}] 0 of 4"
    assert drawn[-1] == f"[{'#' * 30}] 4 of 4\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--vary", "max_num_seqs"), '--vary: "max_num_seqs" is not allowed, must be KEY=VALUE,VALUE,... or '),
        (("--vary", "seqs=1"), "--vary seqs: unknown key, must be one of max_num_batched_tokens, "),
        (("--vary", "max_num_seqs=0,1"), "--vary max_num_seqs: 0 is not allowed, must be an integer from 1 to "),
        (("--vary", "max_num_seqs=1,1"), '--vary max_num_seqs: "1,1" is not allowed, must be different values'),
        (("--vary", "max_num_seqs=1:4:0"), '--vary max_num_seqs: "1:4:0" is not allowed, must be FIRST:LAST:STEP'),
        (("--vary", "max_num_seqs=4:1:1"), '--vary max_num_seqs: "4:1:1" is not allowed, must be different values'),
        (("--vary", "max_num_seqs=1:9999999:1"), "--vary max_num_seqs: 9999999 values are too many, at most 1000000"),
        (("--vary", "rate=1", "--vary", "rate=2"), "--vary rate: given twice, must be given once"),
        (("--vary", "rate=1:1000:1", "--replicas", "1001"), "--vary: 1001000 points are too many, at most 1000000"),
        (("--vary", "rate=1", "-o", "out.txt"), '-o: "out.txt" is not allowed, must end in .csv or .parquet'),
        (("--vary", "rate=1:1001:1", "--html", "x"), "--html: 1001 points are too many to draw, at most 1000"),
        (("--vary", "rate=1", "--dask", "here:x"), '--dask: no cluster answers at "here:x": '),
    ],
)
def test_what_cannot_be_swept(cli, scenario, words, problem):
    done = cli("sweep", scenario, *words)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"batchloom: {problem}")


def test_a_sweep_is_of_one_scenario(cli, file):
    two = file(f"{json.dumps(SCENARIO)}\n{json.dumps(SCENARIO)}\n")
    done = cli("sweep", two, "--vary", "rate=1", "--jobs", "1")
    assert (done.status, done.err) == (2, f"batchloom: {two}:2: a second scenario, a sweep is of one\n")
    none = cli("sweep", "-", "--vary", "rate=1", stdin=b"{}")
    assert none.err.startswith("batchloom: <stdin>:1: requests: missing, must be a list of requests")
