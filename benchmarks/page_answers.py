"""From an input event to the picture: real drags of the mouse and real keys on the sliders of the page.

    .venv/bin/python -m benchmarks.page_answers --moves 200

`swapped` is until the new picture is in the page and laid out, `painted` until the frame that shows it has been made.
"""

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright

from benchmarks.page_common import launch, make_sites, new_page, percentile, serve

RECORD = """(figure) => {
  const times = [];
  let asked = 0;
  figure.shadowRoot.addEventListener("input", (event) => { asked ||= event.timeStamp; }, { capture: true });
  new MutationObserver(() => {
    if (!asked || figure.dataset.state !== "current") return;
    const from = asked;
    asked = 0;
    figure.getBoundingClientRect();
    const swapped = performance.now() - from;
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => times.push([swapped, performance.now() - from]);
      port2.postMessage(0);
    });
  }).observe(figure, { attributes: true, attributeFilter: ["data-state"] });
  figure.times = times;
}"""
SLIDERS = (("one-step", "D"), ("budgets", "B"), ("six-steps", "step"))


def drag(page: Page, slider: Locator, moves: int) -> None:
    """Pulls the slider's handle to and fro."""
    box = slider.bounding_box()
    if box is None:
        raise SystemExit("the slider is not to be seen")
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, middle)
    page.mouse.down()
    for number in range(moves):
        part = abs((number / 20) % 2 - 1)
        page.mouse.move(box["x"] + 8 + part * (box["width"] - 16), middle)
    page.mouse.up()


def press(page: Page, slider: Locator, moves: int) -> None:
    """Walks with the arrow keys, to and fro."""
    slider.focus()
    for number in range(moves):
        page.keyboard.press("ArrowRight" if number // 4 % 2 == 0 else "ArrowLeft")


def report(name: str, times: list[list[float]]) -> None:
    """One line: how many pictures, and percentiles of both times."""
    columns = [f"{name:<24} {len(times):>4} pictures"]
    for title, values in zip(("swapped", "painted"), zip(*times, strict=True), strict=False):
        columns.append(f"{title} p50 {percentile(values, 50):5.1f} p95 {percentile(values, 95):5.1f}")
        columns.append(f"p99 {percentile(values, 99):5.1f} ms")
    print("  ".join(columns), flush=True)


def main() -> None:
    """Print a line for each slider and each way to move it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=200)
    moves = parser.parse_args().moves
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as url, sync_playwright() as playwright:
        make_sites(Path(folder))
        with launch(playwright) as browser:
            page = new_page(browser)
            page.goto(f"{url}site/en/")
            page.evaluate("() => whenState(document.documentElement, 'data-engine', ['ready'])")
            for figure, control in SLIDERS:
                element = page.locator(f'batch-loom[figure="{figure}"]')
                element.scroll_into_view_if_needed()
                element.evaluate(RECORD)
                slider = element.locator(f'input[name="{control}"]')
                slider.scroll_into_view_if_needed()
                for way in (drag, press):
                    element.evaluate("(figure) => { figure.times.length = 0; }")
                    way(page, slider, moves)
                    element.evaluate("(figure) => whenState(figure, 'data-state', ['current'])")
                    page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 50))")
                    report(f"{figure} {control} {way.__name__}", element.evaluate("(figure) => figure.times"))


if __name__ == "__main__":
    main()
