"""`batchloom export`: a scenario or a trace in the format of another tool."""

import sys
from collections.abc import Callable
from typing import Any

from ..engine import simulate
from ..errors import ConfigError
from ..exporters import html, perfetto, requests_csv, serve_command, steps_csv, svg
from ..scenario import Scenario, parse_scenario
from ..trace import Trace
from .documents import Place, file_name, read_values
from .messages import encodable
from .traces import is_trace, parse_trace

RUNS: dict[str, Callable[[Trace, Scenario | None], str]] = {
    "perfetto": perfetto,
    "steps-csv": lambda trace, _: steps_csv(trace),
    "requests-csv": requests_csv,
    "svg": svg,
}


def export(file_format: str, file: str) -> None:
    """Print the one scenario or trace of `file` in `file_format`.

    Raises:
        ConfigError: not exactly one; a configuration that vLLM refuses; a trace where only a scenario will do.
    """
    values = read_values(file)
    first = next(values, None)
    if first is None:
        raise ConfigError(file_name(file), "holds no scenario and no trace, must hold one")
    place, value = first
    if next(values, None) is not None:
        raise ConfigError(place.file, "holds several scenarios or traces, must hold one")
    sys.stdout.write(encodable(_text(file_format, place, value)))


def _text(file_format: str, place: Place, value: Any) -> str:
    if is_trace(value):
        if file_format == "serve-command":
            raise ConfigError(place.file, "a trace names no configuration, must be a scenario")
        scenario, trace = None, place.parse(parse_trace, value)
    else:
        scenario = place.parse(parse_scenario, value)
        if file_format == "serve-command":
            return serve_command(scenario.config)
        trace = simulate(scenario)
    if trace.error is not None:
        raise ConfigError(place.file, f"vLLM refuses this: {trace.error.reason}")
    if file_format == "html":
        return html(trace, scenario, value if scenario else None)
    return RUNS[file_format](trace, scenario)
