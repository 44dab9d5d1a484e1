"""A file of another tool in the page: what it is, what became of it, what was left out, as HTML and as a scenario."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..diagnosis.limits import leaves_no_room
from ..importers import FORMATS, read_file
from ..importers.importer import Imported
from ..importers.own import SCENARIO, TRACE
from ..importers.select import UNITS, rescale, sample
from ..importers.text import lines_of
from ..parameter import shown
from ..scenario import parse_scenario
from .html import element, escape
from .words import Words


def import_file(question: Mapping[str, Any], words: Words) -> dict[str, Any]:
    """Read a file.

    Args:
        question: `data`, its bytes; `format`, `auto` or a name; where given `rows`, `sample`, `unit`, and `name`.
        words: in which language.

    Returns:
        `scenario`: the document, with its account; `html`: the account; `requests`: how many; `tells`: `all`, or only a
        `configuration`, or only `requests`, beside which the configuration is assumed.

    Raises:
        ConfigError: nothing can be made of it.
    """
    imported = read_file(question["format"], lines_of([question["data"]]), question.get("rows"))
    if question.get("unit"):
        rescale(imported, question["unit"])
    if question.get("sample"):
        sample(imported, question["sample"])
    scenario = imported.to_scenario(imported.found.get("name") or question.get("name") or imported.format)
    warnings = parse_scenario(scenario).warnings()
    return {
        "scenario": scenario,
        "html": draw_account(imported, warnings, words),
        "requests": len(imported.requests),
        "tells": _tells(imported),
        "unit": imported.unit,
    }


def _tells(imported: Imported) -> str:
    if imported.format in (SCENARIO.name, TRACE.name):
        return "all"
    return "requests" if imported.requests else "configuration"


def join(present: dict[str, Any], imported: dict[str, Any], tells: str) -> dict[str, Any]:
    """What was imported together with the scenario that is there.

    A configuration is tried on the requests that are there; requests run under the configuration that is there, if it
    has room for each of their prompts.

    Args:
        present: a scenario.
        imported: another.
        tells: see `import_file`.

    Raises:
        ConfigError: one of them is no scenario.
    """
    if tells == "all":
        return imported
    if tells == "configuration":
        return {**imported, "requests": present["requests"]}
    other = {**imported, "config": present["config"]}
    scenario = parse_scenario(other)
    return imported if any(leaves_no_room(spec, scenario.config) for spec in scenario.requests) else other


def draw_account(imported: Imported, warnings: Sequence[str], words: Words) -> str:
    """What was read, what it tells, and what was left out."""
    importer = FORMATS[imported.format]
    name = element("b", None, escape(importer.name)) + ": " + escape(words(f"import.help.{importer.name}"))
    rows = [(words("import.format"), name), (words("import.read"), words.html("import.rows", **_counts(imported)))]
    if imported.unit in UNITS:
        rows.append((words("import.unit"), escape(imported.unit)))
    if imported.config:
        head = "import.config.assumed" if _tells(imported) == "requests" else "import.config"
        rows.append((words(head), _pairs(imported.config)))
    told = {key: value for key, value in imported.found.items() if not isinstance(value, dict | list)}
    if told:
        rows.append((words("import.found"), _pairs(told)))
    items = "".join(element("dt", None, escape(head)) + element("dd", None, body) for head, body in rows)
    return element("dl", {"class": "import-account"}, items) + "".join(_lists(imported, warnings, words))


def _counts(imported: Imported) -> dict[str, int]:
    return {"n": imported.rows, "requests": len(imported.requests), "series": len(imported.series)}


def _pairs(values: Mapping[str, Any]) -> str:
    return " ".join(element("code", None, escape(f"{key} = {shown(value)}")) for key, value in values.items())


def _lists(imported: Imported, warnings: Sequence[str], words: Words) -> list[str]:
    parts = []
    if imported.left_out_total:
        lines = [words.html("import.line", line=str(item.line)) + " " + _code(item.why) for item in imported.left_out]
        more = imported.left_out_total - len(imported.left_out)
        if more:
            lines.append(words.html("import.more", n=more))
        parts.append(_list("left-out", words("import.left_out", n=imported.left_out_total), lines))
    for name, names in (("removed", imported.removed), ("unknown", imported.unknown)):
        if names:
            parts.append(_list(name, words(f"import.{name}"), [_code(item) for item in names]))
    notes = [escape(words(f"import.note.{note.code}", **note.values)) for note in imported.notes]
    notes += [escape(warning) for warning in warnings[:5]]
    if notes:
        parts.append(_list("notes", words("import.notes"), notes))
    return parts


def _code(text: str) -> str:
    return element("code", None, escape(text))


def _list(name: str, head: str, lines: Sequence[str]) -> str:
    items = "".join(element("li", None, line) for line in lines)
    return element("div", {"data-list": name}, element("h3", None, escape(head)), element("ul", None, items))
