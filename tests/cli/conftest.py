"""The command line, called inside the test's process or as a process of its own."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from sim.cli import main

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"


class Done(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def values(self) -> list:
        """The JSON of each line of the output."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def cli(capsys, monkeypatch):
    """Call `main`; `stdin` is bytes."""

    def call(*arguments, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = main([str(argument) for argument in arguments])
        return Done(status, *capsys.readouterr())

    return call


@pytest.fixture
def process():
    """Start `python -m sim` in the checkout, without installed packages."""

    def start(*arguments, environment: dict[str, str] | None = None, **options) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-S", "-m", "sim", *map(str, arguments)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **(environment or {})}, **(pipes | options))

    return start


@pytest.fixture
def file(tmp_path):
    """Write bytes or text into a file and return its path."""

    def write(content: bytes | str, name: str = "input.json") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def azure() -> Path:
    """The first 60 rows of an Azure trace."""
    return DATA / "azure.first60.csv"
