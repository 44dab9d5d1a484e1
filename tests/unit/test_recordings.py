"""Recordings: their form, every change of a byte, and their plan against the simulator's; the model fitted to them."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.recordings import RecordingError, pack_recordings
from sim.cost import COST_MODELS, CostModel, kind_of, parse_profile
from sim.errors import ConfigError
from sim.figures.recorded import NAMES
from sim.recordings import calibrate
from sim.recordings.check import check_plan, read_recordings
from sim.recordings.recording import RecordedStep, Recording, parse_recording
from sim.recordings.scenarios import SITE_SCENARIOS
from sim.spread import spread_us

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "site" / "recordings"
FILES = sorted(FOLDER.glob("*.json"))
SMALL = FOLDER / "six-steps.vllm-cpu.json"
DATA = SMALL.read_bytes()


def test_every_scenario_is_recorded_with_both_backends() -> None:
    recordings = read_recordings(FOLDER)
    expected = {f"{name}.{key}.json" for name in NAMES for key in ("torch-cpu", "vllm-cpu")}
    assert {recording.file_name for recording in recordings} == {path.name for path in FILES} == expected
    assert tuple(SITE_SCENARIOS) == NAMES
    for recording in recordings:
        assert recording.head["scenario"] == SITE_SCENARIOS[recording.head["name"]]
        assert recording.head["proof"]["tokens"] == sum(len(step.sampled) for step in recording.steps) > 0
        assert recording.head["device"]["kind"] == "cpu"


def test_a_recording_holds_what_ran() -> None:
    recording = parse_recording(DATA)
    assert recording.to_text().encode() == DATA
    assert recording.head["versions"]["vllm"] == "0.32.0"
    step = recording.steps[1]
    assert dict(step.plan) == {"A": (6, 1), "B": (0, 7)}
    assert dict(step.blocks) == {"A": (1,), "B": (2,)}
    assert len(step.ns["wall"]) == recording.head["repeats"]


def test_both_backends_gave_the_same_tokens() -> None:
    for name in NAMES:
        torch, vllm = (parse_recording((FOLDER / f"{name}.{key}-cpu.json").read_bytes()) for key in ("torch", "vllm"))
        assert [step.sampled for step in torch.steps] == [step.sampled for step in vllm.steps], name


@settings(max_examples=150)
@given(st.data())
def test_one_changed_byte_is_noticed(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(DATA) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != DATA[place]))
    with pytest.raises(ConfigError):
        parse_recording(DATA[:place] + bytes([byte]) + DATA[place + 1 :])


@pytest.mark.parametrize("cut", [1, 2, len(DATA) // 2])
def test_a_cut_recording_is_noticed(cut: int) -> None:
    with pytest.raises(ConfigError):
        parse_recording(DATA[:-cut])


def changed(recording: Recording, index: int, **fields: object) -> Recording:
    steps = list(recording.steps)
    steps[index] = steps[index]._replace(**fields)
    return Recording(recording.head, steps)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"plan": {"A": (6, 2), "B": (0, 6)}}, r"step 1: plan is .*\[6, 2\].*, the simulator's is .*\[6, 1\]"),
        ({"plan": {"B": (0, 7), "A": (6, 1)}}, "step 1: plan is"),
        ({"blocks": {"A": (1,), "B": (3,)}}, "step 1: blocks is"),
        ({"preempted": ["A"]}, "step 1: preempted is"),
        ({"free_blocks": 60}, "step 1: free_blocks is 60, the simulator's is 61"),
        ({"sampled": {}}, "step 1: sampled is"),
    ],
)
def test_another_plan_than_the_simulators_names_its_first_step(fields: dict[str, object], problem: str) -> None:
    recording = parse_recording(DATA)
    check_plan(recording)
    wrong = changed(recording, 1, **fields)
    with pytest.raises(ConfigError, match=problem):
        check_plan(parse_recording(wrong.to_text().encode()))


def test_steps_that_are_missing_are_named() -> None:
    recording = parse_recording(DATA)
    with pytest.raises(ConfigError, match="step 5: 5 steps, the simulator has 6"):
        check_plan(Recording(recording.head, recording.steps[:-1]))


def test_the_build_stops_at_a_wrong_recording(tmp_path: Path) -> None:
    packed = json.loads(pack_recordings(FOLDER))
    assert [item["name"] for item in packed] == [path.name.split(".")[0] for path in FILES]
    wrong = changed(parse_recording(DATA), 3, free_blocks=7)
    (tmp_path / "six-steps.vllm-cpu.json").write_text(wrong.to_text())
    with pytest.raises(RecordingError, match=r"^site/recordings: six-steps.vllm-cpu.json: step 3: free_blocks is 7"):
        pack_recordings(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"repeats": 15', '"repeats": 15.5', "15.5 is not allowed, a recording holds integers only"),
        ('"backend": "vllm"', '"backend": "tensor"', 'backend: "tensor" is not allowed, must be torch or vllm'),
        ('"dropped": 2', '"drop": 2', "drop: unknown key"),
        ('"repeats": 15', '"repeats": 16', r"steps\[0\].ns.schedule: 15 integers, must be 16"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, problem: str) -> None:
    assert old in DATA.decode()
    with pytest.raises(ConfigError, match=problem):
        parse_recording(DATA.decode().replace(old, new).encode())


def test_spread_is_by_nearest_rank() -> None:
    assert spread_us([5_000, 1_000, 3_000]) == (1, 3, 3, 5, 5)
    assert spread_us([7_499]) == (7, 7, 7, 7, 7)


# ---------------------------------------------------------------- calibrate

TRUE = CostModel("true", "nowhere", knee=(1500, 800, 16), kv=3 << 20, q=1 << 18)


def made(batches: list[list[tuple[int, int]]]) -> Recording:
    """A recording whose times are those of a known model."""
    head = parse_recording(DATA).head
    steps = [
        RecordedStep(
            i, {str(j): pair for j, pair in enumerate(batch)}, {}, [], 0, {}, {"wall": (TRUE.step_us(batch) * 1000,)}
        )
        for i, batch in enumerate(batches)
    ]
    return Recording(head, steps)


def test_a_fit_finds_the_model_that_made_the_times() -> None:
    random = np.random.default_rng(7)
    batches = [
        [(int(random.integers(0, 900)), 1) for _ in range(random.integers(1, 40))]
        + [(0, int(random.integers(2, 600)))] * int(random.integers(0, 2))
        for _ in range(60)
    ]
    recordings = [made(batches[:30]), made(batches[30:])]
    samples = calibrate.samples_of(recordings)
    model = calibrate.fit("fitted", "nowhere", samples)
    errors = calibrate.errors_of(model, samples)
    assert {error.kind for error in errors} == {"decode", "mixed"}
    assert max(error.worst for error in errors) <= 5
    assert max(error.left_out for error in errors) <= 5
    assert abs(model.kv - TRUE.kv) <= TRUE.kv // 50


def test_a_fit_needs_recordings_of_one_kind_and_enough_steps() -> None:
    torch, vllm = (parse_recording((FOLDER / f"six-steps.{key}-cpu.json").read_bytes()) for key in ("torch", "vllm"))
    with pytest.raises(ConfigError, match=r"six-steps.vllm-cpu.json: backend is not that of six-steps.torch-cpu.json"):
        calibrate.samples_of([torch, vllm])
    with pytest.raises(ConfigError, match="6 steps are too few"):
        calibrate.samples_of([vllm])


@pytest.mark.parametrize("backend", ["torch", "vllm"])
def test_the_shipped_profile_is_that_of_the_shipped_recordings(backend: str) -> None:
    name = f"cpu-{backend}-tiny"
    recordings = read_recordings(FOLDER)
    mine = [recording for recording in recordings if recording.head["backend"] == backend]
    samples = calibrate.samples_of(mine)
    model = calibrate.fit(name, calibrate.device_in_words(mine[0]), samples)
    again = calibrate.profile(model, calibrate.errors_of(model, samples), mine)
    shipped = json.loads((ROOT / "sim" / "profiles" / f"{name}.json").read_bytes())
    assert again.keys() == shipped.keys()
    # Another linear algebra may round otherwise.
    for key in ("knee", "kv", "q", "kv_mixed", "kp"):
        assert np.allclose(again[key], shipped[key], rtol=1e-3, atol=2), key
    assert COST_MODELS[name] == parse_profile(shipped, name)
    assert {error.kind: error.steps for error in COST_MODELS[name].errors} == {
        kind: sum(sample.kind == kind for sample in samples) for kind in ("decode", "prefill", "mixed")
    }


def test_kinds_of_steps() -> None:
    assert [kind_of(batch) for batch in ([(5, 1)], [(0, 4)], [(5, 1), (0, 4)])] == ["decode", "prefill", "mixed"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"knee": [1, 2]}, "p: knee: "),
        ({"kv": -1}, "p: kv: -1 is not allowed, must be an integer from 0"),
        ({"name": 3}, "p: name: 3 is not allowed"),
        ({"errors": {"decode": {}}}, "p: errors.decode: must be an object"),
    ],
)
def test_a_bad_profile_is_named(change: dict[str, object], problem: str) -> None:
    good = {"name": "n", "device": "d", "knee": [1, 2, 3], "kv": 1, "q": 1, "kv_mixed": 0, "kp": 0}
    assert parse_profile(good, "p").step_us([(0, 3)]) == 3
    with pytest.raises(ConfigError, match=problem):
        parse_profile(good | change, "p")
