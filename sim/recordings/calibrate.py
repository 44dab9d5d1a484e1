"""Fits an integer time model, the knee form of `sim/cost.py`, to the steps of recordings; needs numpy.

The fit is least squares of the relative error, with no coefficient below zero, over a few places for the knee. How far
it is off is told twice: on the steps it was fitted to, and on each recording by a fit to all the others.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..cost import KINDS, SHIFT, CostModel, FitError, kind_of, sums
from ..errors import ConfigError
from .recording import Recording

Floats = npt.NDArray[np.float64]
KNEES = tuple(1 << power for power in range(11))
FEWEST_STEPS = 12
SAME = ("backend", "device", "model", "versions")
"""What the recordings of a fit share."""


class Sample(NamedTuple):
    """A step: the recording that it is of, its batch, and the median of its times in us."""

    recording: int
    batch: list[tuple[int, int]]
    us: int

    @property
    def kind(self) -> str:
        """That of its batch."""
        return kind_of(self.batch)


def samples_of(recordings: Sequence[Recording]) -> list[Sample]:
    """Every step with work.

    Raises:
        ConfigError: the recordings are not of one backend, device and model, or have too few steps.
    """
    for recording in recordings[1:]:
        for key in SAME:
            if recording.head[key] != recordings[0].head[key]:
                problem = f"{key} is not that of {recordings[0].file_name}, a fit needs recordings of one kind"
                raise ConfigError(recording.file_name, problem)
    found = [
        Sample(index, step.batch, step.spread_us().median)
        for index, recording in enumerate(recordings)
        for step in recording.steps
        if step.plan
    ]
    if len(found) < FEWEST_STEPS:
        raise ConfigError("recordings", f"{len(found)} steps are too few for a fit, at least {FEWEST_STEPS} are needed")
    return found


def fit(name: str, device: str, samples: Sequence[Sample]) -> CostModel:
    """The knee form with the smallest relative errors.

    Args:
        name, device: of the model.
        samples: steps to fit it to.
    """
    batches = np.array([sums(sample.batch) for sample in samples], dtype=np.float64)
    us = np.array([sample.us for sample in samples], dtype=np.float64)
    is_mixed = np.array([sample.kind == "mixed" for sample in samples])
    tokens, context, pairs, chunk_context = batches.T
    best: tuple[float, int, Floats] | None = None
    for knee in KNEES:
        columns = (np.ones_like(us), np.maximum(tokens, knee) / knee, context, pairs)
        mixed = (context * is_mixed, chunk_context * is_mixed)
        matrix = np.stack((*columns, *mixed), axis=1) / us[:, None]
        found = _not_negative(matrix)
        loss = float(np.sum((matrix @ found - 1) ** 2))
        if best is None or loss < best[0]:
            best = (loss, knee, found)
    assert best is not None
    _, knee, found = best
    base, per_knee = (round(value) for value in found[:2])
    kv, q, kv_mixed, kp = (round(value * (1 << SHIFT)) for value in found[2:])
    return CostModel(name, device, knee=(base, per_knee, knee), kv=kv, q=q, kv_mixed=kv_mixed, kp=kp)


def _not_negative(matrix: Floats) -> Floats:
    """Least squares to a vector of ones; while a coefficient is negative, the most negative one is left out."""
    used = list(range(matrix.shape[1]))
    found = np.zeros(matrix.shape[1])
    while used:
        scale = np.maximum(np.abs(matrix[:, used]).max(axis=0), 1e-300)
        part = np.linalg.lstsq(matrix[:, used] / scale, np.ones(len(matrix)), rcond=None)[0]
        worst = int(part.argmin())
        if part[worst] >= 0:
            found[used] = part / scale
            return found
        del used[worst]
    return found


def errors_of(model: CostModel, samples: Sequence[Sample]) -> list[FitError]:
    """How far `model` is off on the samples that it was fitted to, and how far such models are off on what is new."""
    here = [_permille(model, sample) for sample in samples]
    beyond: dict[int, CostModel] = {}
    recordings = sorted({sample.recording for sample in samples})
    for recording in recordings if len(recordings) > 1 else ():
        rest = [sample for sample in samples if sample.recording != recording]
        beyond[recording] = fit(model.name, model.device, rest)
    errors = []
    for kind in KINDS:
        mine = [error for error, sample in zip(here, samples, strict=True) if sample.kind == kind]
        new = [_permille(beyond[sample.recording], sample) for sample in samples if beyond and sample.kind == kind]
        if mine:
            errors.append(FitError(kind, len(mine), _mean(mine), max(mine), _mean(new) if new else -1))
    return errors


def _permille(model: CostModel, sample: Sample) -> int:
    return abs(model.step_us(sample.batch) - sample.us) * 1000 // sample.us


def _mean(values: Sequence[int]) -> int:
    return (2 * sum(values) + len(values)) // (2 * len(values))


def profile(model: CostModel, errors: Sequence[FitError], recordings: Sequence[Recording]) -> dict[str, Any]:
    """The profile as JSON, as `cost.parse_profile` takes it."""
    return {
        "name": model.name,
        "device": model.device,
        "knee": list(model.knee),
        **{key: getattr(model, key) for key in ("kv", "q", "kv_mixed", "kp")},
        "errors": {error.kind: dict(zip(FitError._fields[1:], error[1:], strict=True)) for error in errors},
        "fitted_to": [recording.file_name for recording in recordings],
    }


def device_in_words(recording: Recording) -> str:
    """Where a recording was made, such as `AMD EPYC, 1 thread; tiny model, float32, torch 2.13.0`."""
    head = recording.head
    device, model = head["device"], head["model"]
    threads = device.get("threads")
    count = f", {threads} thread{'s' if threads > 1 else ''}" if threads else ""
    version = head["versions"][head["backend"]]
    return f"{device['name']}{count}; {model['name']} model, {model['dtype']}, {head['backend']} {version}"
