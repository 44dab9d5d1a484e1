"""The executor: what it computes is what the model says. Needs torch: `make hardware`, or any Python that has it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sim.engine import simulate
from sim.figures.schedules import SCHEDULES
from sim.hardware.order import Order
from sim.hardware.plan import planned, prompt_ids
from sim.hardware.shapes import TINY
from sim.recordings.scenarios import SITE_SCENARIOS
from sim.scenario import Scenario, parse_scenario

torch = pytest.importorskip("torch")

from sim.hardware.attention import Reference  # noqa: E402
from sim.hardware.executor import Executor  # noqa: E402
from sim.hardware.model import Model  # noqa: E402
from sim.hardware.torch_backend import TorchRecorder, check_tokens, num_blocks  # noqa: E402

SHAPE = TINY._replace(layers=2, vocab=256)
RULES = ("chunked-prefill", "kv-blocks", "preemption", "prefix-cache", "priority", "long-prefill")


@pytest.fixture(scope="module")
def model() -> Model:
    torch.set_num_threads(1)
    return Model(SHAPE, "cpu", torch.float32, 1200)


def scenarios() -> Iterator[tuple[str, Scenario]]:
    """The site's recordings and its figures of rules, with their own small blocks."""
    for name in ("six-steps", "group-b", "preemption", "prefix-cache", "long-128"):
        yield name, parse_scenario(SITE_SCENARIOS[name])
    for schedule in SCHEDULES:
        if schedule.name in RULES:
            chosen = {parameter.name: parameter.default for parameter in schedule.controls}
            config = {**schedule.config, **chosen}
            yield f"figure {schedule.name}", parse_scenario({"config": config, "requests": list(schedule.requests)})


ALL = dict(scenarios())


def run(model: Model, scenario: Scenario, attention: object) -> dict[str, list[int]]:
    steps = list(planned(simulate(scenario), scenario))
    prompts = prompt_ids(scenario, SHAPE.vocab)
    size, blocks = scenario.config.block_size, num_blocks(steps)
    executor = Executor(model, attention, size, blocks, prompts, is_proof=True)
    for step in steps:
        if step.work:
            executor.step(step)
    return executor.tokens


@pytest.mark.parametrize("name", ALL)
def test_tokens_are_those_without_cache_batch_and_chunks(model: Model, name: str) -> None:
    tokens = run(model, ALL[name], Reference(SHAPE))
    assert check_tokens(model, ALL[name], tokens) == sum(spec.output_tokens for spec in ALL[name].requests)


def test_the_scenarios_have_what_is_to_be_proved() -> None:
    traces = {name: simulate(scenario) for name, scenario in ALL.items()}
    assert any(step.preempted for step in traces["figure preemption"].steps)
    assert any(step.resumed for step in traces["preemption"].steps)
    assert any(step.cached for step in traces["figure prefix-cache"].steps)
    assert max(step.scheduled.get("P", 0) for step in traces["long-128"].steps) == 120


def test_a_wrong_block_table_is_noticed(model: Model) -> None:
    scenario = ALL["six-steps"]
    steps = list(planned(simulate(scenario), scenario))
    executor = Executor(model, Reference(SHAPE), 32, 9, prompt_ids(scenario, SHAPE.vocab), is_proof=True)
    executor.step(steps[0])
    wrong = tuple(replace(item, blocks=(8,)) if item.request_id == "A" else item for item in steps[1].work)
    with pytest.raises(ArithmeticError, match="step 1: a logit is no number"):
        executor.step(replace(steps[1], work=wrong))


def test_blocks_of_a_last_owner_are_poisoned(model: Model) -> None:
    """Reading what another request left in a block is noticed, too."""
    scenario = ALL["figure preemption"]
    steps = list(planned(simulate(scenario), scenario))
    again = [block for step in steps for block in step.empty_blocks]
    assert len(again) > len(set(again))


def test_a_recording_of_torch_is_checked_and_repeated(model: Model) -> None:
    order = Order("torch", "cpu", repeats=3, dropped=1)
    recording = TorchRecorder(order, TINY, 64).record(SITE_SCENARIOS["six-steps"], ALL["six-steps"])
    assert [len(step.ns["wall"]) for step in recording.steps] == [3] * 6
    assert recording.head["proof"]["tokens"] == 11
    assert all(min(step.ns["wall"]) > 0 for step in recording.steps)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Triton's interpreter and numpy
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("name", ["six-steps", "figure preemption", "figure prefix-cache", "group-b"])
def test_the_kernel_gives_the_same_tokens(
    model: Model, name: str, splits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Triton's interpreter on a CPU, or as it is on a GPU."""
    if not torch.cuda.is_available():
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    pytest.importorskip("triton")
    from sim.hardware.paged_attention import PagedAttention

    tokens = run(model, ALL[name], PagedAttention(SHAPE, splits))
    assert check_tokens(model, ALL[name], tokens) > 0
