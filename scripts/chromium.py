"""Finds a Chromium for the browser tests; run as a script, prints its path."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC_APPS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
SECONDS = 30


def find_chromium() -> str | None:
    """The path of a Chromium that starts: the one that `CHROMIUM` names, or else the first one found, or `None`."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named if _starts(named) else None
    return next((path for path in _candidates() if _starts(path)), None)


def _candidates() -> Iterator[str]:
    yield from filter(None, map(shutil.which, COMMANDS))
    yield from (path for path in MAC_APPS if Path(path).exists())
    own = _playwright_path()
    if own and Path(own).exists():
        yield own


def _playwright_path() -> str | None:
    """Where Playwright keeps the browser that it downloads itself."""
    try:
        with sync_playwright() as playwright:
            return playwright.chromium.executable_path
    except Error:
        return None


def _starts(path: str) -> bool:
    """Whether the program runs at all: a command may be a stub that only says how to install it."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def main() -> int:
    """Prints the path of the Chromium found; exit status 1 when there is none."""
    path = find_chromium()
    if path:
        print(path)
        return 0
    named = os.environ.get("CHROMIUM")
    if named:
        print(f"batchloom: CHROMIUM names '{named}', which does not start", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
