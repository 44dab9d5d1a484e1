"""The waiting queue, for either policy. Source: `vllm/v1/core/sched/request_queue.py`."""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, overload

from .request import Request


class RequestQueue(Protocol):
    """What the scheduler asks of a waiting queue; iteration is in the order of service."""

    def add_request(self, request: Request) -> None:
        """A new arrival."""

    def peek_request(self) -> Request:
        """The request to serve first, left where it is."""

    def pop_request(self) -> Request:
        """The request to serve first, taken out."""

    def prepend_request(self, request: Request) -> None:
        """A preempted request comes back."""

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        """Requests that a scan skipped come back, given in the order in which they were taken out."""

    def remove_request(self, request: Request) -> None:
        """Take `request` out, wherever it stands."""

    def ids(self) -> Sequence[str]:
        """The ids of those who wait now, in order; stays as it is, whatever becomes of the queue."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Request]: ...


class Line(Sequence[str]):
    """Ids in line: `front`, and behind it those of `arrived` from place `first` to before place `end`.

    `arrived` only ever grows, and all lines of a run share it, so that a long queue costs no copy a step.
    """

    __slots__ = ("arrived", "end", "first", "front")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, front: Sequence[str], arrived: Sequence[str], first: int, end: int) -> None:
        self.front, self.arrived, self.first, self.end = front, arrived, first, end

    def __len__(self) -> int:
        return len(self.front) + self.end - self.first

    def __iter__(self) -> Iterator[str]:
        return iter([*self.front, *self.arrived[self.first : self.end]])

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Line):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))


class FCFSRequestQueue:
    """First come, first served; a preempted request goes in front of all.

    Who came back stands in a short queue of its own before those who have only arrived.
    """

    def __init__(self) -> None:
        self._front: deque[Request] = deque()
        self._arrived: list[Request] = []
        self._arrived_ids: list[str] = []
        self._next = 0

    def add_request(self, request: Request) -> None:
        self._arrived.append(request)
        self._arrived_ids.append(request.request_id)

    def peek_request(self) -> Request:
        return self._front[0] if self._front else self._arrived[self._next]

    def pop_request(self) -> Request:
        if self._front:
            return self._front.popleft()
        self._next += 1
        return self._arrived[self._next - 1]

    def prepend_request(self, request: Request) -> None:
        self._front.appendleft(request)

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        self._front.extendleft(reversed(list(requests)))

    def remove_request(self, request: Request) -> None:
        if request in self._front:
            self._front.remove(request)
            return
        self._arrived = [other for other in self._arrived[self._next :] if other is not request]
        self._arrived_ids = [other.request_id for other in self._arrived]
        self._next = 0

    def ids(self) -> Sequence[str]:
        front = tuple(request.request_id for request in self._front)
        return Line(front, self._arrived_ids, self._next, len(self._arrived_ids))

    def __len__(self) -> int:
        return len(self._front) + len(self._arrived) - self._next

    def __iter__(self) -> Iterator[Request]:
        return iter([*self._front, *self._arrived[self._next :]])


class PriorityRequestQueue:
    """A heap by (priority, arrival, list order); the lower number is served first, and nothing has a place in front."""

    def __init__(self) -> None:
        self._heap: list[Request] = []

    def add_request(self, request: Request) -> None:
        heapq.heappush(self._heap, request)

    def peek_request(self) -> Request:
        return self._heap[0]

    def pop_request(self) -> Request:
        return heapq.heappop(self._heap)

    def prepend_request(self, request: Request) -> None:
        self.add_request(request)

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        for request in requests:
            self.add_request(request)

    def remove_request(self, request: Request) -> None:
        self._heap.remove(request)
        heapq.heapify(self._heap)

    def ids(self) -> Sequence[str]:
        return [request.request_id for request in self]

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Request]:
        return iter(sorted(self._heap))


def create_request_queue(policy: str) -> RequestQueue:
    """The queue of a policy, `fcfs` or `priority`."""
    return PriorityRequestQueue() if policy == "priority" else FCFSRequestQueue()
