"""State of the fast driver: a request that may sleep, the waiting line, the free blocks."""

from bisect import bisect_right
from collections import deque
from collections.abc import Collection
from heapq import heapify, heappop, heappush
from itertools import accumulate

from .residency import RunLog, Stay, Wait
from .scenario import RequestSpec


class Sequence:
    """One request: its counters, and whether it sleeps. Before step s a sleeper has computed `s - origin` tokens."""

    __slots__ = (
        "asleep",
        "computed",
        "end",
        "is_prefill_chunk",
        "number",
        "origin",
        "request_id",
        "sort_key",
        "stay",
        "tokens",
        "wait",
        "wake_step",
        "was_preempted",
    )

    def __init__(self, spec: RequestSpec, max_model_len: int) -> None:
        self.request_id = spec.id
        self.sort_key = (spec.priority, spec.arrival)
        self.tokens = spec.prompt_tokens
        self.end = max(spec.prompt_tokens + 1, min(spec.prompt_tokens + spec.output_tokens, max_model_len))
        self.computed = 0
        self.is_prefill_chunk = False
        self.was_preempted = False
        self.asleep = False
        self.origin = 0
        self.wake_step = -1
        self.number = -1
        self.wait: Wait
        self.stay: Stay

    def decodes(self, max_model_len: int) -> bool:
        """Whether it is one token behind, with room for the next, and not in the middle of a prefill."""
        computed = self.computed
        return self.tokens - computed == 1 and not self.is_prefill_chunk and computed + 1 < max_model_len


class WaitingLine:
    """The waiting queue under either policy: a heap by priority, or preempted ones in front and then by arrival."""

    def __init__(self, policy: str) -> None:
        self._by_priority = policy == "priority"
        self._heap: list[tuple[object, int, Sequence]] = []
        self._front: list[Sequence] = []
        self._line: deque[Sequence] = deque()
        self._count = 0
        self.num_waiting = 0

    def add(self, sequence: Sequence, preempted: bool, step: int, log: RunLog) -> None:
        """`sequence` waits from `step` on."""
        self._count += 1
        self.num_waiting += 1
        key: object = sequence.sort_key
        if self._by_priority:
            heappush(self._heap, (key, self._count, sequence))
        elif preempted:
            self._front.append(sequence)
            key = (0, -self._count)
        else:
            self._line.append(sequence)
            key = (1, self._count)
        sequence.wait = Wait(sequence.request_id, key, step)
        log.waiting.append(sequence.wait)

    def head(self) -> Sequence:
        """The next to be served."""
        if self._by_priority:
            return self._heap[0][2]
        return self._front[-1] if self._front else self._line[0]

    def pop_head(self) -> None:
        """Take the next one out."""
        self.num_waiting -= 1
        if self._by_priority:
            heappop(self._heap)
        elif self._front:
            self._front.pop()
        else:
            self._line.popleft()

    def remove(self, sequence: Sequence) -> None:
        """Take `sequence` out, wherever it stands."""
        self.num_waiting -= 1
        if self._by_priority:
            self._heap = [item for item in self._heap if item[2] is not sequence]
            heapify(self._heap)
        elif sequence in self._front:
            self._front.remove(sequence)
        else:
            self._line.remove(sequence)

    def state(self) -> list[tuple[str, int]]:
        """Who waits, with how many tokens, for comparing moments of a run."""
        everyone = [item[2] for item in sorted(self._heap)] or [*reversed(self._front), *self._line]
        return [(sequence.request_id, sequence.tokens) for sequence in everyone]


class BlockStack:
    """Free block ids: returned ones on top, the newest first, then those never used."""

    def __init__(self, num_gpu_blocks: int) -> None:
        self.num_free = num_gpu_blocks - 1
        self._returned: list[int] = []
        self._next_unused = 1

    def take(self, num_blocks: int) -> list[int]:
        """The next `num_blocks`; the caller knows that there are so many."""
        returned = self._returned
        taken = returned[: -num_blocks - 1 : -1]
        del returned[len(returned) - len(taken) :]
        unused = num_blocks - len(taken)
        if unused:
            taken.extend(range(self._next_unused, self._next_unused + unused))
            self._next_unused += unused
        self.num_free -= num_blocks
        return taken

    def give_one_each(self, wanting: Collection[list[int]]) -> None:
        """The next one to each list; the caller knows that there are so many."""
        # A loop costs less here than the list that `take` would make.
        returned = self._returned
        for blocks in wanting:
            if returned:
                blocks.append(returned.pop())
            else:
                blocks.append(self._next_unused)
                self._next_unused += 1
        self.num_free -= len(wanting)

    def give_in_turn(self, due_by_turn: list[dict[int, list[int]]], first: int, num_steps: int) -> int:
        """One block to each that is due, step by step, and within a step in the order in which they stand.

        Args:
            due_by_turn: for each place of a step in a block, the lists of those who need a block then.
            first: the first step.
            num_steps: how many.

        Returns:
            For how many steps there were enough.
        """
        block_size = len(due_by_turn)
        if num_steps > block_size:
            in_a_round = sum(map(len, due_by_turn))
            num_steps = min(num_steps, (self.num_free // in_a_round + 1) * block_size) if in_a_round else num_steps
        start = first % block_size
        turns = (due_by_turn * ((start + num_steps) // block_size + 1))[start : start + num_steps]
        due = [blocks for turn in turns if turn for blocks in turn.values()]
        if len(due) > self.num_free:
            num_due = list(accumulate(map(len, turns), initial=0))
            num_steps = bisect_right(num_due, self.num_free) - 1
            del due[num_due[num_steps] :]
        self.give_one_each(due)
        return num_steps

    def give_back(self, blocks: list[int]) -> None:
        """All blocks of a request; its last one is on top then."""
        self._returned.extend(blocks)
        self.num_free += len(blocks)
