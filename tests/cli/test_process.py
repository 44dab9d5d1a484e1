"""The command line as a process: pipes, signals, hash seeds; Python alone, nothing installed."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ONE = b'{"name": "one", "requests": [{"id": "A", "prompt_tokens": 6, "output_tokens": 1}]}\n'
LONG = (
    b'{"requests": [{"id": "A", "prompt_tokens": 6, "output_tokens": 10000000}], "config": {"max_model_len": 10000000}}'
)


def test_version(process):
    out, err = process("--version").communicate()
    assert (out, err) == (b"batchloom 0.1.0 (follows vLLM 0.33.0)\n", b"")


def test_real_requests_from_end_to_end(process, azure):
    read = process("import", "azure", azure, stdin=None)
    summed = process("summary", "--json", "-", stdin=read.stdout)
    read.stdout.close()
    out, err = summed.communicate()
    read.stderr.close()
    assert (read.wait(), summed.returncode, err) == (0, 0, b"")
    summary = json.loads(out)
    assert (summary["outcome"], summary["finished"], summary["preemptions"]) == ("finished", 60, 0)
    # The sums of the two columns; each request's last token is made, but not computed.
    assert summary["prefill_tokens"] == 43328
    assert summary["generated_tokens"] == 7301
    assert summary["decode_tokens"] == 7301 - 60


def test_two_hash_seeds_give_the_same_bytes(process, azure, cli):
    scenario = cli("import", "azure", azure, "--rows", "20").out.encode()
    tight = json.loads(scenario) | {"config": {"num_gpu_blocks": 200, "enable_prefix_caching": True}}
    documents = scenario + json.dumps(tight).encode()
    outs = []
    for seed in ("0", "1"):
        done = process("trace", "--explain", "-", environment={"PYTHONHASHSEED": seed})
        out, err = done.communicate(documents)
        assert (done.returncode, err) == (0, b"")
        outs.append(out)
    assert outs[0] == outs[1]
    assert outs[0].count(b"\n") == 2


def test_a_trace_is_there_before_the_next_scenario_is(process):
    with process("trace", "-") as running:
        for _ in range(2):
            running.stdin.write(ONE)
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["name"] == "one"
        running.stdin.close()
        assert running.wait() == 0


def test_a_reader_that_goes_away(process):
    with process("trace", "-") as running:
        running.stdin.write(ONE)
        running.stdin.flush()
        running.stdout.readline()
        running.stdout.close()
        running.stdin.write(ONE * 3)
        running.stdin.close()
        assert running.stderr.read() == b""
        assert running.wait() == 141


def listen_to_interrupts():
    """A program started in the background ignores them, and so would what it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt(process):
    with process("trace", "-", preexec_fn=listen_to_interrupts) as running:
        running.stdin.write(ONE)
        running.stdin.flush()
        # It reads on once this line is here.
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert running.stderr.read() == b""
        assert running.wait() == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_takes_nothing(process):
    with Path("/dev/full").open("wb") as full:
        done = process("trace", "-", stdout=full)
        _, err = done.communicate(ONE)
    assert (done.returncode, err) == (1, b"batchloom: cannot write: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("closed", "status", "message"),
    [
        ("<&-", 2, b"batchloom: <stdin>: cannot be read: standard input is closed\n"),
        (">&-", 1, b"batchloom: standard output is closed\n"),
    ],
)
def test_closed_streams(root, closed, status, message):
    command = f'"$1" -S -m sim trace - {closed}'
    done = subprocess.run(["sh", "-c", command, "sh", sys.executable], cwd=root, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", message)


def test_any_locale(process):
    done = process("trace", "-", environment={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    out, err = done.communicate('{"name": "六步", "requests": []}'.encode())
    assert (done.returncode, err) == (0, b"")
    assert '"name":"六步"'.encode() in out


def test_a_broken_profile_is_told_in_a_line(root, tmp_path):
    shutil.copytree(root / "sim", tmp_path / "sim", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "sim" / "profiles" / "mine.json").write_text('{"name": ')
    command = [sys.executable, "-m", "sim", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("batchloom: mine.json: is no JSON: ")
    assert done.stderr.count("\n") == 1
