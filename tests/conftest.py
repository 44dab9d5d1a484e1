"""Fixtures for all tests: the site, built once, and a web server for it."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from scripts.serve import Server

ROOT = Path(__file__).resolve().parent.parent
BASE = "some/folder"
"""The site is served under a path, never at the root: its addresses must all be relative."""

# The same examples in every run, and no failure because a machine is slow.
settings.register_profile("batchloom", derandomize=True, deadline=None, database=None)
settings.load_profile("batchloom")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def site_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    out = tmp_path_factory.mktemp("host") / BASE
    built = subprocess.run(
        [sys.executable, "build.py", "--out", out], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if built.returncode:
        pytest.fail(f"build.py ended with status {built.returncode}:\n{built.stdout}{built.stderr}", pytrace=False)
    return out


@pytest.fixture(scope="session")
def assets(site_dir: Path) -> str:
    """Where the assets are in the site, version included."""
    return _versioned(site_dir, "assets")


@pytest.fixture(scope="session")
def vendor(site_dir: Path) -> str:
    """Where the files of others are."""
    return _versioned(site_dir, "vendor")


def _versioned(site_dir: Path, name: str) -> str:
    (folder,) = (site_dir / name).iterdir()
    return folder.relative_to(site_dir).as_posix()


@pytest.fixture(scope="session")
def site_url(site_dir: Path) -> Iterator[str]:
    """The address of the built site, without a slash at its end: `f"{site_url}/en/"` is the explainer."""
    host = site_dir.parents[BASE.count("/")]
    with Server(host) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server.url + BASE
        server.shutdown()
        thread.join()
