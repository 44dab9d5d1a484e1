"""The project's side of `server.py`: asks the real scheduler for a trace."""

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HERE = Path(__file__).parent


class RealScheduler:
    """The server as a context manager.

    Args:
        venv: the virtual environment that `setup.sh` made.
    """

    def __init__(self, venv: Path) -> None:
        self._command = [venv / "bin" / "python", HERE / "server.py"]
        self.engine = ""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.engine = self._receive()["engine"]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def trace(self, scenario: dict[str, Any], max_steps: int) -> dict[str, Any]:
        """What the real scheduler makes of `scenario`, cut before `max_steps`."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"scenario": scenario, "max_steps": max_steps}) + "\n")
        self._process.stdin.flush()
        return self._receive()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the real scheduler ended with status {self._process.wait()}: {self._command}")
        answer: dict[str, Any] = json.loads(line)
        return answer
