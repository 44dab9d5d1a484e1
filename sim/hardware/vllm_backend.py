"""Records a scenario with the engine of vLLM itself: its own scheduler, block tables, workers and times.

The engine runs in this process, so that its scheduler can be watched: a subclass notes what each `schedule()` decided,
and the clock when the batch leaves for the worker and when it is back.
"""

import importlib
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from ..config import Config
from ..errors import ConfigError
from ..parameter import shown
from ..recordings.recording import RecordedStep, Recording
from ..scenario import RequestSpec, Scenario
from .order import UNPROVED, Order, head
from .plan import check_executable, prompt_ids
from .shapes import EPSILON, Shape

ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_DISABLE_REQUEST_ID_RANDOMIZATION": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
}
"""The scheduler in this process, requests under their own ids, nothing said and nobody asked."""

# vLLM reads these when it is imported.
os.environ.update(ENVIRONMENT)
os.environ.setdefault("OMP_NUM_THREADS", "1")
with redirect_stdout(sys.stderr):
    import safetensors.torch
    import torch
    import vllm
    from vllm import EngineArgs, LLMEngine, SamplingParams
    from vllm.v1.core.sched.scheduler import Scheduler

    from .model import Model
    from .torch_backend import DTYPES, check_tokens, device_name

CPU_BLOCKS = 32
"""The attention of vLLM on a CPU takes blocks of a multiple of so many tokens."""
MOST_STEPS = 100_000

PASSED_ON = (
    *("max_num_batched_tokens", "max_num_seqs", "max_num_active_seqs", "max_num_scheduled_tokens", "max_model_len"),
    *("enable_chunked_prefill", "long_prefill_token_threshold", "long_prefill_token_threshold_adaptive", "watermark"),
    *("scheduler_reserve_full_isl", "prefill_schedule_interval", "block_size", "enable_prefix_caching"),
)
"""Keys of a configuration that are arguments of the engine under the same name."""


class Seen(NamedTuple):
    """One step as the scheduler decided it, and its times in nanoseconds by clock."""

    decided: dict[str, Any]
    sampled: dict[str, int]
    ns: dict[str, int]


