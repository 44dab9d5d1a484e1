"""The waiting queue, for either policy. Source: `vllm/v1/core/sched/request_queue.py`."""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol

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

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Request]: ...


class FCFSRequestQueue:
    """First come, first served; a preempted request goes in front of all."""

    def __init__(self) -> None:
        self._queue: deque[Request] = deque()

    def add_request(self, request: Request) -> None:
        self._queue.append(request)

    def peek_request(self) -> Request:
        return self._queue[0]

    def pop_request(self) -> Request:
        return self._queue.popleft()

    def prepend_request(self, request: Request) -> None:
        self._queue.appendleft(request)

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        self._queue.extendleft(reversed(list(requests)))

    def remove_request(self, request: Request) -> None:
        self._queue.remove(request)

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._queue)


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

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Request]:
        return iter(sorted(self._heap))


def create_request_queue(policy: str) -> RequestQueue:
    """The queue of a policy, `fcfs` or `priority`."""
    return PriorityRequestQueue() if policy == "priority" else FCFSRequestQueue()
