"""The waiting queues."""

import pytest

from sim.queues import create_request_queue
from sim.request import Request
from sim.scenario import RequestSpec


def request(name: str, priority: int = 0, arrival_step: int = 0, index: int = 0) -> Request:
    return Request(RequestSpec(name, index, 1, 1, priority=priority, arrival_step=arrival_step))


def names(queue) -> str:
    return "".join(one.request_id for one in queue)


@pytest.fixture
def fcfs():
    queue = create_request_queue("fcfs")
    for name in "ABC":
        queue.add_request(request(name))
    return queue


@pytest.fixture
def priority():
    queue = create_request_queue("priority")
    for index, (name, level, arrival) in enumerate([("A", 2, 0), ("B", 1, 1), ("C", 1, 0), ("D", 1, 0), ("E", -1, 9)]):
        queue.add_request(request(name, level, arrival, index))
    return queue


def test_first_come_first_served(fcfs):
    assert names(fcfs) == "ABC"
    assert fcfs.peek_request().request_id == fcfs.pop_request().request_id == "A"
    assert len(fcfs) == 2


def test_a_preempted_request_goes_in_front(fcfs):
    fcfs.prepend_request(request("V"))
    fcfs.prepend_request(request("W"))
    assert names(fcfs) == "WVABC"


def test_skipped_requests_come_back_in_their_order(fcfs):
    fcfs.prepend_requests([fcfs.pop_request(), fcfs.pop_request()])
    assert names(fcfs) == "ABC"


def test_anybody_can_leave(fcfs):
    fcfs.remove_request(next(one for one in fcfs if one.request_id == "B"))
    assert names(fcfs) == "AC"


def test_who_came_back_can_leave_too(fcfs):
    back = request("V")
    fcfs.prepend_request(back)
    fcfs.remove_request(back)
    assert names(fcfs) == "ABC"


def test_the_ids_stay_as_they_were(fcfs):
    seen = [fcfs.ids()]
    fcfs.pop_request()
    seen.append(fcfs.ids())
    fcfs.prepend_request(request("V"))
    seen.append(fcfs.ids())
    fcfs.add_request(request("D"))
    seen.append(fcfs.ids())
    fcfs.remove_request(next(one for one in fcfs if one.request_id == "C"))
    seen.append(fcfs.ids())
    fcfs.add_request(request("E"))
    seen.append(fcfs.ids())
    assert ["".join(ids) for ids in seen] == ["ABC", "BC", "VBC", "VBCD", "VBD", "VBDE"]
    assert [len(ids) for ids in seen] == [3, 2, 3, 4, 3, 4]
    assert (seen[2][0], seen[2][-1], seen[2][1:], "C" in seen[2], "D" in seen[2]) == ("V", "C", ["B", "C"], True, False)


def test_the_ids_of_a_long_queue_are_no_copies(fcfs):
    assert fcfs.ids().arrived is fcfs.ids().arrived


def test_the_lower_number_then_arrival_then_list_order(priority):
    assert names(priority) == "ECDBA"
    assert "".join(priority.pop_request().request_id for _ in range(5)) == "ECDBA"


def test_priority_knows_no_front(priority):
    priority.prepend_request(request("V", 2, 0, 9))
    assert names(priority) == "ECDBAV"
    priority.prepend_requests([priority.pop_request(), priority.pop_request()])
    assert names(priority) == "ECDBAV"


def test_the_heap_holds_after_anybody_left(priority):
    priority.remove_request(next(one for one in priority if one.request_id == "C"))
    assert "".join(priority.pop_request().request_id for _ in range(4)) == "EDBA"
