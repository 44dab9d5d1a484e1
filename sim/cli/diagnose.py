"""`diagnose`: what is wrong with the run of a scenario, and what to change."""

import json
from collections.abc import Iterator, Sequence

from ..diagnosis import Finding, Trial, diagnose, try_change
from ..diagnosis.finding import Change
from ..engine import simulate
from ..parameter import shown
from ..scenario import Scenario, parse_scenario
from ..trace import Trace
from .documents import read_values
from .messages import encodable
from .tables import INDENT, one_line, wrapped
from .words import finding_sentence

MOST_SPANS = 4
MOST_REQUESTS = 8
"""So many are printed in a table."""


def diagnose_file(file: str, as_json: bool, with_trials: bool) -> None:
    """Print what is wrong with each scenario, as text or as a JSON object a line."""
    separator = ""
    for place, value in read_values(file):
        scenario = place.parse(parse_scenario, value)
        trace = simulate(scenario)
        findings = diagnose(scenario, trace)
        trials = [_trial(scenario, trace, finding) if with_trials else None for finding in findings]
        text = _json(scenario, findings, trials) if as_json else separator + _text(scenario, findings, trials)
        print(encodable(text), flush=True)
        separator = "\n"


def _trial(scenario: Scenario, trace: Trace, finding: Finding) -> Trial | None:
    return try_change(scenario, trace, finding) if finding.change else None


def _json(scenario: Scenario, findings: Sequence[Finding], trials: Sequence[Trial | None]) -> str:
    items = [
        finding.to_json() | ({"trial": trial.to_json()} if trial is not None else {})
        for finding, trial in zip(findings, trials, strict=True)
    ]
    return json.dumps({"name": scenario.name, "findings": items})


def _text(scenario: Scenario, findings: Sequence[Finding], trials: Sequence[Trial | None]) -> str:
    lines = [one_line(scenario.name or "(no name)")]
    if not findings:
        lines.append(f"{INDENT}nothing is wrong")
    for finding, trial in zip(findings, trials, strict=True):
        lines.append(wrapped(f"{finding.severity}: {finding.code}: {finding_sentence(finding)}"))
        lines += (wrapped(line, INDENT * 2) for line in _about(finding, trial))
    return "\n".join(lines)


def _about(finding: Finding, trial: Trial | None) -> Iterator[str]:
    if finding.requests:
        yield "requests " + _listed(finding.requests, MOST_REQUESTS)
    if finding.spans:
        spans = [str(first) if first == last else f"{first}-{last}" for first, last in finding.spans]
        yield "steps " + _listed(spans, MOST_SPANS)
    if finding.change:
        yield f"try {_settings(finding.change)}{': ' + _outcome(trial) if trial is not None else ''}"
    else:
        yield "nothing in the configuration helps" if finding.severity == "error" else "no setting is known to help"


def _listed(items: Sequence[str], most: int) -> str:
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more} more" if more > 0 else "")


def _settings(change: Change) -> str:
    return ", ".join(f"{key}={shown(value)}" for key, value in change.items())


def _outcome(trial: Trial) -> str:
    if trial.refused is not None:
        return f"refused: {trial.refused}"
    number = trial.numbers[0]
    unit = f" {number.unit}" if number.unit else ""
    return f"{'helps' if trial.helps else 'does not help'}, {number.name} {number.before} -> {number.after}{unit}"
