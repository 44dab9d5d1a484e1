"""Files of the run that the sandbox shows."""

import json
import re
from collections.abc import Mapping

from ..errors import ConfigError
from ..exporters import html, perfetto, requests_csv, serve_command, steps_csv, svg
from ..exporters.svg import View
from ..parameter import Value, shown
from .run import Run, document, run_of
from .window import window_of

TYPES = {
    "scenario": ("json", "application/json"),
    "trace": ("trace.json", "application/json"),
    "perfetto": ("perfetto.json", "application/json"),
    "steps-csv": ("steps.csv", "text/csv"),
    "requests-csv": ("requests.csv", "text/csv"),
    "svg": ("svg", "image/svg+xml"),
    "html": ("html", "text/html"),
    "serve-command": ("sh", "text/plain"),
}
"""Every format with the end of its file's name and its media type."""


def save(file_format: str, values: Mapping[str, Value], address: str) -> dict[str, str]:
    """A file.

    Args:
        file_format: one of `TYPES`.
        values: of the form.
        address: of the page in this state, which a picture carries.

    Returns:
        `name` of the file, media `type`, and `text`.

    Raises:
        ConfigError: no such format, no scenario, or one that vLLM refuses.
    """
    if file_format not in TYPES:
        raise ConfigError("format", f"{shown(file_format)} is not allowed, must be {' or '.join(TYPES)}")
    ending, media_type = TYPES[file_format]
    stem = re.sub(r"[^\w-]+", "-", str(values["name"])).strip("-") or "sandbox"
    return {"name": f"{stem}.{ending}", "type": media_type, "text": _text(file_format, run_of(values), values, address)}


def _text(file_format: str, run: Run, values: Mapping[str, Value], address: str) -> str:
    match file_format:
        case "scenario":
            return json.dumps(document(values), ensure_ascii=False, indent=1) + "\n"
        case "trace":
            return json.dumps(run.trace.to_json(explain=True), ensure_ascii=False) + "\n"
        case "perfetto":
            return perfetto(run.trace, run.scenario)
        case "steps-csv":
            return steps_csv(run.trace)
        case "requests-csv":
            return requests_csv(run.trace, run.scenario)
        case "html":
            return html(run.trace, run.scenario, document(values))
        case "serve-command":
            return serve_command(run.scenario.config)
        case _:
            return svg(run.trace, run.scenario, _seen(run, values, address))


def _seen(run: Run, values: Mapping[str, Value], address: str) -> View | None:
    """The part of the run that the page shows."""
    step, row, request = values["step"], values["row"], str(values["request"])
    assert isinstance(step, int)
    assert isinstance(row, int)
    if not run.num_steps:
        return None
    step = min(step, run.num_steps - 1)
    return View(run.lanes, window_of(run, step, str(values["columns"]), row, request), step, request, address)
