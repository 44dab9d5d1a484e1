"""What the form of the sandbox sets: the configuration, the requests as JSON, and what is looked at."""

import json
from collections.abc import Mapping
from typing import Any

from ..parameter import Parameter, Value
from ..parameters import CONFIG
from .lanes import EVENTS

MAX_TEXT = 20_000_000
"""Most characters of the requests as JSON: a trace of 100,000 requests is shorter."""
COLUMNS = ("1", "12", "24", "60", "150", "450", "1800", "all")
"""How many steps the timeline shows at once."""
ROWS = 24
"""Requests that it shows at once."""
MAX_STEPS = 10_000_000

REQUESTS = (
    {"id": "A", "prompt_tokens": 10, "output_tokens": 14, "prefix": [["system", 8]]},
    {"id": "B", "arrival_step": 1, "prompt_tokens": 22, "output_tokens": 6, "prefix": [["system", 8]]},
    {"id": "C", "arrival_step": 2, "prompt_tokens": 12, "output_tokens": 12, "prefix": [["system", 8]]},
    {"id": "D", "arrival_step": 3, "prompt_tokens": 18, "output_tokens": 5},
    {"id": "E", "arrival_step": 5, "prompt_tokens": 9, "output_tokens": 8, "prefix": [["system", 8]]},
    {"id": "F", "arrival_step": 6, "prompt_tokens": 26, "output_tokens": 4},
)
"""The requests that the page starts with: they share a prefix, run out of blocks, and are preempted."""
FIRST_CONFIG: dict[str, Value] = {
    "max_num_batched_tokens": 16,
    "max_num_seqs": 4,
    "max_model_len": 64,
    "block_size": 4,
    "num_gpu_blocks": 16,
    "enable_prefix_caching": True,
}

NAME = Parameter("name", "text", "sandbox", "Name of the scenario.", "场景的名称。", maximum=200)
REQUEST_LIST = Parameter(
    "requests", "text", "", "The requests as JSON, a list of objects.", "请求列表，JSON格式。", maximum=MAX_TEXT
)
STEP = Parameter(
    "step",
    "int",
    4,
    "Step of the timeline that is looked at.",
    "正在查看的步。",
    minimum=0,
    maximum=MAX_STEPS,
    unit="steps",
)
VIEW = (
    STEP,
    Parameter("columns", "choice", "24", "Steps shown at once.", "一次显示的步数。", choices=COLUMNS),
    Parameter(
        "row", "int", 0, "First request shown.", "显示的第一个请求。", minimum=0, maximum=MAX_STEPS, unit="requests"
    ),
    Parameter("request", "text", "", "Request that always has a row.", "始终占有一行的请求。", maximum=200),
    Parameter("event", "choice", "any", "What N goes to.", "N键跳到哪一类事件。", choices=("any", *EVENTS)),
)
BASELINE = Parameter(
    "baseline",
    "text",
    "",
    "A second configuration as JSON, on the same requests; empty for none.",
    "在同样的请求上比较的第二份配置，JSON格式；留空则不比较。",
    maximum=10_000,
)
CONTROLS = (*CONFIG, NAME, REQUEST_LIST, BASELINE, *VIEW)


def list_text(requests: object) -> str:
    """Requests as JSON, one on a line."""
    assert isinstance(requests, list | tuple)
    return "[" + ",\n ".join(json.dumps(request, ensure_ascii=False) for request in requests) + "]"


def values_of(scenario: Mapping[str, Any]) -> dict[str, Value]:
    """The value of each control for a scenario in the form of the contract, which must be a valid one."""
    values = {parameter.name: parameter.default for parameter in CONTROLS} | {"step": 0}
    named = {"name": scenario.get("name") or NAME.default, "requests": list_text(scenario["requests"])}
    config: dict[str, Value] = scenario.get("config", {})
    return values | config | named


def first_values() -> dict[str, Value]:
    """The value of each control that the page starts with."""
    return values_of({"config": FIRST_CONFIG, "requests": REQUESTS}) | {"step": STEP.default}
