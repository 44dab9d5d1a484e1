"""The gallery: what each preset says is so, in both languages and under every driver; and a bad preset is named."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from build import read_catalogs
from scripts.presets import TOPICS, Preset, PresetError, View, read_presets
from sim import fast
from sim.engine import simulate
from sim.figures.words import Words
from sim.metrics import summarize
from sim.sandbox.controls import CONTROLS
from sim.sandbox.run import document
from sim.scenario import parse_scenario
from tests.languages import numbers

ROOT = Path(__file__).resolve().parents[2]
PRESETS = read_presets(ROOT / "site" / "presets")
VIEWS = {view.scenario["name"]: view for preset in PRESETS for view in (preset.view, preset.variant) if view}
HAN = "[\u3400-\u9fff]"
EXAMPLE = """
topic = "basics"
step = 1
requests = [{ id = "A", prompt_tokens = 2, output_tokens = 3 }]

[config]
max_num_seqs = 4

[expect]
"outcome" = "finished"
"steps.1.scheduled" = { A = 1 }

[en]
title = "a"
question = "b"
look = "c"
answer = "d"

[zh]
title = "一"
question = "问"
look = "看"
answer = "答"
"""


def find(data: Any, path: str) -> Any:
    """What stands at a path such as `steps.2.why.C`."""
    for key in path.split("."):
        data = data[int(key) if isinstance(data, list) else key]
    return data


@pytest.mark.parametrize("driver", ["plain", "fast", "awake"])
@pytest.mark.parametrize("name", VIEWS)
def test_what_a_preset_says_is_so(name: str, driver: str) -> None:
    view = VIEWS[name]
    scenario = parse_scenario(view.scenario)
    if driver != "plain" and not fast.applies(scenario):
        pytest.skip("the fast driver does not know all rules of this scenario")
    trace = simulate(scenario, driver=driver)
    run = trace.to_json(explain=True)
    if trace.error is None:
        run["summary"] = summarize(trace, scenario).to_json()
    assert {path: find(run, path) for path in view.expect} == view.expect
