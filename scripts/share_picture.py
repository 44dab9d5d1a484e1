"""Draws the preview pictures of the site from its first figure: `.venv/bin/python scripts/share_picture.py`.

They are drawn ahead, in a browser, and kept in `site/assets/`; draw them again when the figure or its words change.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from build import read_catalog  # noqa: E402 the checkout is on the path only now
from scripts.chromium import find_chromium  # noqa: E402
from sim.figures.html import element, escape  # noqa: E402
from sim.figures.svg import Grid, cells, frame, inner_marks, lane  # noqa: E402
from sim.onestep import onestep  # noqa: E402

WIDTH, HEIGHT = 1200, 630
STYLE = """
body { margin: 0; padding: 64px 76px; background: #fbfaf7; font-family: system-ui, "Noto Sans CJK SC", sans-serif; }
h1 { margin: 0 0 14px; font-size: 68px; letter-spacing: -0.02em; line-height: 1; }
p { margin: 0; color: #545d68; font-size: 33px; line-height: 1.4; max-width: 1040px; }
svg { display: block; width: 920px; height: auto; margin-top: 44px; overflow: visible; }
"""


def page(language: str) -> str:
    """The first figure's frame below the name of the site and what it is."""
    messages = read_catalog(ROOT / "site" / "locales" / f"page.{language}.po")
    step = onestep(10, 24, 16, 32, "decode-first", True)
    grid = Grid(40, 16)
    decode, prefill = range(step.decode), range(step.decode, step.decode + step.prefill)
    drawing = lane(
        cells("decode", grid, decode),
        inner_marks(grid, decode),
        cells("prefill", grid, prefill),
        frame(grid, 16),
        cells("todo", grid._replace(top=80), range(step.prefill, step.prefill + step.prefill_left)),
        cells("prefill", grid._replace(top=80), range(step.prefill)),
        height=160,
    )
    styles = [(ROOT / "site" / "assets" / name).read_text("utf-8") for name in ("page.css", "marks.css")]
    text = escape(messages["page.description"])
    body = element("h1", None, "Batchloom") + element("p", None, text) + drawing
    return f'<html lang="{language}"><style>{"".join(styles)}{STYLE}</style><body>{body}</body></html>'


def main() -> None:
    """Draw both pictures."""
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=find_chromium()) as browser:
        for language in ("en", "zh"):
            window = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            window.set_content(page(language))
            window.screenshot(path=ROOT / "site" / "assets" / f"share-{language}.png")


if __name__ == "__main__":
    main()
