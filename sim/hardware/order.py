"""What a recording is asked to be, and the head that says so; needs no package."""

import os
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, NamedTuple

from .. import VLLM_VERSION, __version__
from ..recordings.recording import FORMAT
from ..scenario import Scenario
from .shapes import Shape

UNPROVED: dict[str, Any] = {"tokens": 0, "against": "nothing: only float32 is exact"}
"""The proof of a recording whose tokens were not compared."""


class Order(NamedTuple):
    """How to record.

    Args:
        backend: `torch` or `vllm`.
        device: `cpu` or `cuda`.
        model: a name of `SHAPES`.
        dtype: `float32` or `bfloat16`.
        repeats: runs that are kept.
        dropped: runs before them that are not: they warm up.
        threads: of a CPU.
    """

    backend: str
    device: str
    model: str = "tiny"
    dtype: str = "float32"
    repeats: int = 15
    dropped: int = 2
    threads: int = 1


def head(
    order: Order,
    document: Mapping[str, Any],
    scenario: Scenario,
    shape: Shape,
    versions: Mapping[str, str],
    config: Mapping[str, Any],
    proof: Mapping[str, Any],
) -> dict[str, Any]:
    """The head of a recording, in the order of its file; `device.name` is to be filled in.

    Args:
        order: what was asked for.
        document: the scenario in the form of the contract, which the recording carries.
        scenario: the same, checked.
        shape: the model.
        versions: of the packages that ran it.
        config: what the engine made of its settings beyond the scenario's.
        proof: what its tokens were compared with, and how many they are.
    """
    settings = {item.name: getattr(scenario.config, item.name) for item in fields(scenario.config)}
    resolved = {key: value for key, value in settings.items() if not isinstance(value, float) and key != "cost_model"}
    kind, name = order.device, ""
    device: dict[str, Any] = {"kind": kind, "name": name}
    if kind == "cpu":
        device |= {"threads": order.threads, "cores": os.cpu_count() or 1}
    return {
        "format": FORMAT,
        "name": scenario.name or "unnamed",
        "backend": order.backend,
        "device": device,
        "versions": {"batchloom": __version__, "follows": f"vllm {VLLM_VERSION}", **versions},
        "model": {**shape._asdict(), "parameters": shape.parameters, "dtype": order.dtype},
        "config": {**resolved, **config},
        "scenario": dict(document),
        "recorded": datetime.now(UTC).date().isoformat(),
        "repeats": order.repeats,
        "dropped": order.dropped,
        "proof": dict(proof),
    }
