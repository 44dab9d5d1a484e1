"""Records the real scheduler: scenarios in, lines of `{"scenario", "trace"}` out, as in `tests/golden`.

python -m oracle.trace --venv DIR FILE > recordings.jsonl
"""

import argparse
import json
import sys
from pathlib import Path

from oracle.client import HERE, RealScheduler


def main() -> None:
    """Record every scenario of a file: JSON Lines, one scenario a line."""
    parser = argparse.ArgumentParser(prog="python -m oracle.trace", description=__doc__.partition("\n")[0])
    parser.add_argument("--venv", type=Path, default=HERE / ".venv", help="virtual environment with vLLM")
    parser.add_argument("--max-steps", type=int, default=1500, help="cut before this step")
    parser.add_argument("file", type=Path, help="scenarios, one a line")
    options = parser.parse_args()
    with RealScheduler(options.venv) as real:
        for line in options.file.read_text("utf-8").splitlines():
            scenario = json.loads(line)
            recording = {"scenario": scenario, "trace": real.trace(scenario, options.max_steps)}
            sys.stdout.write(json.dumps(recording, separators=(",", ":"), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
