"""What the page asks of Python: one function, JSON text in, JSON text out.

It runs in the worker, and in CPython just the same. A question is `{"do": ..., ...}`, an answer `{"result": ...}` or
`{"error": one line}`.
"""

import json
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from .diagnosis.draw import draw_way_out
from .engine import simulate
from .errors import ConfigError
from .figures import FIGURES
from .figures.beside import draw_beside
from .figures.edits import draw_edit, draw_recordings
from .figures.frontier import draw_frontier
from .figures.imports import import_file, join
from .figures.words import Words
from .frontier import plan
from .generate import generate
from .onestep import onestep
from .parameters import ONESTEP, shown
from .points import Point, check_point, document_at, run_point
from .sandbox.controls import values_of
from .sandbox.figure import SANDBOX, advance, draw, late_blocks, trial
from .sandbox.run import RefusedRun
from .sandbox.saved import save
from .scenario import parse_scenario

LANGUAGES = ("en", "zh")
DRAWN = FIGURES | {SANDBOX.name: SANDBOX}
"""All that a `<batch-loom>` may show, by name."""


def _load_words(language: str) -> Words:
    """The figures' words in one language, as the build packed them; none in a checkout, where nothing is packed."""
    catalog = resources.files("sim.figures") / f"catalog_{language}.json"
    return Words(language, json.loads(catalog.read_text("utf-8")) if catalog.is_file() else {})


# Read at import, not when first asked: an interpreter that is started from a memory snapshot has no files.
WORDS = {language: _load_words(language) for language in LANGUAGES}


class Texts:
    """Long texts that the page has sent once, and names by a number from then on."""

    MOST = 8

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def put_in(self, question: dict[str, Any]) -> None:
        """Put the texts of `question` into its values, in place of `{"text": number}`."""
        self._known |= question.pop("texts", {})
        for number in list(self._known)[: -self.MOST]:
            del self._known[number]
        values = question.get("values")
        if isinstance(values, dict):
            given = {name: value for name, value in values.items() if isinstance(value, dict) and "text" in value}
            values |= {name: self._known[value["text"]] for name, value in given.items()}


TEXTS = Texts()


def handle(text: str, data: Any = None) -> str:
    """Answer one question. Never raises: the worker must outlive a bad one.

    Args:
        text: JSON, an object with the key `do` and what that needs.
        data: the bytes of a file that the question is about; from the page a `Uint8Array`.

    Returns:
        JSON, `{"result": ...}` or `{"error": one line}`, the latter with `field` where it is about one.
    """
    try:
        question = json.loads(text)
        TEXTS.put_in(question)
        if data is not None:
            question["data"] = data.to_bytes() if hasattr(data, "to_bytes") else bytes(data)
        answer = {"result": _answer(question)}
    except ConfigError as error:
        answer = {"error": _one_line(str(error)), "field": error.field}
    except Exception as error:  # noqa: BLE001 - a defect in one figure must not take the others with it
        answer = {"error": _one_line(f"internal error: {type(error).__name__}: {error}")}
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def _answer(question: Mapping[str, Any]) -> object:
    kind = question.get("do")
    if kind not in _ANSWERS:
        raise ConfigError("do", f"{shown(kind)} is not allowed, must be {' or '.join(map(repr, _ANSWERS))}")
    return _ANSWERS[kind](question)


def _render(question: Mapping[str, Any]) -> object:
    figure = DRAWN[question["figure"]]
    values, words = figure.check(question["values"]), WORDS[question["language"]]
    if figure is not SANDBOX:
        return {"parts": figure.parts(values, words), "set": {}}
    try:
        progress = advance(values)
    except RefusedRun as refused:
        return {"problem": _problem(refused) | {"html": draw_way_out(refused.finding, words)}}
    if progress is not None:
        return {"progress": progress}
    drawn = draw(values, words)
    return {"parts": drawn.parts, "set": {".selected": {"x": drawn.band}}}


def _problem(error: ConfigError) -> dict[str, str]:
    return {"text": _one_line(str(error)), "field": error.field}


def _trace(question: Mapping[str, Any]) -> dict[str, Any]:
    return simulate(parse_scenario(question.get("scenario"))).to_json()


