"""The two loops of `scheduler.py` over the requests that need a look; the others sleep.

A request that decodes takes one token a step until it crosses a block, is preempted or samples its last token. While it
sleeps nobody visits it: its counters follow by arithmetic from the step in which it fell asleep. `phase` knows who
needs a block in which step, `calendar` who samples a last token. With `lazy=False` nobody ever sleeps.
"""

from bisect import bisect_left
from heapq import heappop, heappush

from . import reasons
from .config import Config
from .fast_state import BlockStack, Sequence, WaitingLine
from .reasons import Reason
from .residency import ASLEEP, FOR_EVER, RunLog, Stay


class FastScheduler:
    """`schedule` and `update` of one step, over the requests that need a look."""

    def __init__(self, config: Config, lazy: bool = True) -> None:
        self.config = config
        self.lazy = lazy
        self.log = RunLog(config.block_size, config.num_gpu_blocks)
        self.max_num_active_reqs = config.max_num_active_seqs or config.max_num_seqs
        self.token_budget = config.token_budget
        self.blocks = BlockStack(config.num_gpu_blocks)
        self.waiting = WaitingLine(config.policy)
        # Running requests by the number of their admission, which is their order.
        self.running: dict[int, Sequence] = {}
        self.awake: dict[int, Sequence] = {}
        self.num_asleep = 0
        self.sum_of_origins = 0
        # For each place of a step in a block, the sleepers who need a block then, in running order.
        self.phase: list[dict[int, list[int]]] = [{} for _ in range(config.block_size)]
        self.calendar: dict[int, list[Sequence]] = {}
        self._wake_steps: list[int] = []
        self._num_admitted = 0
        self.last_prefill_step = -config.prefill_schedule_interval
        self.num_executed_steps = 0
        self.prefill_capacity_bound = False
        self.step = 0

    # ------------------------------------------------------------------ sleep

    def _sleep(self, sequence: Sequence, step: int) -> None:
        """From `step` on one token a step, until the last one, for which it wakes."""
        last = step + sequence.end - sequence.tokens - 1
        if last <= step:
            return
        sequence.asleep = True
        sequence.origin = step - sequence.computed
        sequence.wake_step = last
        del self.awake[sequence.number]
        self._join(sequence.origin % self.config.block_size, sequence)
        if last in self.calendar:
            self.calendar[last].append(sequence)
        else:
            self.calendar[last] = [sequence]
            heappush(self._wake_steps, last)
        self.num_asleep += 1
        self.sum_of_origins += sequence.origin
        sequence.stay.log.append((step, ASLEEP, sequence.origin, 0, 1))

    def _join(self, turn: int, sequence: Sequence) -> None:
        """Among those who need a block at `turn`, in running order."""
        due, number = self.phase[turn], sequence.number
        is_last = not due or next(reversed(due)) < number
        due[number] = sequence.stay.blocks
        if not is_last:
            self.phase[turn] = dict(sorted(due.items()))

    def _rouse(self, sequence: Sequence) -> None:
        """Out of the sleepers, with its counters as they are before this step."""
        sequence.asleep = False
        sequence.computed = self.step - sequence.origin
        sequence.tokens = sequence.computed + 1
        sequence.wake_step = -1
        del self.phase[sequence.origin % self.config.block_size][sequence.number]
        self.num_asleep -= 1
        self.sum_of_origins -= sequence.origin

    def _wake(self, sequence: Sequence) -> None:
        self._rouse(sequence)
        self.awake[sequence.number] = sequence
        # Should it get nothing in this step, a reader must not take it for asleep.
        sequence.stay.log.append((self.step, 0, sequence.computed, 0, 0))

    def wake_all(self) -> None:
        """Nobody sleeps any more."""
        for sequence in self.running.values():
            if sequence.asleep:
                self._wake(sequence)

    def _is_crowded(self, threshold: int) -> bool:
        """Whether the budget might end before the last sleeper in running order: then order decides."""
        if not self.num_asleep:
            return False
        demand = self.num_asleep
        for sequence in self.awake.values():
            wanted = sequence.tokens - sequence.computed
            demand += min(wanted, threshold or wanted)
        if demand <= self.token_budget:
            return False
        last_asleep = next(s.number for s in reversed(self.running.values()) if s.asleep)
        for number, sequence in self.awake.items():
            if number > last_asleep:
                wanted = sequence.tokens - sequence.computed
                demand -= min(wanted, threshold or wanted)
        return demand > self.token_budget

    # ------------------------------------------------------------------ one step

    def schedule(self) -> dict[Sequence, int]:
        """Plan one step. Returns the tokens of those that were awake, in running order; every sleeper has one more."""
        step = self.step
        for sequence in self.calendar.pop(step, ()):
            if sequence.asleep and sequence.wake_step == step:
                self._wake(sequence)
        num_requests = len(self.running) + self.waiting.num_waiting
        threshold = self.config.long_prefill_token_threshold if num_requests > 1 else 0
        if threshold and self.config.long_prefill_token_threshold_adaptive:
            threshold = max(threshold, self.config.max_num_batched_tokens // num_requests)
        held = self._steps_held() if self.config.prefill_schedule_interval > 1 else 0
        if self._is_crowded(threshold):
            self.wake_all()
        plan: dict[Sequence, int] = {}
        budget, running_stop, prefill = self._schedule_running(plan, threshold, held)
        victims = self.log.preempted.get(step)
        waiting_stop: Reason | None
        if victims:
            waiting_stop = reasons.after_preemption(sorted(victims))
        else:
            waiting_stop, admitted = self._schedule_waiting(plan, budget, threshold, held)
            prefill |= admitted
        if plan or self.num_asleep:
            self.num_executed_steps += 1
        if prefill:
            self.last_prefill_step = self.num_executed_steps
        self.log.note_stops(step, running_stop, waiting_stop)
        return plan

    def _steps_held(self) -> int:
        """Steps for which prefill is still held back, 0 when it may run."""
        interval = self.config.prefill_schedule_interval
        left = interval - (self.num_executed_steps + 1 - self.last_prefill_step)
        if left <= 0 or self.prefill_capacity_bound:
            return 0
        return left if self.num_asleep or any(not s.is_prefill_chunk for s in self.awake.values()) else 0

    def _schedule_running(
        self, plan: dict[Sequence, int], threshold: int, held: int
    ) -> tuple[int, Reason | None, bool]:
        """First, the running requests: those awake, and the sleepers at a block boundary, in running order."""
        budget = self.token_budget - self.num_asleep
        running_stop: Reason | None = None
        prefill = False
        running, blocks, block_size = self.running, self.blocks, self.config.block_size
        due = list(self.phase[self.step % block_size])
        for number, sequence in self._awake_in_order():
            if due and due[0] < number:
                budget += self._supply(due, number, plan)
            if number not in running:
                continue  # a victim of this step
            if budget == 0:
                running_stop = reasons.token_budget(self.token_budget, self.token_budget)
                continue
            if sequence.decodes(self.config.max_model_len):
                num_tokens, need = 1, 0 if sequence.computed % block_size else 1
            else:
                num_tokens, need = self._running_share(sequence, budget, threshold, held)
            if num_tokens == 0:
                continue
            if need:
                if need > blocks.num_free:
                    budget += self._make_room(sequence, need, plan)
                    if number not in running:
                        continue
                sequence.stay.blocks.extend(blocks.take(need))
            plan[sequence] = num_tokens
            budget -= num_tokens
            prefill |= sequence.is_prefill_chunk
        if due:
            budget += self._supply(due, FOR_EVER, plan)
        return budget, running_stop, prefill

    def _awake_in_order(self) -> list[tuple[int, Sequence]]:
        """Those to look at in this step, by number, which is running order."""
        return sorted(self.awake.items()) if self.lazy else list(self.running.items())

    def _supply(self, due: list[int], before: int, plan: dict[Sequence, int]) -> int:
        """The block that each sleeper needs which is due and stands before number `before`.

        Takes them out of `due`. Their tokens have left the budget already. Returns the tokens that victims gave back.
        """
        split = bisect_left(due, before)
        numbers, restored = due[:split], 0
        del due[:split]
        if split <= self.blocks.num_free:
            self.blocks.give_one_each(
                [self.running[number].stay.blocks for number in numbers if number in self.running]
            )
            return 0
        for number in numbers:
            if number in self.running and not self.blocks.num_free:
                restored += self._make_room(self.running[number], 1, plan)
            if number in self.running:
                self.running[number].stay.blocks.extend(self.blocks.take(1))
        return restored

    def _running_share(self, sequence: Sequence, budget: int, threshold: int, held: int) -> tuple[int, int]:
        """Tokens for one that does not just decode, 0 with the reason noted, and the blocks that it lacks for them."""
        if held and sequence.is_prefill_chunk:
            self._note(self.log.skipped, sequence, reasons.prefill_interval(held))
            return 0, 0
        wanted = sequence.tokens - sequence.computed
        num_tokens, reason = self._cap(wanted, budget, threshold)
        room = self.config.max_model_len - sequence.computed - 1
        if room < num_tokens:
            num_tokens, reason = room, reasons.model_len(self.config.max_model_len)
        if num_tokens <= 0:
            self._note(self.log.skipped, sequence, reason)
            return 0, 0
        if reason is not None:
            self._note(self.log.capped, sequence, {"code": reason["code"], "wanted": wanted, "got": num_tokens})
        slots = min(sequence.computed + num_tokens, self.config.max_model_len)
        return num_tokens, -(-slots // self.config.block_size) - len(sequence.stay.blocks)

    def _cap(self, wanted: int, budget: int, threshold: int) -> tuple[int, Reason | None]:
        if 0 < threshold < wanted and threshold <= budget:
            return threshold, reasons.long_prefill_token_threshold(threshold)
        if budget < wanted:
            return budget, reasons.token_budget(self.token_budget, self.token_budget)
        return wanted, None

    def _note(self, where: dict[int, dict[str, Reason]], sequence: Sequence, reason: Reason | None) -> None:
        assert reason is not None
        where.setdefault(self.step, {})[sequence.request_id] = reason

    def _make_room(self, sequence: Sequence, need: int, plan: dict[Sequence, int]) -> int:
        """Preempt until `sequence` has its blocks or is itself the victim. Returns the tokens given back."""
        restored = 0
        while need > self.blocks.num_free:
            if self.config.policy == "priority":
                victim = max(self.running.values(), key=lambda s: s.sort_key)
            else:
                victim = next(reversed(self.running.values()))
            self._note(self.log.skipped, victim, reasons.preempted(sequence.request_id, need, self.blocks.num_free))
            if victim.asleep:
                self._rouse(victim)
                restored += 1
            else:
                del self.awake[victim.number]
                restored += plan.pop(victim, 0)
                if self.step in self.log.capped:
                    self.log.capped[self.step].pop(victim.request_id, None)
            self.log.preempted.setdefault(self.step, []).append(victim.request_id)
            self._leave(victim, self.step - 1)
            victim.computed = 0
            victim.was_preempted = True
            self.waiting.add(victim, True, self.step, self.log)
            if victim is sequence:
                break
        return restored

    def _leave(self, sequence: Sequence, last_step: int) -> None:
        """Out of the running, blocks back."""
        del self.running[sequence.number]
        sequence.stay.last = last_step
        self.blocks.give_back(sequence.stay.blocks)

    def _schedule_waiting(
        self, plan: dict[Sequence, int], budget: int, threshold: int, held: int
    ) -> tuple[Reason | None, bool]:
        """Next, the waiting requests, until one of them cannot be admitted."""
        stop: Reason | None = None
        prefill = False
        while self.waiting.num_waiting:
            if budget == 0:
                stop = reasons.token_budget(self.token_budget, self.token_budget)
                break
            if len(self.running) >= self.max_num_active_reqs:
                stop = reasons.max_num_seqs(self.max_num_active_reqs, len(self.running))
                break
            sequence = self.waiting.head()
            stop, num_tokens, need = self._admissible(sequence, budget, threshold, held)
            if stop is not None:
                break
            self.waiting.pop_head()
            self._admit(sequence, need)
            if num_tokens < sequence.tokens:
                code = self._cap(sequence.tokens, budget, threshold)[1]
                assert code is not None
                capped = {"code": code["code"], "wanted": sequence.tokens, "got": num_tokens}
                self._note(self.log.capped, sequence, capped)
            plan[sequence] = num_tokens
            budget -= num_tokens
            prefill |= sequence.tokens > 1
        if not held:
            self.prefill_capacity_bound = self.waiting.num_waiting > 0
        return stop, prefill

    def _admissible(self, sequence: Sequence, budget: int, threshold: int, held: int) -> tuple[Reason | None, int, int]:
        """What ends the scan at `sequence`, or its tokens and blocks."""
        config = self.config
        needs = sequence.tokens
        if held and needs > 1:
            return reasons.prefill_interval(held), 0, 0
        if threshold:
            needs = min(needs, threshold)
        if needs > budget and not config.enable_chunked_prefill:
            return reasons.chunked_prefill_off(needs, budget), 0, 0
        num_tokens = min(needs, budget)
        need = -(-min(num_tokens, config.max_model_len) // config.block_size)
        required = need
        if config.scheduler_reserve_full_isl:
            required = max(need, -(-min(sequence.tokens, config.max_model_len) // config.block_size))
        watermark = config.watermark_blocks if self.running else 0
        if required + watermark > self.blocks.num_free:
            return reasons.kv_blocks(required, self.blocks.num_free, watermark), 0, 0
        return None, num_tokens, need

    def _admit(self, sequence: Sequence, need: int) -> None:
        sequence.wait.last = self.step - 1
        sequence.number = self._num_admitted
        self._num_admitted += 1
        stay = sequence.stay = Stay(sequence.request_id, sequence.number, self.step, not sequence.was_preempted)
        stay.blocks = self.blocks.take(need)
        self.log.running.append(stay)
        self.running[sequence.number] = self.awake[sequence.number] = sequence

    # ------------------------------------------------------------------ steps in which nobody is awake

    def next_wake(self) -> int:
        """The next step with somebody in the calendar."""
        while self._wake_steps and self._wake_steps[0] not in self.calendar:
            heappop(self._wake_steps)
        return self._wake_steps[0] if self._wake_steps else FOR_EVER

    def take_quiet_blocks(self, num_steps: int) -> int:
        """Give the sleepers their blocks in up to `num_steps` steps. Returns for how many there are enough."""
        num_given = self.blocks.give_in_turn(self.phase, self.step, num_steps)
        if num_given:
            is_full = self.waiting.num_waiting > 0
            full = reasons.max_num_seqs(self.max_num_active_reqs, len(self.running)) if is_full else None
            self.log.note_stops(self.step, None, full)
        return num_given

    # ------------------------------------------------------------------ outputs, arrivals, aborts

    def update(self, plan: dict[Sequence, int]) -> bool:
        """Apply the outputs of this step; whether anything came of it."""
        finished = []
        step, lazy = self.step, self.lazy
        progress = self.num_asleep > 0
        for sequence, num_tokens in plan.items():
            sequence.computed = computed = sequence.computed + num_tokens
            sequence.is_prefill_chunk = is_chunk = computed < sequence.tokens
            stay = sequence.stay
            stay.log.append((step, num_tokens, computed, len(stay.blocks), 0 if is_chunk else 1))
            if is_chunk:
                continue
            progress = True
            sequence.tokens = computed + 1
            if computed + 1 >= sequence.end:
                finished.append(sequence)
            elif lazy:
                self._sleep(sequence, step + 1)
        for sequence in finished:
            del self.awake[sequence.number]
            self._leave(sequence, step)
            self.log.finished.setdefault(step, []).append(sequence.request_id)
        return progress

    def abort(self, sequence: Sequence) -> None:
        """Take a request out before this step."""
        if sequence.number not in self.running or self.running[sequence.number] is not sequence:
            self.waiting.remove(sequence)
            sequence.wait.last = self.step - 1
            return
        if sequence.asleep:
            self._rouse(sequence)
        else:
            del self.awake[sequence.number]
        self._leave(sequence, self.step - 1)

    def state(self) -> object:
        """All that decides what comes next when nobody sleeps, for comparing moments of a run."""
        running = [(s.request_id, s.tokens, s.computed, s.is_prefill_chunk) for s in self.running.values()]
        cadence = min(self.num_executed_steps - self.last_prefill_step, self.config.prefill_schedule_interval)
        return (running, self.waiting.state(), self.blocks.num_free, cadence, self.prefill_capacity_bound)
