"""How Python starts: from the snapshot, and without it when it is missing, damaged or of another build."""

import gzip
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

OpenPage = Callable[..., Page]
WaitReady = Callable[..., Page]
Announce = Callable[[str], None]
Change = Callable[[bytes], bytes]

NOT_AT_START = ("python_stdlib.zip", "sim.zip")
"""What only the start without a snapshot downloads."""

IN_A_PLAIN_WORKER = """async (program) => {
    const boot = new URL("../VENDOR/pyodide/boot.mjs", location.href).href;
    const code = `
        import { loadPyodide } from ${JSON.stringify(boot)};
        const python = await loadPyodide();
        postMessage({ answer: python.runPython(${JSON.stringify(program)}) });
    `;
    const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })), { type: "module" });
    return new Promise((resolve, reject) => {
        worker.onerror = (event) => reject(new Error(event.message));
        worker.onmessage = ({ data }) => { if ("answer" in data) resolve(data.answer); };
    });
}"""

IMPORTS = """
import importlib, json, sys
told = {}
for name in ("sim.page", "sim.engine", "colorsys", "xml.dom.minidom", "unittest.mock", "not_there", "json.not_there"):
    try:
        importlib.import_module(name)
    except ImportError as error:
        told[name] = type(error).__name__
    else:
        told[name] = "found"
json.dumps(told)
"""


@pytest.fixture
def asked(page: Page) -> list[str]:
    """The names of the files that the page and its workers ask for."""
    names: list[str] = []
    page.context.on("request", lambda request: names.append(request.url.rpartition("/")[2]))
    return names


def test_starts_from_the_snapshot_alone(page: Page, asked: list[str], wait_ready: WaitReady) -> None:
    page.goto("en/")
    wait_ready(page)
    assert "app.snap.gz" in asked
    assert set(NOT_AT_START) & set(asked) == set()
    # The answer comes from the engine that was restored.
    answer = page.evaluate("() => window.batchloom.onestep({ D: 16 })")
    assert answer["decode"] == 16


def test_modules_that_the_snapshot_lacks_are_found_when_imported(page: Page, asked: list[str], vendor: str) -> None:
    page.goto("en/embed/one-step/")
    told = json.loads(page.evaluate(IN_A_PLAIN_WORKER.replace("../VENDOR", f"../../../{vendor}"), IMPORTS))
    assert told == {
        "sim.page": "found",
        "sim.engine": "found",
        "colorsys": "found",
        "xml.dom.minidom": "found",
        "unittest.mock": "found",
        "not_there": "ModuleNotFoundError",
        "json.not_there": "ModuleNotFoundError",
    }
    assert asked.count("python_stdlib.zip") == 1


def cut(snapshot: bytes) -> bytes:
    """Half of it."""
    return snapshot[: len(snapshot) // 2]


def damage(snapshot: bytes) -> bytes:
    """One bit is another."""
    changed = bytearray(snapshot)
    changed[len(changed) // 2] ^= 1
    return bytes(changed)


def of_another_build(snapshot: bytes) -> bytes:
    """A whole file, packed well, with other contents."""
    return gzip.compress(gzip.decompress(snapshot)[:-1] + b"!", 1, mtime=0)


@pytest.mark.parametrize("change", [cut, damage, of_another_build, None])
def test_bad_snapshot_is_found_before_it_is_used(
    page: Page, asked: list[str], site_dir: Path, vendor: str, wait_ready: WaitReady, change: Change | None
) -> None:
    snapshot = (site_dir / vendor / "pyodide" / "app.snap.gz").read_bytes()
    if change is None:
        page.route("**/app.snap.gz", lambda route: route.fulfill(status=404, body=""))
    else:
        page.route("**/app.snap.gz", lambda route: route.fulfill(body=change(snapshot)))
    page.goto("en/")
    check_plain_start(page, asked, wait_ready)


def test_snapshot_of_another_pyodide_is_refused(
    page: Page, asked: list[str], site_dir: Path, vendor: str, wait_ready: WaitReady
) -> None:
    """Even if the build noted its checksum."""
    folder = site_dir / vendor / "pyodide"
    memory = bytearray(gzip.decompress((folder / "app.snap.gz").read_bytes()))
    memory[16] ^= 1  # where Pyodide keeps its build
    packed = gzip.compress(memory, 1, mtime=0)
    (checksum,) = struct.unpack("<I", packed[-8:-4])
    runtime = re.sub(r'("crc32": )\d+', rf"\g<1>{checksum}", (folder / "runtime.mjs").read_text("utf-8"))
    runtime = re.sub(r'("app.snap.gz": )\d+', rf"\g<1>{len(packed)}", runtime)
    page.route("**/runtime.mjs", lambda route: route.fulfill(content_type="text/javascript", body=runtime))
    page.route("**/app.snap.gz", lambda route: route.fulfill(body=packed))
    page.goto("zh/")
    check_plain_start(page, asked, wait_ready)


def check_plain_start(page: Page, asked: list[str], wait_ready: WaitReady) -> None:
    """The page is ready all the same, and a figure answers."""
    wait_ready(page)
    assert set(NOT_AT_START) <= set(asked)
    figure = page.locator('batch-loom[figure="one-step"]')
    figure.locator('input[name="D"]').fill("16")
    expect(figure).to_have_attribute("data-state", "current")
    expect(figure.locator('output[name="decode"]')).to_have_attribute("data-value", "16")


@pytest.mark.parametrize("name", NOT_AT_START)
def test_start_without_snapshot_names_what_is_missing(
    page: Page, wait_ready: WaitReady, expect_problem: Announce, name: str
) -> None:
    def missing(route: Route) -> None:
        route.fulfill(status=404, body="")

    expect_problem(".")
    page.route("**/app.snap.gz", missing)
    page.route(f"**/{name}", missing)
    page.goto("en/")
    wait_ready(page, "failed")
    expect(page.locator("[data-engine-reason]")).to_contain_text(name)