class RecordingScheduler(Scheduler):  # type: ignore[misc] # its types are not read
    """vLLM's scheduler; it notes in `seen` what it decided and how long the batch was away."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.arguments = (args, kwargs)
        super().__init__(*args, **kwargs)
        self.seen: list[Seen] = []
        self.num_steps = 0
        self._left = (0, 0)
        self._ns: dict[str, int] = {}
        self._decided: dict[str, Any] = {}
        self._event: Any = None

    def renewed(self) -> "RecordingScheduler":
        """A scheduler like this one before anything ran; workers still hear of what has finished."""
        args, kwargs = self.arguments
        fresh = type(self)(*args, **kwargs)
        fresh.finished_req_ids = self.finished_req_ids
        return fresh

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        """Decide, and note what was decided."""
        started = time.perf_counter_ns()
        output = super().schedule(*args, **kwargs)
        self._ns = {"schedule": time.perf_counter_ns() - started}
        self._decided = self._decision(output)
        if torch.cuda.is_available():
            self._event = torch.cuda.Event(enable_timing=True)
            self._event.record()
        self._left = (time.perf_counter_ns(), time.process_time_ns())
        return output

    def _decision(self, output: Any) -> dict[str, Any]:
        plan = {
            request_id: (self.requests[request_id].num_computed_tokens - n, n)
            for request_id, n in output.num_scheduled_tokens.items()
        }
        return {
            "step": self.num_steps,
            "plan": plan,
            "blocks": {rid: tuple(self.kv_cache_manager.get_block_ids(rid)[0]) for rid in plan},
            "preempted": sorted(output.preempted_req_ids or ()),
            "free_blocks": self.kv_cache_manager.block_pool.get_num_free_blocks(),
        }

    def update_from_output(self, *args: Any, **kwargs: Any) -> Any:
        """Note how long the batch was away and what it brought, and go on."""
        wall, cpu = self._left
        self._ns |= {"wall": time.perf_counter_ns() - wall, "cpu": time.process_time_ns() - cpu}
        if self._event is not None:
            back = torch.cuda.Event(enable_timing=True)
            back.record()
            back.synchronize()
            self._ns["device"] = int(self._event.elapsed_time(back) * 1_000_000)
        applied = super().update_from_output(*args, **kwargs)
        outputs = [item for client in applied.values() for item in client.outputs]
        sampled = {item.request_id: item.new_token_ids[0] for item in outputs if item.new_token_ids}
        self.seen.append(Seen(self._decided, sampled, self._ns if self._decided["plan"] else {}))
        return applied


class VllmRecorder:
    """Runs scenarios on vLLM, each on an engine of its own, all on one model.

    Args:
        order: what is asked for.
        shape: the model.
        max_positions: longest sequence of any scenario to come.
    """

    def __init__(self, order: Order, shape: Shape, max_positions: int) -> None:
        if order.device != self._own_device():
            raise ConfigError("--device", f"{order.device} is not what this vLLM runs on: {self._own_device()}")
        torch.set_num_threads(order.threads)
        self.order, self.shape = order, shape
        self.model = Model(shape, "cpu", DTYPES[order.dtype], max_positions)
        self._folder = tempfile.TemporaryDirectory(prefix="batchloom-model-")
        export(self.model, Path(self._folder.name), max_positions)

    @staticmethod
    def _own_device() -> str:
        return str(importlib.import_module("vllm.platforms").current_platform.device_type)

    def record(self, document: Mapping[str, Any], scenario: Scenario) -> Recording:
        """Run a scenario as often as was asked for.

        Raises:
            ConfigError: vLLM does not take it, two runs differ, or a token is wrong.
        """
        check_executable(scenario)
        if scenario.in_time:
            raise ConfigError("requests[0].arrival_us", "cannot be recorded with vllm, must be arrival_step")
        arguments = self._arguments(scenario)
        try:
            with redirect_stdout(sys.stderr):
                engine = LLMEngine.from_engine_args(EngineArgs(**arguments))
        except (ValueError, RuntimeError) as error:
            raise ConfigError("config", f"vLLM does not start with it: {' '.join(str(error).split())}") from None
        runs = [_run(engine, scenario, self.shape.vocab) for _ in range(self.order.dropped + self.order.repeats)]
        _forget(engine)
        steps = _merged(runs[self.order.dropped :])
        return Recording(self._head(document, scenario, steps, arguments), steps)

    def _arguments(self, scenario: Scenario) -> dict[str, Any]:
        """What the engine is started with."""
        config = scenario.config
        if self.order.device == "cpu" and config.block_size % CPU_BLOCKS:
            problem = f"{config.block_size} is not allowed, vLLM on a CPU takes multiples of {CPU_BLOCKS}"
            raise ConfigError("config.block_size", problem)
        known = EngineArgs.__dataclass_fields__
        settings = {key: getattr(config, key) for key in PASSED_ON}
        for key in [key for key in settings if key not in known]:
            if settings.pop(key) != getattr(Config(), key):
                raise ConfigError(f"config.{key}", f"vLLM {vllm.__version__} has no such setting")
        return {
            **settings,
            "num_gpu_blocks_override": config.num_gpu_blocks,
            "scheduling_policy": config.policy,
            "model": self._folder.name,
            "skip_tokenizer_init": True,
            "dtype": self.order.dtype,
            "enforce_eager": True,
            "async_scheduling": False,
            "scheduler_cls": RecordingScheduler,
            "generation_config": "vllm",
            "seed": 0,
            "gpu_memory_utilization": 0.5,
            "use_tqdm_on_load": False,
        }

    def _head(
        self, document: Mapping[str, Any], scenario: Scenario, steps: Sequence[RecordedStep], arguments: dict[str, Any]
    ) -> dict[str, Any]:
        proof = UNPROVED
        if self.order.dtype == "float32":
            tokens = prompt_ids(scenario, self.shape.vocab)
            for step in steps:
                for request_id, token in step.sampled.items():
                    tokens[request_id].append(token)
            count = check_tokens(self.model, scenario, tokens)
            proof = {"tokens": count, "against": "each token by the same weights in torch from its whole sequence"}
        versions = {"python": platform.python_version(), "torch": torch.__version__, "vllm": vllm.__version__}
        config = {key: arguments[key] for key in ("enforce_eager", "async_scheduling")}
        found = head(self.order, document, scenario, self.shape, versions, config, proof)
        found["device"]["name"] = device_name(self.order.device)
        return found


def export(model: Model, folder: Path, max_positions: int) -> None:
    """Write the weights as a model that vLLM can load."""
    shape = model.shape
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "vocab_size": shape.vocab,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.ffn,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "head_dim": shape.head_dim,
        "num_key_value_heads": shape.kv_heads,
        "max_position_embeddings": max_positions,
        "rms_norm_eps": EPSILON,
        "rope_theta": float(shape.theta),
        "tie_word_embeddings": False,
        "torch_dtype": str(model.dtype)[6:],
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {name: tensor.contiguous().clone() for name, tensor in model.tensors()}
    safetensors.torch.save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def _core(engine: Any) -> Any:
    """The part of the engine that owns the scheduler."""
    return engine.engine_core.engine_core


def _run(engine: Any, scenario: Scenario, vocab: int) -> list[Seen]:
    """One run from empty, on a scheduler of its own."""
    core = _core(engine)
    scheduler = core.scheduler = core.scheduler.renewed()
    prompts, pending, aborts = prompt_ids(scenario, vocab), scenario.arrivals(), scenario.aborts()
    while scheduler.num_steps < MOST_STEPS:
        while pending and pending[0].arrival_step <= scheduler.num_steps:
            _add(engine, pending.pop(0), prompts)
        for request_id in aborts.pop(scheduler.num_steps, ()):
            engine.abort_request([request_id])
        if scheduler.has_unfinished_requests():
            engine.step()
        elif pending:
            free = scheduler.kv_cache_manager.block_pool.get_num_free_blocks()
            nothing: dict[str, Any] = {"plan": {}, "blocks": {}, "preempted": [], "free_blocks": free}
            scheduler.seen.append(Seen({"step": scheduler.num_steps, **nothing}, {}, {}))
        else:
            return list(scheduler.seen)
        scheduler.num_steps += 1
    raise ConfigError("requests", f"vLLM has not finished after {MOST_STEPS} steps")


def _add(engine: Any, spec: RequestSpec, prompts: Mapping[str, list[int]]) -> None:
    sampling = SamplingParams(temperature=0, max_tokens=spec.output_tokens, ignore_eos=True, detokenize=False)
    prompt = {"prompt_token_ids": prompts[spec.id]}
    try:
        engine.add_request(spec.id, prompt, sampling, arrival_time=float(spec.index), priority=spec.priority)
    except ValueError as error:
        raise ConfigError(f"requests[{spec.index}]", f"vLLM refuses it: {' '.join(str(error).split())}") from None


def _forget(engine: Any) -> None:
    """Let another engine start in this process."""
    engine.engine_core.shutdown()
    importlib.import_module("vllm.distributed").cleanup_dist_env_and_memory()


def _merged(runs: Sequence[Sequence[Seen]]) -> list[RecordedStep]:
    """The runs as one, with the times of each.

    Raises:
        ConfigError: a run decided otherwise than the first.
    """
    steps = []
    for index, seen in enumerate(runs[0]):
        for number, run in enumerate(runs):
            if run[index][:2] != seen[:2]:
                raise ConfigError(f"step {index}", f"run {number} differs from the first: {shown(run[index].decided)}")
        ns = {clock: tuple(run[index].ns[clock] for run in runs) for clock in seen.ns}
        steps.append(RecordedStep(**seen.decided, sampled=seen.sampled, ns=ns))
    return steps
