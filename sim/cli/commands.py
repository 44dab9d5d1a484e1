"""What each command does: from its options to what it prints. Every fault leaves as a `ConfigError`."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from ..engine import simulate
from ..errors import ConfigError
from ..generate import GENERATOR, generate
from ..importers import FORMATS, read_file
from ..importers.importer import MAX_LISTED, Imported
from ..importers.select import rescale, sample
from ..importers.text import HEAD_BYTES, lines_of
from ..metrics import Objectives, summarize
from ..onestep import onestep
from ..scenario import Scenario, parse_scenario
from ..trace import Trace
from . import tables
from .diagnose import diagnose_file
from .diff import Comparison, parse_settings
from .documents import BOM, Place, file_name, opened, read_values
from .export import export
from .hardware import calibrate, record
from .messages import encodable, tell
from .sweep import sweep
from .traces import is_trace, parse_trace


def run(options: argparse.Namespace) -> None:
    """Do what the command line asks for.

    Args:
        options: what `options.parse()` made of it.

    Raises:
        ConfigError: at the first fault in the input.
    """
    match options.command:
        case "trace":
            trace(options.files, options.explain, options.max_steps)
        case "onestep":
            one_step(options)
        case "generate":
            generate_scenario(options)
        case "import":
            import_file(options)
        case "export":
            export(options.format, options.file)
        case "summary":
            summary(options.files, options.json, options.goodput)
        case "diff":
            diff(options.file, options.config, options.json)
        case "diagnose":
            diagnose_file(options.file, options.json, options.trials)
        case "sweep":
            sweep(options, imported_document)
        case "record":
            record(options)
        case "calibrate":
            calibrate(options)


def trace(files: list[str], explain: bool, max_steps: int | None) -> None:
    """Print one trace a line, each as soon as it is there."""
    for place, value in chain.from_iterable(map(read_values, files)):
        scenario = place.parse(parse_scenario, value)
        for piece in _trace_line(simulate(scenario, max_steps=max_steps), explain):
            sys.stdout.write(piece)
        sys.stdout.flush()


def _trace_line(run_trace: Trace, explain: bool) -> Iterator[str]:
    """The line of a trace, step by step, so that long runs need not be in memory as text."""
    head = replace(run_trace, steps=()).to_json()
    if "steps" not in head:
        yield _json(head) + "\n"
        return
    del head["steps"]
    yield _json(head)[:-1] + ',"steps":['
    for index, step in enumerate(run_trace.steps):
        yield ("," if index else "") + _json(step.to_json(explain))
    yield "]}\n"


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair has no UTF-8; JSON has an escape for it.
        return json.dumps(value, separators=(",", ":"))
    return text


def one_step(options: argparse.Namespace) -> None:
    """Print the one-step model's five numbers, or a table of the coming steps."""
    arguments = (options.D, options.P, options.B, options.M, options.policy, options.chunked_prefill)
    if options.json:
        print(json.dumps(onestep(*arguments).to_json()))
    else:
        print(tables.onestep_table(*arguments), end="")


def generate_scenario(options: argparse.Namespace) -> None:
    """Print or write a scenario of generated requests."""
    requests = generate({parameter.name: getattr(options, parameter.name) for parameter in GENERATOR})
    text = _json({"name": "generated", "config": parse_settings(options.config), "requests": requests}) + "\n"
    if options.output is None:
        sys.stdout.write(text)
    else:
        Path(options.output).write_text(text, encoding="utf-8")


def import_file(options: argparse.Namespace) -> None:
    """Print the scenario that a file of another tool stands for, and tell what had to be left out."""
    print(_json(_document(options.format, options.file, options.rows, options.sample, options.unit)))


