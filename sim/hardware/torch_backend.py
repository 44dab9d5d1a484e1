"""Records a scenario with the torch executor: the simulator's plan on a model, timed, and proved to be right."""

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..engine import simulate
from ..errors import ConfigError
from ..recordings.check import expected_step, with_tables
from ..recordings.recording import RecordedStep, Recording
from ..scenario import Scenario
from ..trace import Trace
from .attention import Attention, Reference
from .executor import Executor, StepTimes
from .model import Model, reference_tokens
from .order import UNPROVED, Order, head
from .plan import PlannedStep, check_executable, planned, prompt_ids
from .shapes import Shape

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
PROOF = "each token in float32 from its whole sequence, without cache, batch or chunks; what was never written is NaN"


class TorchRecorder:
    """Runs scenarios on one model.

    Args:
        order: what is asked for.
        shape: the model.
        max_positions: longest sequence of any scenario to come.
    """

    def __init__(self, order: Order, shape: Shape, max_positions: int) -> None:
        if order.device == "cuda" and not torch.cuda.is_available():
            raise ConfigError("--device", "cuda is not available: torch sees no such device")
        if order.device == "cpu":
            torch.set_num_threads(order.threads)
        self.order, self.shape = order, shape
        self.model = Model(shape, order.device, DTYPES[order.dtype], max_positions)

    def record(self, document: Mapping[str, Any], scenario: Scenario) -> Recording:
        """Run a scenario as often as was asked for, and once more to prove it.

        Raises:
            ConfigError: it cannot be executed, or a token is wrong.
        """
        trace = _trace(scenario)
        every = [self._run(scenario, trace) for _ in range(self.order.dropped + self.order.repeats)]
        runs = [times for _, times in every[self.order.dropped :]]
        tokens = every[-1][0]
        proof = UNPROVED
        if self.order.dtype == "float32":
            tokens, _ = self._run(scenario, trace, is_proof=True)
            proof = {"tokens": check_tokens(self.model, scenario, tokens), "against": PROOF}
        steps = self._steps(trace, scenario, tokens, runs)
        versions = {"python": platform.python_version(), "torch": torch.__version__}
        config = {"attention": attention_for(self.shape, self.order.device).name, "compiled": False}
        recorded = head(self.order, document, scenario, self.shape, versions, config, proof)
        recorded["device"]["name"] = device_name(self.order.device)
        return Recording(recorded, steps)

    def _run(
        self, scenario: Scenario, trace: Trace, *, is_proof: bool = False
    ) -> tuple[dict[str, list[int]], list[StepTimes | None]]:
        """All tokens by request after one run, and the times of its steps."""
        steps = list(planned(trace, scenario))
        executor = Executor(
            self.model,
            attention_for(self.shape, self.order.device),
            scenario.config.block_size,
            num_blocks(steps),
            prompt_ids(scenario, self.shape.vocab),
            is_proof=is_proof,
        )
        times = [executor.step(step)[1] if step.work else None for step in steps]
        return executor.tokens, times

    @staticmethod
    def _steps(
        trace: Trace, scenario: Scenario, tokens: Mapping[str, list[int]], runs: Sequence[Sequence[StepTimes | None]]
    ) -> list[RecordedStep]:
        known = {spec.id: spec.prompt_tokens for spec in scenario.requests}
        steps = []
        for index, (record, tables) in enumerate(with_tables(trace)):
            sampled = {request_id: tokens[request_id][known[request_id]] for request_id in record.generated}
            for request_id, count in record.generated.items():
                known[request_id] += count
            times = [run[index] for run in runs]
            ns = {
                clock: tuple(getattr(item, clock) for item in times if item is not None)
                for clock in StepTimes._fields
                if any(item is not None and getattr(item, clock) is not None for item in times)
            }
            steps.append(RecordedStep(**expected_step(record, tables), sampled=sampled, ns=ns))
        return steps


def _trace(scenario: Scenario) -> Trace:
    check_executable(scenario)
    trace = simulate(scenario)
    if trace.error is not None:
        raise ConfigError(f"config.{trace.error.field}", trace.error.message)
    return trace


def num_blocks(steps: Sequence[PlannedStep]) -> int:
    """Blocks that a pool must have for these steps."""
    return 1 + max((block for step in steps for item in step.work for block in item.blocks), default=0)


def attention_for(shape: Shape, device: str) -> Attention:
    """Our own kernel on CUDA, the reference elsewhere."""
    if device == "cuda":
        from .paged_attention import PagedAttention  # noqa: PLC0415 - it needs Triton

        return PagedAttention(shape)
    return Reference(shape)


def check_tokens(model: Model, scenario: Scenario, tokens: Mapping[str, list[int]]) -> int:
    """Compare what came out with what the model answers to each prompt by itself.

    Returns:
        How many tokens were compared.

    Raises:
        ConfigError: the first request whose tokens differ.
    """
    count = 0
    for spec in scenario.requests:
        mine = tokens[spec.id][spec.prompt_tokens :]
        theirs = reference_tokens(model, tokens[spec.id][: spec.prompt_tokens], len(mine))
        if mine != theirs:
            place = next(i for i, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1])
            problem = f"output token {place} is {mine[place]}, without cache and batch it is {theirs[place]}"
            raise ConfigError(f"request {spec.id}", problem)
        count += len(mine)
    return count


def device_name(device: str) -> str:
    """What the device calls itself."""
    if device == "cuda":
        return str(torch.cuda.get_device_name())
    return cpu_name()


def cpu_name() -> str:
    """The processor by the operating system's name for it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123 - a file of the system
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
