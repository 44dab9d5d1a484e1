"""The gallery: what each preset says is so, in both languages and under every driver; and a bad preset is named."""

import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from build import read_catalogs
from scripts.presets import MAX_LENGTH, MAX_REQUESTS, TOPICS, Preset, PresetError, View, read_presets
from sim import fast
from sim.engine import simulate
from sim.figures.words import Words
from sim.metrics import summarize
from sim.sandbox.controls import CONTROLS
from sim.sandbox.run import document
from sim.scenario import parse_scenario
from tests.languages import numbers

ROOT = Path(__file__).resolve().parents[2]
PRESETS = read_presets(ROOT / "site" / "presets")
IDS = [preset.id for preset in PRESETS]
VIEWS = [view for preset in PRESETS for view in (preset.view, preset.variant) if view]
RUNS = [
    pytest.param(view, driver, id=f"{view.scenario['name']}-{driver}")
    for view in VIEWS
    for driver in ("plain", "fast", "awake")
    if driver == "plain" or fast.applies(parse_scenario(view.scenario))
]
HAN = "[\u3400-\u9fff]"
EXAMPLE = """
topic = "basics"
step = 1
requests = [{ id = "A", prompt_tokens = 2, output_tokens = 3 }]

[config]
max_num_seqs = 4

[expect]
"outcome" = "finished"
"steps.1.scheduled" = { A = 1 }

[en]
title = "Title"
question = "Question"
look = "Look"
answer = "Answer with `code` & <more>"

[zh]
title = "题"
question = "问"
look = "看"
answer = "答"
"""
VARIANT = '[variant]\nconfig = { max_num_seqs = 5 }\n[variant.expect]\n"outcome" = "finished"\n'


def find(data: Any, path: str) -> Any:
    """What stands at a path such as `steps.2.why.C`."""
    for key in path.split("."):
        data = data[int(key) if isinstance(data, list) else key]
    return data


@pytest.mark.parametrize(("view", "driver"), RUNS)
def test_what_a_preset_says_is_so(view: View, driver: str) -> None:
    scenario = parse_scenario(view.scenario)
    trace = simulate(scenario, driver=driver)
    run = trace.to_json(explain=True)
    if trace.error is None:
        run["summary"] = summarize(trace, scenario).to_json()
    assert {path: find(run, path) for path in view.expect} == view.expect


@pytest.mark.parametrize("preset", PRESETS, ids=IDS)
def test_both_languages_say_the_same(preset: Preset) -> None:
    english, chinese = preset.texts["en"], preset.texts["zh"]
    assert list(english) == list(chinese)
    for name, text in english.items():
        assert numbers(text, "en") == numbers(chinese[name], "zh"), name
        assert sorted(re.findall("`[^`]+`", text)) == sorted(re.findall("`[^`]+`", chinese[name])), name


@pytest.mark.parametrize("preset", PRESETS, ids=IDS)
def test_typography(preset: Preset) -> None:
    assert not re.search(rf"{HAN}|[，。；：？！（）、]", " ".join(preset.texts["en"].values()))
    for text in preset.texts["zh"].values():
        assert re.search(HAN, text)
        assert not re.search(rf"{HAN} [\w`]|[\w`] {HAN}|{HAN}[,;:?!().]|[,;?!()]{HAN}|[，。；：？！、] ", text)


@pytest.mark.parametrize("preset", PRESETS, ids=IDS)
def test_where_to_look_names_the_step_that_opens(preset: Preset) -> None:
    is_refused = parse_scenario(preset.view.scenario).config.refusal() is not None
    assert is_refused or str(preset.view.step) in re.findall(r"\d+", preset.texts["en"]["look"])


def test_every_reported_problem_has_a_preset() -> None:
    """The threads of the recorded cases, and those without a run of their own."""
    with gzip.open(ROOT / "tests" / "golden" / "cases.jsonl.gz") as file:
        recorded = {json.loads(line)["source"] for line in file}
    vllm = "https://github.com/vllm-project/vllm/"
    others = {f"{vllm}pull/33109", f"{vllm}issues/50708", f"{vllm}issues/8031"}
    others.add("https://github.com/huggingface/trl/issues/3788")
    assert len(recorded) > 20
    assert {preset.source for preset in PRESETS} == recorded | others | {""}


def test_the_topics_are_all_there_in_their_order() -> None:
    assert list(dict.fromkeys(preset.topic for preset in PRESETS)) == list(TOPICS)
    figures = {"six-steps", "chunked-prefill", "kv-blocks", "preemption", "prefix-cache", "speculation", "priority"}
    groups = {"group-a", "group-b", "group-c", "budget-8", "budget-32"}
    assert (figures | groups | {"async", "encoder-cache", "long-prefill"}) - set(IDS) == set()


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.scenario["name"])
def test_a_button_sets_every_control_to_its_scenario(view: View) -> None:
    values = json.loads(html.unescape(view.data_set()))
    assert "'" not in view.data_set()
    assert list(values) == [control.name for control in CONTROLS]
    for control in CONTROLS:
        control.check(values[control.name], control.name)
    assert parse_scenario(document(values)) == parse_scenario(view.scenario)
    assert (values["step"], values["request"], values["row"]) == (view.step, view.request, 0)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_gallery_shows_every_preset(language: str) -> None:
    loader = FileSystemLoader(ROOT / "templates")
    jinja = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    words = Words(language, read_catalogs("page.", "diagnosis.")[language])
    text = jinja.get_template("gallery.html").render(presets=PRESETS, language=language, words=words)
    names = [view.scenario["name"] for view in VIEWS]
    assert re.findall(r'<button [^>]*data-preset="([^"]+)"', text) == names
    assert [json.loads(html.unescape(found))["name"] for found in re.findall("data-set='([^']+)'", text)] == names
    assert re.findall(r'<a href="([^"]+)" rel="noopener">', text) == [one.source for one in PRESETS if one.source]
    assert text.count("<details>") == text.count("</article>") == len(PRESETS)
    assert "`" not in text
    assert " style=" not in text


