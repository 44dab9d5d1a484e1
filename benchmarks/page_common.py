"""What the benchmarks of the page share: a built site, a server, a new browser each time, percentiles."""

import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, Playwright

import build
from scripts.chromium import find_chromium
from scripts.serve import Server

WATCH = """
window.watched = { tasks: [], inputs: [], answers: [] };
const { watched } = window;
new PerformanceObserver((list) => watched.tasks.push(...list.getEntries().map((entry) => Math.round(entry.duration))))
  .observe({ type: "longtask", buffered: true });
window.whenState = (element, attribute, states) => new Promise((resolve) => {
  const look = () => { if (states.includes(element.getAttribute(attribute))) resolve(performance.now()); };
  new MutationObserver(look).observe(element, { attributes: true });
  look();
});
"""
"""Put into every page before its own scripts."""


def make_sites(folder: Path) -> None:
    """Build the site as `site`, and a copy as `plain` that starts without the snapshot."""
    build.build(folder / "site")
    shutil.copytree(folder / "site", folder / "plain")
    (runtime,) = (folder / "plain" / "vendor").glob("*/pyodide/runtime.mjs")
    lines = runtime.read_text("utf-8").splitlines()
    kept = ["export const SNAPSHOT = null;" if "SNAPSHOT" in line else line for line in lines]
    runtime.write_text("\n".join(kept), "utf-8")
    for packed in runtime.parent.glob("runtime.mjs.*"):
        packed.unlink()


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The address of a folder, ending in a slash."""
    with Server(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join()


def launch(playwright: Playwright) -> Browser:
    """A new browser, with nothing cached."""
    return playwright.chromium.launch(executable_path=find_chromium(), chromium_sandbox=os.geteuid() != 0)


def new_page(browser: Browser) -> Page:
    """A desktop window in a profile of its own."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.add_init_script(WATCH)
    return page


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that `percent` percent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