def _document(
    file_format: str, file: str, rows: int | None = None, count: int | None = None, unit: str | None = None
) -> dict[str, Any]:
    place = Place(file_name(file))
    with opened(file) as stream:
        try:
            imported = read_file(file_format, lines_of(_pieces(stream)), rows)
        except ConfigError as error:
            # A number is that of a line; anything else is a field.
            part = f"{':' if error.field.isdigit() else ': '}{error.field}" if error.field else ""
            raise ConfigError(place.file + part, error.problem) from None
    if unit is not None:
        rescale(imported, unit)
    if count is not None:
        sample(imported, count)
    name = imported.found.get("name") or (imported.format if file == "-" else Path(file).stem)
    document = imported.to_scenario(name)
    scenario = place.parse(parse_scenario, document)
    _tell_what_is_left_out(place.file, imported, scenario)
    return document


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    yield stream.read(HEAD_BYTES)
    while piece := stream.read(1 << 20):
        yield piece


def imported_document(file: str) -> dict[str, Any] | None:
    """The scenario that a file of another tool stands for, whatever the tool; `None` if it is of none."""
    if file == "-":
        # It can be read only once.
        return None
    with opened(file) as stream:
        head = stream.read(HEAD_BYTES).removeprefix(BOM).decode(errors="replace").lstrip()
    found = next((name for name, importer in FORMATS.items() if importer.detect(head)), None)
    return None if found in {None, "scenario", "trace"} else _document("auto", file)


def _tell_what_is_left_out(file: str, imported: Imported, scenario: Scenario) -> None:
    for item in imported.left_out:
        tell(f"{file}:{item.line}: left out: {item.why}")
    if imported.left_out_total > len(imported.left_out):
        tell(f"{file}: {imported.left_out_total} of {imported.rows} rows are left out")
    for name in imported.unknown:
        tell(f"{file}: {name} is not understood, left out")
    for name in imported.removed:
        tell(f"{file}: {name} was removed from vLLM, left out")
    refusal = scenario.config.refusal()
    if refusal is not None:
        tell(f"{file}: vLLM refuses this: {refusal.reason}")
    warnings = scenario.warnings()
    for warning in warnings[:MAX_LISTED]:
        tell(f"{file}: {warning}")
    if len(warnings) > MAX_LISTED:
        tell(f"{file}: {len(warnings)} warnings in all")


def summary(files: list[str], as_json: bool, goodput: list[tuple[str, int]] | None) -> None:
    """Print a summary of each scenario or trace: tables with an empty line between, or a JSON object a line."""
    objectives = _objectives(goodput)
    separator = ""
    for place, value in chain.from_iterable(map(read_values, files)):
        text = _summary_of(place, value, as_json, objectives)
        print(encodable(separator + text), end="", flush=True)
        separator = "" if as_json else "\n"


def _objectives(goodput: list[tuple[str, int]] | None) -> Objectives | None:
    if not goodput:
        return None
    names = [name for name, _ in goodput]
    for name in Objectives._fields:
        if names.count(name) > 1:
            raise ConfigError("--goodput", f"{name.removesuffix('_us')} is given twice, must be given once")
    return Objectives(**dict(goodput))


def _summary_of(place: Place, value: Any, as_json: bool, objectives: Objectives | None) -> str:
    scenario = None
    if is_trace(value):
        run_trace = place.parse(parse_trace, value)
    else:
        scenario = place.parse(parse_scenario, value)
        run_trace = simulate(scenario)
    if run_trace.error is not None:
        error = run_trace.error
        if as_json:
            return _json({"name": run_trace.name, **error._asdict()}) + "\n"
        return tables.refusal_table(run_trace.name, error.error, error.message)
    result = summarize(run_trace, scenario, objectives)
    return _json(result.to_json()) + "\n" if as_json else tables.summary_table(result)


def diff(file: str, settings: list[str], as_json: bool) -> None:
    """Print for each scenario where it parts from itself under a changed configuration."""
    changed = parse_settings(settings)
    separator = ""
    for place, value in read_values(file):
        found = Comparison(place, value, changed)
        text = _json(found.to_json()) + "\n" if as_json else separator + found.text()
        print(encodable(text), end="", flush=True)
        separator = "\n"
