"""The sandbox under the hand: from an input event to the new picture, for a change of a parameter and for scrubbing.

    .venv/bin/python -m benchmarks.page_sandbox --moves 200

A change runs the scenario anew: 50 requests, about 500 steps. Scrubbing is a drag over the timeline of 200 requests and
about 5,000 steps. `swapped` and `painted` are as in `benchmarks.page_answers`.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, sync_playwright

from benchmarks.page_answers import RECORD, report
from benchmarks.page_common import launch, make_sites, new_page, serve

TAKE = """(figure, values) => {
  figure.form.elements.enable_prefix_caching.checked = false;
  for (const [name, value] of Object.entries(values)) figure.form.elements[name].value = value;
  figure.form.dispatchEvent(new Event("input", { bubbles: true }));
}"""


def scenario(num_requests: int, num_steps: int) -> dict[str, Any]:
    """Values of the form for so many requests, spread over about so many steps."""
    every, length = num_steps // (num_requests + 1), num_steps * 20 // num_requests
    requests = [
        {"id": f"r{n}", "arrival_step": n * every, "prompt_tokens": 150 + n % 7 * 40, "output_tokens": length}
        for n in range(num_requests)
    ]
    config = {"max_num_batched_tokens": 256, "max_num_seqs": 64, "max_model_len": 4096, "num_gpu_blocks": 4000}
    return config | {"block_size": 16, "requests": json.dumps(requests)}


def change(page: Page, figure: Locator, moves: int) -> None:
    """Turns a number of the configuration up and down."""
    field = figure.locator('input[name="max_num_batched_tokens"]')
    field.focus()
    for number in range(moves):
        page.keyboard.press("ArrowUp" if number % 8 < 4 else "ArrowDown")
        figure.evaluate("(figure) => whenState(figure, 'data-state', ['current'])")


def scrub(page: Page, figure: Locator, moves: int) -> None:
    """Drags over the timeline, to and fro."""
    box = figure.locator("svg[data-scrub]").first.bounding_box()
    if box is None:
        raise SystemExit("the timeline is not to be seen")
    page.mouse.move(box["x"] + 2, box["y"] + 90)
    page.mouse.down()
    for number in range(moves):
        part = abs((number / 40) % 2 - 1)
        page.mouse.move(box["x"] + 2 + part * (box["width"] - 4), box["y"] + 90)
    page.mouse.up()


def main() -> None:
    """Print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=200)
    moves = parser.parse_args().moves
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as url, sync_playwright() as playwright:
        make_sites(Path(folder))
        with launch(playwright) as browser:
            page = new_page(browser)
            page.goto(f"{url}site/en/sandbox/")
            page.evaluate("() => whenState(document.documentElement, 'data-engine', ['ready'])")
            figure = page.locator("batch-loom")
            figure.evaluate(RECORD)
            for way, size, columns in (
                (change, (50, 500), "24"),
                *((scrub, (200, 5000), columns) for columns in ("24", "60", "450", "all")),
            ):
                figure.evaluate(TAKE, scenario(*size) | {"columns": columns, "step": 0})
                figure.evaluate("(figure) => whenState(figure, 'data-state', ['current'])")
                figure.evaluate("(figure) => { figure.times.length = 0; }")
                way(page, figure, moves)
                figure.evaluate("(figure) => whenState(figure, 'data-state', ['current'])")
                page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 50))")
                name = f"{way.__name__} {size[0]}x{size[1]} {columns}"
                report(name, figure.evaluate("(figure) => figure.times"))


if __name__ == "__main__":
    main()