# --- the loader


def write(folder: Path, text: str, name: str = "01-a.toml") -> Path:
    (folder / name).write_text(text, "utf-8")
    return folder


def test_a_preset_is_read(tmp_path: Path) -> None:
    both = EXAMPLE.replace("answer =", 'variant = "5"\nanswer =') + VARIANT
    preset = read_presets(write(tmp_path, both, "07-some-id.toml"))[0]
    assert (preset.id, preset.topic, preset.source, preset.thread) == ("some-id", "basics", "", "")
    assert preset.view.scenario["config"] == {"max_num_seqs": 4}
    assert preset.variant is not None
    assert preset.variant.scenario["name"] == "some-id-variant"
    assert preset.variant.scenario["config"] == {"max_num_seqs": 5}
    assert preset.variant.scenario["requests"] == preset.view.scenario["requests"]
    assert preset.html("en", "answer") == "Answer with <code>code</code> &amp; &lt;more&gt;"
    assert preset.keys == "some-id max_num_seqs"


@pytest.mark.parametrize(
    ("source", "thread"),
    [
        ("https://github.com/vllm-project/vllm/issues/35541", "vllm-project/vllm#35541"),
        ("https://github.com/noonghunna/club-3090/pull/712", "noonghunna/club-3090#712"),
        ("https://discuss.vllm.ai/t/some-title/1241", "discuss.vllm.ai"),
    ],
)
def test_a_thread_is_called_as_people_call_it(tmp_path: Path, source: str, thread: str) -> None:
    assert read_presets(write(tmp_path, f'source = "{source}"\n{EXAMPLE}'))[0].thread == thread


MANY = ", ".join(f'{{ id = "{i}", prompt_tokens = 2, output_tokens = 3 }}' for i in range(MAX_REQUESTS + 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"basics"', '"fun"', 'topic: "fun" is not allowed, must be one of basics, budget, '),
        ("step = 1", "step = 3", "step: 3 is not allowed, must be an integer from 0 to 2"),
        ("step = 1", "step = true", "step: true is not allowed, must be an integer from 0 to 2"),
        ("step = 1", "stop = 1", "step: missing"),
        ("step = 1", "step = 1\nsauce = 1", "sauce: unknown key, must be one of topic, step, "),
        ("step = 1", 'step = 1\nrequest = "B"', 'request: "B" is not allowed, must be one of A'),
        ("step = 1", 'step = 1\nsource = "a b"', 'source: "a b" is not allowed, must be an https address'),
        ("max_num_seqs = 4", "max_seqs = 4", "config.max_seqs: unknown key, must be one of "),
        ("prompt_tokens = 2", "prompt_tokens = 0", "requests[0].prompt_tokens: 0 is not allowed, must be an integer"),
        ('{ id = "A", prompt_tokens = 2, output_tokens = 3 }', MANY, "requests: 61 are too many, at most 60 are"),
        ('id = "A"', f'id = "{"A" * MAX_LENGTH}"', "requests: 4052 characters as JSON, at most 4000 are allowed"),
        ('"outcome" = "finished"', "", "expect: 1 facts are too few, must be 2 or more"),
        ('look = "Look"', "", "en.look: missing"),
        ('look = "看"', 'look = " "', 'zh.look: " " is not allowed, must be a text'),
        ('look = "看"', 'look = "看"\nvariant = "又"', "zh.variant: unknown key, must be one of title, question, "),
        ("[config]", "[config", "Expected ']' at the end of a table declaration (at line 6, column 8)"),
    ],
)
def test_a_bad_preset_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in EXAMPLE
    with pytest.raises(PresetError, match=rf"^{re.escape('01-a.toml: ' + message)}") as caught:
        read_presets(write(tmp_path, EXAMPLE.replace(old, new, 1)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (VARIANT, "en.variant: missing"),
        (VARIANT.replace('"outcome" = "finished"', ""), "variant.expect: 0 facts are too few, must be 1 or more"),
        (VARIANT.replace("config", "step = 9\nconfig", 1), "variant.step: 9 is not allowed, must be an integer from 0"),
        (VARIANT.replace("config", "setup", 1), "variant.setup: unknown key, must be one of expect, config, "),
    ],
)
def test_a_bad_variant_is_named(tmp_path: Path, variant: str, message: str) -> None:
    with pytest.raises(PresetError, match=rf"^{re.escape('01-a.toml: ' + message)}"):
        read_presets(write(tmp_path, EXAMPLE + variant))


@pytest.mark.parametrize("name", ["a.toml", "01-A.toml", "01-a.json", "1-a.toml"])
def test_a_bad_name_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(PresetError, match=rf"^{name}: name of the file: not allowed, must be like 07-some-id.toml$"):
        read_presets(write(tmp_path, EXAMPLE, name))


def test_ids_are_unique(tmp_path: Path) -> None:
    write(tmp_path, EXAMPLE, "02-a.toml")
    with pytest.raises(PresetError, match=r"^02-a.toml: id: 'a' is taken, must be unique$"):
        read_presets(write(tmp_path, EXAMPLE))