def _explain(question: Mapping[str, Any]) -> dict[str, Any]:
    return simulate(parse_scenario(question.get("scenario"))).to_json(explain=True)


def _onestep(question: Mapping[str, Any]) -> dict[str, Any]:
    params = question.get("params", {})
    if not isinstance(params, Mapping):
        raise ConfigError("", f"{shown(params)} is not allowed, must be an object of parameters")
    values = {parameter.name: parameter.default for parameter in ONESTEP}
    for key in params:
        if key not in values:
            raise ConfigError(key, f"unknown key, must be one of {', '.join(values)}")
    return onestep(**{**values, **params}).to_json()


def _edit(question: Mapping[str, Any]) -> dict[str, Any]:
    words = WORDS[question["language"]]
    return draw_edit(question["original"], question["source"], parse_scenario(question.get("scenario")), words)


def _edit_sample(question: Mapping[str, Any]) -> list[str]:
    return draw_recordings(question["source"], question["recordings"], WORDS[question["language"]])


def _import(question: Mapping[str, Any]) -> dict[str, Any]:
    return import_file(question, WORDS[question["language"]])


def _import_join(question: Mapping[str, Any]) -> dict[str, Any]:
    return join(question["present"], question["scenario"], question["tells"])


def _beside(question: Mapping[str, Any]) -> str:
    scenario = parse_scenario(question.get("scenario"))
    return draw_beside(scenario, question["series"], WORDS[question["language"]])


def _sandbox_values(question: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the sandbox's controls for a scenario."""
    scenario = question.get("scenario")
    parse_scenario(scenario)
    assert isinstance(scenario, Mapping)
    return values_of(scenario)


def _sandbox_blocks(question: Mapping[str, Any]) -> str:
    return late_blocks(SANDBOX.check(question["values"]), WORDS[question["language"]])


def _try(question: Mapping[str, Any]) -> str:
    return trial(question.get("finding"), SANDBOX.check(question["values"]), WORDS[question["language"]])


def _sandbox_export(question: Mapping[str, Any]) -> dict[str, str]:
    return save(str(question.get("format")), SANDBOX.check(question["values"]), str(question.get("address")))


def _generate(question: Mapping[str, Any]) -> list[dict[str, Any]]:
    values = question.get("values", {})
    if not isinstance(values, Mapping):
        raise ConfigError("values", f"{shown(values)} is not allowed, must be an object of parameters")
    return generate(values)


def _sweep_plan(question: Mapping[str, Any]) -> dict[str, list[Point]]:
    parse_scenario(question.get("scenario"))
    return {"points": plan(question.get("vary", []))}


def _sweep_point(question: Mapping[str, Any]) -> dict[str, Any]:
    parse_scenario(question.get("scenario"))
    return run_point(question["scenario"], check_point(question.get("point")))


def _sweep_scenario(question: Mapping[str, Any]) -> dict[str, Any]:
    parse_scenario(question.get("scenario"))
    return document_at(question["scenario"], check_point(question.get("point")))


def _sweep_draw(question: Mapping[str, Any]) -> str:
    points = [check_point(point) for point in question["points"]]
    return draw_frontier(
        question["scenario"],
        points,
        question["results"],
        question["x"],
        question["y"],
        WORDS[question["language"]],
        question.get("picked"),
    )


_ANSWERS: dict[str, Callable[[Mapping[str, Any]], object]] = {
    "render": _render,
    "trace": _trace,
    "explain": _explain,
    "onestep": _onestep,
    "import": _import,
    "import-join": _import_join,
    "beside": _beside,
    "edit": _edit,
    "edit-sample": _edit_sample,
    "sandbox-values": _sandbox_values,
    "sandbox-blocks": _sandbox_blocks,
    "try": _try,
    "sandbox-export": _sandbox_export,
    "generate": _generate,
    "sweep-plan": _sweep_plan,
    "sweep-point": _sweep_point,
    "sweep-scenario": _sweep_scenario,
    "sweep-draw": _sweep_draw,
}


def _one_line(text: str) -> str:
    return " ".join(text.split())
