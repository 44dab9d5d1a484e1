"""A sweep as one HTML file that needs nothing else: pictures over several pairs of numbers, a table, the scenario."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..figures.frontier import VARIED, View, draw_chart, draw_table
from ..figures.html import element, escape
from ..figures.words import Words
from ..frontier import is_in_time, runs_of
from ..points import Point, Result
from .html import STYLE, page, part

PAIRS = (("throughput", "ttft_p99"), ("throughput", "itl_p99"), ("throughput", "e2e_p99"), ("ttft_p99", "itl_p99"))
KEY_PAIRS = ((VARIED, "ttft_p99"), (VARIED, "itl_p99"), (VARIED, "throughput"))
"""Drawn first where only one key is varied."""

COLOURS = """:root{--ink:#1d2126;--ink-2:#545d68;--rule:#dcd9d1;--card:#fff;--paper:#fff;--band:#e6edf3;
--idle:#858e9b;--focus:#0a5c94;--a:#0072b2;--b:#c45000}body{color:var(--ink)}
h2{margin-block:2.5rem 0;font-size:1.15rem}
"""


def sweep_html(
    document: Mapping[str, Any], points: Sequence[Point], results: Sequence[Result], words: Words, style: str
) -> str:
    """The file.

    Args:
        document: the scenario, in the form of the contract.
        points: what was set in each run.
        results: of `run_point`, one for each.
        words: in which language.
        style: the style sheet of sweeps.

    Raises:
        ConfigError: see `frontier.runs_of`.
    """
    runs = runs_of(document, points, results)
    view = View(words, is_in_time(document), opens=False)
    pairs = (*KEY_PAIRS, *PAIRS) if len(points[0]) == 1 else PAIRS
    title = f"{document.get('name') or 'sweep'} · Batchloom"
    parts = [element("h1", None, escape(title))]
    for x, y in pairs:
        across = next(iter(points[0])) if x == VARIED else words(f"sweep.metric.{x}")
        head = words("sweep.pair", x=across, y=words(f"sweep.metric.{y}"))
        parts += [element("h2", None, escape(head)), draw_chart(runs, x, y, view)]
    parts.append(draw_table(runs, view))
    parts.append(part("Scenario", element("pre", None, escape(json.dumps(document, indent=1)))))
    return page(title, STYLE + COLOURS + style, parts)
