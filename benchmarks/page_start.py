"""From navigation to a live figure: the page, a worker alone with the same snapshot, and the start without a snapshot.

    .venv/bin/python -m benchmarks.page_start --rounds 9

One round opens each once, in a new browser, from this machine; a second visit of the page follows in the same browser.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.page_common import launch, make_sites, new_page, serve

BARE_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>bare</title>
<body data-state="static"><div id="figure"></div><script type="module" src="bare.mjs"></script></body></html>
"""
BARE_SCRIPT = """
const worker = new Worker("bare-worker.mjs", { type: "module" });
worker.onmessage = ({ data }) => {
  if (!data.result) return;
  document.getElementById("figure").attachShadow({ mode: "open" }).innerHTML = data.result.parts.join("");
  document.body.dataset.state = "current";
};
"""
BARE_WORKER = """
import { loadPyodide } from "./BOOT";
const python = await loadPyodide();
const handle = python.runPython("from sim.page import handle; handle");
const values = { D: 10, P: 24, B: 16, M: 32, policy: "decode-first", chunked_prefill: true };
postMessage(JSON.parse(handle(JSON.stringify({ do: "render", figure: "one-step", language: "en", values }))));
"""
LIVE = {
    "page": "() => whenState(document.querySelector('batch-loom'), 'data-state', ['current'])",
    "bare": "() => whenState(document.body, 'data-state', ['current'])",
}


def measure(page: Page, address: str, kind: str) -> float:
    """Milliseconds from navigation until the first figure is live."""
    page.goto(address)
    return float(page.evaluate(LIVE[kind]))


def one_round(url: str, *, with_plain: bool) -> tuple[dict[str, float], list[int]]:
    """Each way once, and the long tasks of the page's main thread."""
    found: dict[str, float] = {}
    tasks: list[int] = []
    cases = {"bare": ("site/bare.html", "bare"), "page": ("site/en/", "page")}
    if with_plain:
        cases["plain"] = ("plain/en/", "page")
    with sync_playwright() as playwright:
        for name, (path, kind) in cases.items():
            with launch(playwright) as browser:
                page = new_page(browser)
                found[name] = measure(page, url + path, kind)
                if name == "page":
                    tasks = page.evaluate("watched.tasks")
                    found["again"] = measure(page, url + path, kind)
    return found, tasks


def main() -> None:
    """Print every round, then medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--without-plain", action="store_true", help="leave out the start without a snapshot: it is slow"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as url:
        make_sites(Path(folder))
        (boot,) = (Path(folder) / "site").glob("vendor/*/pyodide/boot.mjs")
        worker = BARE_WORKER.replace("BOOT", boot.relative_to(Path(folder) / "site").as_posix())
        for name, text in {"bare.html": BARE_PAGE, "bare.mjs": BARE_SCRIPT, "bare-worker.mjs": worker}.items():
            (Path(folder) / "site" / name).write_text(text, "utf-8")
        all_found, all_tasks = [], []
        for number in range(arguments.rounds):
            found, tasks = one_round(url, with_plain=not arguments.without_plain)
            all_found.append(found)
            all_tasks += tasks
            print(number, {name: round(value) for name, value in found.items()}, "long tasks", tasks, flush=True)
    medians = {name: statistics.median(found[name] for found in all_found) for name in all_found[0]}
    for name, value in medians.items():
        ratio = statistics.median(found[name] / found["bare"] for found in all_found)
        print(f"{name:<6} {value:>7.0f} ms  {ratio:.2f} times bare")
    print(f"tasks over 50 ms on the page's main thread: {len(all_tasks)}, the longest {max(all_tasks, default=0)} ms")


if __name__ == "__main__":
    main()
