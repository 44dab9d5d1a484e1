"""The real scheduler of vLLM as a server: scenarios in, traces out, one JSON document a line.

Runs in the virtual environment that `setup.sh` makes, not in the project's own. No model is loaded: what a model would
sample follows from the scenario (output length, accepted drafts).
"""

import json
import logging
import os
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.update(VLLM_LOGGING_LEVEL="ERROR", HF_HUB_OFFLINE="1", VLLM_NO_USAGE_STATS="1")
logging.disable(logging.WARNING)
with redirect_stdout(sys.stderr):
    import torch
    import vllm
    from vllm.config import CacheConfig, DeviceConfig, ModelConfig, SchedulerConfig, SpeculativeConfig, VllmConfig
    from vllm.lora.request import LoRARequest
    from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange
    from vllm.sampling_params import SamplingParams
    from vllm.utils.hashing import sha256
    from vllm.v1.core.encoder_cache_manager import EncoderCacheManager
    from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.output import SchedulerOutput
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
    from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput
    from vllm.v1.request import Request, RequestStatus
    from vllm.v1.structured_output import StructuredOutputManager

Json = dict[str, Any]

TINY_MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 256,
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "max_position_embeddings": 1 << 24,
}
"""vLLM wants to read some model's configuration; the scheduler takes nothing from it but its longest sequence."""

DEFAULTS: Json = {
    "max_num_batched_tokens": 2048,
    "max_num_seqs": 128,
    "max_model_len": 8192,
    "block_size": 16,
    "num_gpu_blocks": 10_000,
}
"""What the contract's keys are when a scenario leaves them out, where vLLM itself has another default or none."""

PASSED_ON = (
    *("max_num_batched_tokens", "max_num_seqs", "max_num_active_seqs", "max_num_scheduled_tokens", "max_model_len"),
    *("enable_chunked_prefill", "long_prefill_token_threshold", "long_prefill_token_threshold_adaptive", "policy"),
    *("watermark", "scheduler_reserve_full_isl", "prefill_schedule_interval", "async_scheduling"),
    "disable_chunked_mm_input",
)
"""Keys of a scenario that are arguments of `SchedulerConfig` under the same name."""

# Token ids by what they stand for; the ranges never meet.
SHARED, OWN, OUTPUT, RANGE = 1 << 30, 1 << 40, 1 << 50, 1 << 24


@cache
def model_config(max_model_len: int) -> ModelConfig:
    """The configuration of a model that nobody loads."""
    folder = Path(tempfile.mkdtemp(prefix="oracle-model-"))
    (folder / "config.json").write_text(json.dumps(TINY_MODEL))
    return ModelConfig(model=str(folder), skip_tokenizer_init=True, dtype="float32", max_model_len=max_model_len)


def build_scheduler(config: Json) -> Scheduler:
    """The real scheduler, configured as a scenario says."""
    settings = {key: config[key] for key in PASSED_ON if key in config}
    scheduler_config = SchedulerConfig(**{"async_scheduling": False, **settings}, is_encoder_decoder=False)
    num_drafts = config.get("num_speculative_tokens", 0)
    drafter = None
    if num_drafts:
        drafter = SpeculativeConfig(
            model="ngram", method="ngram", num_speculative_tokens=num_drafts, prompt_lookup_min=1, prompt_lookup_max=2
        )
        slots = config.get("draft_slots_per_request") or 0
        type(drafter).max_num_new_slots_for_drafting = property(lambda _: slots)
    # n-gram drafts do not go with async scheduling, other drafters do; the scheduler treats all alike.
    scheduler_config.async_scheduling = False if num_drafts else scheduler_config.async_scheduling
    cache_config = CacheConfig(
        block_size=config["block_size"], enable_prefix_caching=config.get("enable_prefix_caching", False)
    )
    cache_config.num_gpu_blocks = config["num_gpu_blocks"]
    whole = VllmConfig(
        model_config=model_config(config["max_model_len"]),
        scheduler_config=scheduler_config,
        cache_config=cache_config,
        device_config=DeviceConfig(device="cpu"),
        speculative_config=drafter,
    )
    is_async = config.get("async_scheduling", False)
    whole.scheduler_config.async_scheduling = is_async
    layers = FullAttentionSpec(block_size=config["block_size"], num_kv_heads=1, head_size=1, dtype=torch.float32)
    scheduler = (AsyncScheduler if is_async else Scheduler)(
        vllm_config=whole,
        kv_cache_config=KVCacheConfig(config["num_gpu_blocks"], [], [KVCacheGroupSpec(["layer"], layers)]),
        structured_output_manager=StructuredOutputManager(whole),
        block_size=config["block_size"],
        log_stats=True,
    )
    set_what_needs_hardware(scheduler, config)
    return scheduler


