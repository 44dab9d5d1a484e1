"""What a trace and its scenario tell about the moments of decision, derived anew and not asked of the scheduler.

`moments` goes through a trace and gives for each step what held when it was planned: who was there in which order, how
far each was, what they owned. Written from the contract's description of the trace, not from the simulator.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.golden.prefix import PrefixCache

Json = dict[str, Any]

DEFAULTS: Json = {
    "max_num_batched_tokens": 2048,
    "max_num_seqs": 128,
    "max_model_len": 8192,
    "block_size": 16,
    "num_gpu_blocks": 10_000,
    "enable_chunked_prefill": True,
    "scheduler_reserve_full_isl": True,
    "prefill_schedule_interval": 1,
    "policy": "fcfs",
}


@dataclass
class Life:
    """One request as far as the trace tells: tokens known, tokens computed, blocks owned."""

    spec: Json
    index: int
    known: int = 0
    computed: int = 0
    owned: list[int] = field(default_factory=list)
    num_generated: int = 0
    # The last step that gave it tokens left some known token uncomputed.
    is_chunk: bool = False
    preempted_at: int = -1

    @property
    def key(self) -> tuple[int, int, int]:
        """Place in the order of priority."""
        return (self.spec.get("priority", 0), self.spec.get("arrival_step", 0), self.index)


@dataclass
class Moment:
    """A step, with everything as it was before it was planned, but for the blocks, which are as it left them.

    Valid until the next one is asked for. `freed` says how many blocks each victim gave up. `steps_since_prefill`
    counts executed steps up to this one, from the last that carried prefill; `None` while the trace does not tell (a
    victim of the same step may have carried it).
    """

    config: Json
    step: Json
    lives: dict[str, Life]
    running: list[str]
    waiting: list[str]
    freed: dict[str, int]
    in_flight: list[Json]
    steps_since_prefill: int | None
    cache: PrefixCache

    def budget_left(self, before: str | None = None) -> int:
        """Tokens that one more request could get at the end of the step, or when the turn of `before` came."""
        given = []
        for request_id, tokens in self.step["scheduled"].items():
            if request_id == before:
                break
            given.append(tokens)
        positions = self.config["max_num_batched_tokens"] - sum(given) - self.draft_slots * (len(given) + 1)
        return min(self.token_budget - sum(given), positions)

    @property
    def token_budget(self) -> int:
        """Tokens that a step may hand out."""
        return int(self.config.get("max_num_scheduled_tokens") or self.config["max_num_batched_tokens"])

    @property
    def draft_slots(self) -> int:
        """Input positions that each scheduled request keeps."""
        drafts = self.config.get("num_speculative_tokens", 0)
        return int(self.config.get("draft_slots_per_request") or 0) if drafts else 0

    @property
    def threshold(self) -> int | None:
        """Most tokens for one request."""
        here = len(self.running) + len(self.waiting)
        threshold = self.config.get("long_prefill_token_threshold", 0)
        if not threshold or here < 2:
            return None
        fair = self.config["max_num_batched_tokens"] // here
        return int(max(threshold, fair)) if self.config.get("long_prefill_token_threshold_adaptive") else int(threshold)

    @property
    def slots(self) -> int:
        """Most running requests."""
        return int(self.config.get("max_num_active_seqs") or self.config["max_num_seqs"])


class Replay:
    """Goes through a trace with `explain`, step by step."""

    def __init__(self, scenario: Json, trace: Json) -> None:
        self.config = DEFAULTS | scenario["config"]
        self.steps = trace["steps"]
        self.specs = scenario["requests"]
        self.lives: dict[str, Life] = {}
        self.running: list[str] = []
        self.waiting: list[str] = []
        self.cache = PrefixCache(self.config["block_size"])
        self.in_flight: deque[Json] = deque()
        self.num_executed = 0
        self.last_prefill: int | None = -self.config["prefill_schedule_interval"]

    def moments(self) -> Iterator[Moment]:
        """Every step of the trace, each with what held before it."""
        for step in self.steps:
            self._arrive_and_leave(step["step"])
            freed = {request_id: len(self.lives[request_id].owned) for request_id in step["preempted"]}
            self._hand_out_blocks(step)
            since = None if self.last_prefill is None else self.num_executed + 1 - self.last_prefill
            queues = (self.running, self.waiting)
            yield Moment(self.config, step, self.lives, *queues, freed, list(self.in_flight), since, self.cache)
            self._advance(step)
            self.in_flight.append(step)
            depth = 2 if self.config.get("async_scheduling") else 1
            if len(self.in_flight) >= depth or not step["scheduled"]:
                self._land(self.in_flight.popleft())
            while self.in_flight and not step["scheduled"]:
                self._land(self.in_flight.popleft())

    def _arrive_and_leave(self, step: int) -> None:
        for index, spec in enumerate(self.specs):
            if spec.get("arrival_step", 0) == step:
                self.lives[spec["id"]] = Life(spec, index, known=spec["prompt_tokens"])
                self.waiting.append(spec["id"])
        for spec in self.specs:
            if spec.get("abort_step") == step and spec["id"] in self.lives:
                self._remove(spec["id"])
        if self.config["policy"] == "priority":
            self.waiting.sort(key=lambda request_id: self.lives[request_id].key)

    def _remove(self, request_id: str) -> None:
        self.cache.give_up(self.lives.pop(request_id).owned)
        for queue in (self.running, self.waiting):
            if request_id in queue:
                queue.remove(request_id)

    def _hand_out_blocks(self, step: Json) -> None:
        """Blocks and prefix cache as they are when the step is planned."""
        for request_id in step["preempted"]:
            self.cache.give_up(self.lives[request_id].owned)
            self.lives[request_id].owned = []
        for request_id in step["scheduled"]:
            life = self.lives[request_id]
            hits = step["cached"].get(request_id, 0) // self.config["block_size"]
            self.cache.take(life.owned, step["blocks"].get(request_id, []), hits)
            if self.config.get("enable_prefix_caching"):
                self.cache.fill(life.spec, life.owned, min(step["computed"][request_id], life.known))

    def _advance(self, step: Json) -> None:
        """Counters and queues after the step is planned."""
        for request_id in step["preempted"]:
            self.lives[request_id].computed = 0
            self.lives[request_id].preempted_at = step["step"]
        carries_prefill = False
        for request_id, tokens in step["scheduled"].items():
            life = self.lives[request_id]
            admitted = request_id in step["new"] or request_id in step["resumed"]
            before = step["computed"][request_id] - tokens
            carries_prefill |= before < life.known - 1 if admitted else life.is_chunk
            life.computed = step["computed"][request_id]
            life.is_chunk = request_id not in step["generated"]
        self.num_executed += bool(step["scheduled"])
        if carries_prefill:
            self.last_prefill = self.num_executed
        elif step["preempted"] and self.config["policy"] == "priority":
            self.last_prefill = None
        self.running, self.waiting = list(step["running"]), list(step["waiting"])

    def _land(self, step: Json) -> None:
        """The outputs of `step` are applied."""
        for request_id in step["scheduled"]:
            life = self.lives.get(request_id)
            if life is None:
                continue
            generated = step["generated"].get(request_id, 0)
            life.known += generated
            life.num_generated += generated
            is_stale = life.preempted_at > step["step"]
            if generated and not is_stale:
                life.computed -= max(step["spec"].get(request_id, 0) + 1 - generated, 0)
                self._fill_certain(life)
        for request_id in step["finished"]:
            self._remove(request_id)

    def _fill_certain(self, life: Life) -> None:
        """Drafts, and tokens computed ahead of their output, enter the prefix cache when it is known what they are."""
        ahead = self.config.get("async_scheduling") or self.config.get("num_speculative_tokens")
        if self.config.get("enable_prefix_caching") and ahead:
            in_flight = sum(
                flight["scheduled"].get(life.spec["id"], 0)
                for flight in self.in_flight
                if flight["step"] > life.preempted_at
            )
            self.cache.fill(life.spec, life.owned, min(life.computed - in_flight, life.known))
