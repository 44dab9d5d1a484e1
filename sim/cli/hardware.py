"""`record`: scenarios on real hardware. `calibrate`: a time model fitted to recordings."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..cost import COEFFICIENTS, CostModel, FitError
from ..errors import ConfigError
from ..hardware.order import Order
from ..hardware.record import record as record_scenarios
from ..parameter import shown
from ..recordings.check import read_recording
from ..recordings.scenarios import SITE_SCENARIOS
from ..scenario import Scenario, parse_scenario
from .documents import read_values

SITE = "site"


def record(options: argparse.Namespace) -> None:
    """Record scenarios and write a file for each.

    Args:
        options: `scenarios`, `output` and the fields of `Order`.

    Raises:
        ConfigError: something about these; see `hardware.record`.
    """
    order = Order(**{name: getattr(options, name) for name in Order._fields})
    scenarios = _scenarios(options.scenarios)
    output = Path(options.output)
    if len(scenarios) > 1 and not output.is_dir():
        raise ConfigError("-o", f"{shown(options.output)} is not a folder, which {len(scenarios)} recordings need")
    for recording in record_scenarios(order, scenarios):
        path = output / recording.file_name if output.is_dir() else output
        path.write_text(recording.to_text(), encoding="utf-8", newline="")
        print(f"{path}: {recording.head['proof']['tokens']} tokens compared", file=sys.stderr)


def calibrate(options: argparse.Namespace) -> None:
    """Fit a profile to recordings, tell how far it is off, write it.

    Args:
        options: `name`, `recordings`, `output`.

    Raises:
        ConfigError: a recording cannot be used, or numpy is missing.
    """
    try:
        from ..recordings import calibrate as fitting  # noqa: PLC0415 - it needs a package
    except ImportError as error:
        raise ConfigError("calibrate", f"needs the package {error.name}: pip install numpy") from None
    recordings = [read_recording(Path(name)) for name in options.recordings]
    samples = fitting.samples_of(recordings)
    model = fitting.fit(options.name, fitting.device_in_words(recordings[0]), samples)
    errors = fitting.errors_of(model, samples)
    print(_error_table(model, errors), end="")
    if options.output:
        text = json.dumps(fitting.profile(model, errors, recordings), ensure_ascii=False, indent=1)
        Path(options.output).write_text(text + "\n", encoding="utf-8", newline="")


def _error_table(model: CostModel, errors: Sequence[FitError]) -> str:
    """The profile and its errors as text."""
    base, per_knee, knee = model.knee
    coefficients = ", ".join(f"{key} {getattr(model, key)}" for key in COEFFICIENTS)
    lines = [
        f"{model.name}: {model.device}",
        f"  {base} + {per_knee} * max(T, {knee}) // {knee} us; in 1/2**20 us: {coefficients}",
        "",
        "  error in percent of the measured median",
        f"  {'steps':<10}{'count':>8}{'mean':>8}{'worst':>8}{'left out':>10}",
    ]
    for error in errors:
        left_out = "-" if error.left_out < 0 else _percent(error.left_out)
        lines.append(
            f"  {error.kind:<10}{error.steps:>8}{_percent(error.mean):>8}{_percent(error.worst):>8}{left_out:>10}"
        )
    return "\n".join([*lines, ""])


def _percent(permille: int) -> str:
    return f"{permille // 10}.{permille % 10}"


def _scenarios(names: Sequence[str]) -> list[tuple[dict[str, Any], Scenario]]:
    """The scenarios of files, or the site's by name."""
    found: list[tuple[dict[str, Any], Scenario]] = []
    for name in names:
        if name == SITE:
            found += [(document, parse_scenario(document)) for document in SITE_SCENARIOS.values()]
        elif name in SITE_SCENARIOS:
            found.append((SITE_SCENARIOS[name], parse_scenario(SITE_SCENARIOS[name])))
        else:
            found += [(value, place.parse(parse_scenario, value)) for place, value in read_values(name)]
    return found