def set_what_needs_hardware(scheduler: Scheduler, config: Json) -> None:
    """What vLLM works out from a model, a drafter or adapters on a device, and a scenario states instead."""
    budget = config.get("encoder_compute_budget", 0)
    if budget:
        scheduler.max_num_encoder_input_tokens = budget
        scheduler.encoder_cache_manager = EncoderCacheManager(config.get("encoder_cache_size") or budget)
    if config.get("max_loras"):
        scheduler.lora_config = SimpleNamespace(max_loras=config["max_loras"])
    if config.get("num_lookahead_tokens") is not None:
        scheduler.num_lookahead_tokens = config["num_lookahead_tokens"]


class Recorder:
    """Drives one scheduler through one scenario and writes a record for each step.

    Args:
        scenario: in the form of the contract, checked.
    """

    def __init__(self, scenario: Json) -> None:
        self.name: str | None = scenario.get("name")
        self.config: Json = DEFAULTS | scenario.get("config", {})
        self.specs: list[Json] = scenario["requests"]
        self.index = {spec["id"]: index for index, spec in enumerate(self.specs)}
        self.num_drafts: int = self.config.get("num_speculative_tokens", 0)
        self.is_async: bool = self.config.get("async_scheduling", False)
        self.scheduler = build_scheduler(self.config)
        self.hasher = None
        if self.config.get("enable_prefix_caching"):
            self.hasher = get_request_block_hasher(self.config["block_size"], sha256)
        self.segments: dict[str, int] = {}
        self.accepts = {spec["id"]: deque(spec.get("accepts") or ()) for spec in self.specs}
        self.num_sampled = dict.fromkeys(self.index, 0)
        self.num_blocks: dict[str, int] = {}
        self.has_run: set[str] = set()
        self.in_flight: deque[tuple[SchedulerOutput, Json, list[str]]] = deque()
        self.records: list[Json] = []

    # --- requests

    def token_ids(self, spec: Json) -> list[int]:
        """The prompt: shared segments, then tokens that nobody else has."""
        ids: list[int] = []
        for name, length in spec.get("prefix") or ():
            first = SHARED + RANGE * self.segments.setdefault(name, len(self.segments))
            ids.extend(range(first, first + length))
        own = OWN + RANGE * self.index[spec["id"]]
        return [*ids, *range(own, own + spec["prompt_tokens"])][: spec["prompt_tokens"]]

    def request(self, spec: Json) -> Request:
        """What a scenario's request is in vLLM."""
        features = [
            MultiModalFeatureSpec(
                data=None,
                modality="image",
                identifier=str(image["hash"]) if image.get("hash") is not None else f"{spec['id']}#{i}",
                mm_position=PlaceholderRange(offset=image["offset"], length=image["length"]),
            )
            for i, image in enumerate(spec.get("images") or ())
        ]
        lora = spec.get("lora")
        return Request(
            request_id=spec["id"],
            prompt_token_ids=self.token_ids(spec),
            sampling_params=SamplingParams(ignore_eos=True, max_tokens=spec["output_tokens"]),
            pooling_params=None,
            mm_features=features or None,
            lora_request=LoRARequest(f"adapter {lora}", lora, "nowhere") if lora else None,
            # Ties in priority are broken by arrival, then list order.
            arrival_time=spec.get("arrival_step", 0) + self.index[spec["id"]] / len(self.specs),
            priority=spec.get("priority", 0),
            block_hasher=self.hasher,
        )

    # --- steps

    def run(self, max_steps: int) -> Json:
        """The trace of the scenario, cut before `max_steps`."""
        arrivals = deque(sorted(self.specs, key=lambda spec: spec.get("arrival_step", 0)))
        aborts = deque(
            sorted((s["abort_step"], self.index[s["id"]]) for s in self.specs if s.get("abort_step") is not None)
        )
        step = num_idle = 0
        while True:
            while arrivals and arrivals[0].get("arrival_step", 0) <= step:
                self.scheduler.add_request(self.request(arrivals.popleft()))
            while aborts and aborts[0][0] <= step:
                request_id = self.specs[aborts.popleft()[1]]["id"]
                self.scheduler.finish_requests(request_id, RequestStatus.FINISHED_ABORTED)
            if step >= max_steps or not (self.scheduler.has_requests() or arrivals or self.in_flight):
                break
            num_idle = num_idle + 1 if self.step(step) else 0
            step += 1
            if num_idle > 3 and not arrivals and not aborts:
                break
        while self.in_flight:
            self.apply_oldest()
        while self.records and not (self.records[-1]["scheduled"] or self.records[-1]["preempted"]):
            self.records.pop()
        unfinished = sorted(self.scheduler.requests)
        outcome = "finished" if not unfinished else "max_steps" if step >= max_steps else "stalled"
        return {"outcome": outcome, "unfinished": unfinished, "steps": self.records}

    def step(self, step: int) -> bool:
        """Schedule, and apply the outputs that are due. Returns whether nothing was scheduled."""
        was_running = {request.request_id for request in self.scheduler.running}
        output = self.scheduler.schedule()
        record = self.record(step, output, was_running)
        sampling = [rid for rid in output.num_scheduled_tokens if not self.scheduler.requests[rid].is_prefill_chunk]
        self.records.append(record)
        self.in_flight.append((output, record, sampling))
        is_empty = not output.num_scheduled_tokens
        if len(self.in_flight) > self.is_async or is_empty:
            self.apply_oldest()
        while is_empty and self.in_flight:
            self.apply_oldest()
        return is_empty

    def record(self, step: int, output: SchedulerOutput, was_running: set[str]) -> Json:
        """The contract's record of a step, as far as it is known before outputs."""
        scheduler = self.scheduler
        scheduled = dict(output.num_scheduled_tokens)
        computed = {request_id: scheduler.requests[request_id].num_computed_tokens for request_id in scheduled}
        admitted = [request_id for request_id in scheduled if request_id not in was_running]
        before = {request_id: computed[request_id] - scheduled[request_id] for request_id in admitted}
        record = {
            "step": step,
            "scheduled": scheduled,
            "new": [request_id for request_id in admitted if request_id not in self.has_run],
            "resumed": [request_id for request_id in admitted if request_id in self.has_run],
            "preempted": sorted(output.preempted_req_ids or ()),
            "cached": {request_id: tokens for request_id, tokens in before.items() if tokens > 0},
            "encoder": {rid: list(inputs) for rid, inputs in output.scheduled_encoder_inputs.items() if inputs},
            "blocks": dict(self.gained_blocks(scheduled, was_running)),
            "running": [request.request_id for request in scheduler.running],
            "waiting": [request.request_id for request in scheduler.waiting],
            "computed": computed,
            "spec": {rid: len(drafts) for rid, drafts in output.scheduled_spec_decode_tokens.items()},
            "free_blocks": scheduler.kv_cache_manager.block_pool.get_num_free_blocks(),
        }
        self.has_run.update(admitted)
        return record

    def gained_blocks(self, scheduled: Mapping[str, int], was_running: set[str]) -> Iterator[tuple[str, list[int]]]:
        """For each scheduled request the blocks that it did not have; an admitted one had none."""
        for request_id in scheduled:
            (blocks,) = self.scheduler.kv_cache_manager.get_block_ids(request_id)
            had = self.num_blocks[request_id] if request_id in was_running else 0
            self.num_blocks[request_id] = len(blocks)
            if len(blocks) > had:
                yield request_id, list(blocks[had:])

    def apply_oldest(self) -> None:
        """Sample for the oldest step in flight and give its outputs to the scheduler."""
        output, record, sampling = self.in_flight.popleft()
        sampled = {rid: self.sample(rid, output) if rid in sampling else [] for rid in output.num_scheduled_tokens}
        applied = self.scheduler.update_from_output(
            output,
            ModelRunnerOutput(
                req_ids=list(sampled),
                req_id_to_index={request_id: i for i, request_id in enumerate(sampled)},
                sampled_token_ids=list(sampled.values()),
                logprobs=None,
                prompt_logprobs_dict={},
                pooler_output=[],
            ),
        )
        outputs = [one for client in applied.values() for one in client.outputs]
        record["generated"] = {one.request_id: len(one.new_token_ids) for one in outputs if one.new_token_ids}
        record["finished"] = [one.request_id for one in outputs if one.finish_reason is not None]
        if self.num_drafts and not self.is_async:
            drafting = [request_id for request_id in sampling if request_id in self.scheduler.requests]
            drafts = [[0] * self.num_drafts for _ in drafting]
            self.scheduler.update_draft_token_ids(DraftTokenIds(drafting, drafts))

    def sample(self, request_id: str, output: SchedulerOutput) -> list[int]:
        """One token, and as many drafts before it as the scenario accepts."""
        if request_id not in self.scheduler.requests:
            return []
        num_drafts = len(output.scheduled_spec_decode_tokens.get(request_id, ()))
        accepts = self.accepts[request_id]
        num_tokens = 1 + (min(accepts.popleft(), num_drafts) if num_drafts and accepts else 0)
        first = OUTPUT + RANGE * self.index[request_id] + self.num_sampled[request_id]
        self.num_sampled[request_id] += num_tokens
        return list(range(first, first + num_tokens))


def answer(question: Json) -> Json:
    """The trace of `question["scenario"]`, or the error that vLLM raises."""
    scenario = question["scenario"]
    head = {"name": scenario.get("name"), "engine": f"vllm {vllm.__version__}"}
    try:
        return head | Recorder(scenario).run(question.get("max_steps", 1500))
    except Exception as error:  # noqa: BLE001 - whatever vLLM raises is the answer
        # A configuration that is refused, or a failed assertion; pydantic adds lines of its own.
        lines = str(error).split("[type=")[0].strip().splitlines()
        return head | {"error": type(error).__name__, "message": lines[-1].strip() if lines else ""}


def main() -> None:
    """Answer until the input ends. The first line says who answers."""
    answers, sys.stdout = sys.stdout, sys.stderr
    init_none_hash(sha256)
    print(json.dumps({"engine": f"vllm {vllm.__version__}"}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
