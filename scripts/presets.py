"""The gallery's presets: scenarios of `site/presets/`, each with a question and an answer in both languages.

A file is called `NN-id.toml`: the number orders the gallery, the id stands in `?scenario=id`. A preset may have a
variant, the same with some settings or other requests, for a second look. What makes an answer true is in `expect`:
paths into the run's trace with reasons, or into its `summary`, and what stands there; tests check them.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from sim.diagnosis import diagnose
from sim.engine import simulate
from sim.errors import ConfigError
from sim.parameter import Value, shown
from sim.sandbox.controls import CONTROLS, list_text
from sim.scenario import parse_scenario

LANGUAGES = ("en", "zh")
TOPICS = (
    *("basics", "budget", "long-prompts", "queue", "priority", "blocks"),
    *("preemption", "prefix-cache", "speculation", "async", "images", "refused"),
)
"""In the order of the gallery."""
TEXTS = ("title", "question", "look", "answer")
FACTS = 2
"""Fewest facts of a preset; a variant needs one."""
MAX_REQUESTS = 60
MAX_LENGTH = 4000
"""Most characters of the requests as JSON: every page of the sandbox carries all presets."""
DEFAULTS = {parameter.name: parameter.default for parameter in CONTROLS}


class PresetError(Exception):
    """A preset cannot be used; told in one line that names file and field."""


class View(NamedTuple):
    """A scenario, and where to look at it.

    Args:
        scenario: in the form of the contract.
        step, request: what is looked at; the request may be empty.
        expect: by path, such as `steps.2.why.C`, what stands there.
        findings: codes of what is wrong with its run.
    """

    scenario: dict[str, Any]
    step: int
    request: str
    expect: dict[str, Any]
    findings: tuple[str, ...]

    def data_set(self) -> Markup:
        """The value of every control of the sandbox, as JSON for an attribute in single quotes."""
        values: dict[str, Value] = DEFAULTS | self.scenario["config"]
        values |= {"name": self.scenario["name"], "requests": list_text(self.scenario["requests"])}
        text = json.dumps(values | {"step": self.step, "request": self.request}, ensure_ascii=False)
        return Markup(text.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;"))


class Preset(NamedTuple):
    """An entry of the gallery.

    Args:
        id: short and stable.
        topic: one of `TOPICS`.
        source: address of the thread that it comes from; may be empty.
        view: what it shows.
        variant: the second look, if there is one.
        texts: by language `title`, `question`, `look`, `answer`, and `variant` where there is one; code in backticks.
    """

    id: str
    topic: str
    source: str
    view: View
    variant: View | None
    texts: dict[str, dict[str, str]]

    def html(self, language: str, name: str) -> Markup:
        """One of its texts as HTML."""
        return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(self.texts[language][name]))))

    @property
    def thread(self) -> str:
        """The source as people call it: `owner/name#12` for a thread on GitHub, else the host."""
        found = re.match(r"https://(github\.com/([^/]+/[^/]+)/(?:issues|pull)/(\d+)|[^/]+)", self.source)
        if found is None:
            return ""
        return f"{found[2]}#{found[3]}" if found[2] else found[1]

    @property
    def keys(self) -> str:
        """What it is also found by: id, thread, settings, the reasons that occur in it, and what is wrong with it."""
        codes = re.findall(r'"code": "(\w+)"', json.dumps([view.expect for view in self._views]))
        told = [self.id, self.thread, *self.view.scenario["config"], *codes, *self.findings]
        return " ".join(dict.fromkeys(filter(None, told)))

    @property
    def findings(self) -> list[str]:
        """Codes of what is wrong with its runs."""
        return list(dict.fromkeys(code for view in self._views for code in view.findings))

    @property
    def _views(self) -> list[View]:
        return [self.view, *([self.variant] if self.variant else [])]


def read_presets(folder: Path) -> list[Preset]:
    """The presets of `site/presets/`, in the order of their names.

    Raises:
        PresetError: the first one that is wrong.
    """
    presets: dict[str, Preset] = {}
    for path in sorted(folder.iterdir()):
        try:
            preset = _preset(path)
        except (ConfigError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PresetError(f"{path.name}: {error}") from error
        if preset.id in presets:
            raise PresetError(f"{path.name}: id: {preset.id!r} is taken, must be unique")
        presets[preset.id] = preset
    return list(presets.values())


def _preset(path: Path) -> Preset:
    name = re.fullmatch(r"\d\d-([a-z0-9]+(?:-[a-z0-9]+)*)\.toml", path.name)
    if name is None:
        raise ConfigError("name of the file", "not allowed, must be like 07-some-id.toml")
    data = tomllib.loads(path.read_text("utf-8"))
    _keys(data, "", ("topic", "step", "requests", "config", "expect", *LANGUAGES), ("source", "request", "variant"))
    if data["topic"] not in TOPICS:
        raise ConfigError("topic", f"{shown(data['topic'])} is not allowed, must be one of {', '.join(TOPICS)}")
    source = data.get("source", "")
    if source and not re.fullmatch(r"https://\S+", source):
        raise ConfigError("source", f"{shown(source)} is not allowed, must be an https address")
    view = _view(data | {"name": name[1]}, "", FACTS)
    variant = None
    if "variant" in data:
        change = data["variant"]
        _keys(change, "variant.", ("expect",), ("config", "requests", "step", "request"))
        changed = data | {"name": f"{name[1]}-variant"} | change | {"config": data["config"] | change.get("config", {})}
        variant = _view(changed, "variant.", 1)
    texts = {language: _texts(data[language], f"{language}.", variant) for language in LANGUAGES}
    return Preset(name[1], data["topic"], source, view, variant, texts)


def _keys(data: Mapping[str, Any], path: str, needed: Iterable[str], more: Iterable[str]) -> None:
    """Raise ConfigError unless `data` has all the keys that are needed, and none but these and some more."""
    for key in needed:
        if key not in data:
            raise ConfigError(f"{path}{key}", "missing")
    allowed = (*needed, *more)
    for key in data:
        if key not in allowed:
            raise ConfigError(f"{path}{key}", f"unknown key, must be one of {', '.join(allowed)}")


def _texts(data: Mapping[str, Any], path: str, variant: View | None) -> dict[str, str]:
    _keys(data, path, (*TEXTS, *(("variant",) if variant else ())), ())
    for key, value in data.items():
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f"{path}{key}", f"{shown(value)} is not allowed, must be a text")
    return dict(data)


def _view(data: Mapping[str, Any], path: str, num_facts: int) -> View:
    """What is shown, checked by a run of it."""
    scenario = {"name": data["name"], "config": data["config"], "requests": data["requests"]}
    parsed = parse_scenario(scenario)
    run = simulate(parsed)
    requests, length = data["requests"], len(list_text(data["requests"]))
    if len(requests) > MAX_REQUESTS:
        raise ConfigError(f"{path}requests", f"{len(requests)} are too many, at most {MAX_REQUESTS} are allowed")
    if length > MAX_LENGTH:
        raise ConfigError(f"{path}requests", f"{length} characters as JSON, at most {MAX_LENGTH} are allowed")
    step, last = data["step"], max(len(run.steps) - 1, 0)
    if type(step) is not int or not 0 <= step <= last:
        raise ConfigError(f"{path}step", f"{shown(step)} is not allowed, must be an integer from 0 to {last}")
    request, ids = data.get("request", ""), [one["id"] for one in requests]
    if request and request not in ids:
        raise ConfigError(f"{path}request", f"{shown(request)} is not allowed, must be one of {', '.join(ids)}")
    if len(data["expect"]) < num_facts:
        raise ConfigError(f"{path}expect", f"{len(data['expect'])} facts are too few, must be {num_facts} or more")
    findings = tuple(finding.code for finding in diagnose(parsed, run))
    return View(scenario, step, request, data["expect"], findings)
