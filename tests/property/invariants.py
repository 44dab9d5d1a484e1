"""What must hold after every step, whatever was asked of the scheduler."""

from sim.request import RequestStatus
from sim.scheduler import Scheduler


def check(scheduler: Scheduler) -> None:
    """All invariants of a scheduler between two calls."""
    check_queues(scheduler)
    check_counters(scheduler)
    check_blocks(scheduler)
    check_encoder_cache(scheduler)


def check_queues(scheduler: Scheduler) -> None:
    running, waiting = list(scheduler.running), list(scheduler.waiting)
    ids = [request.request_id for request in [*running, *waiting]]
    assert len(ids) == len(set(ids)), "nobody stands twice"
    assert set(ids) == set(scheduler.requests), "everybody stands somewhere"
    assert len(running) <= scheduler.max_num_active_reqs
    assert all(request.status is RequestStatus.RUNNING for request in running)
    assert all(request.status in (RequestStatus.WAITING, RequestStatus.PREEMPTED) for request in waiting)
    if scheduler.priority_policy:
        assert [request.sort_key for request in waiting] == sorted(request.sort_key for request in waiting)
    assert scheduler.deferred_waiting <= {request.request_id for request in waiting}


def check_counters(scheduler: Scheduler) -> None:
    for request in scheduler.requests.values():
        known = request.num_tokens + request.num_output_placeholders
        assert 0 <= request.num_computed_tokens <= known + request.num_spec_tokens
        assert 0 <= request.num_stale_output_tokens <= request.num_in_flight_tokens
        assert request.num_output_placeholders >= 0
        assert request.num_output_tokens < request.max_tokens
        if request.status is not RequestStatus.RUNNING:
            assert request.num_computed_tokens == 0
            assert request.request_id not in scheduler.kv_cache_manager.req_to_blocks


def check_blocks(scheduler: Scheduler) -> None:
    manager = scheduler.kv_cache_manager
    pool = manager.block_pool
    owners: dict[int, int] = {}
    for blocks in manager.req_to_blocks.values():
        assert len(blocks) == len(set(blocks))
        for block in blocks:
            owners[block] = owners.get(block, 0) + 1
    assert pool.ref_cnt == owners, "every reference is an owner's"
    free = pool.free_queue()
    assert len(free) == pool.num_free_blocks == len(set(free))
    assert sorted([*free, *owners]) == list(range(1, pool.num_gpu_blocks)), "no block is lost, none is made up"
    for request in scheduler.running:
        held = len(manager.req_to_blocks.get(request.request_id, ()))
        assert held * manager.block_size >= min(request.num_computed_tokens, manager.max_model_len)


def check_encoder_cache(scheduler: Scheduler) -> None:
    cache = scheduler.encoder_cache_manager
    assert 0 <= cache.num_free_slots <= cache.num_freeable_slots <= cache.cache_size
    assert cache.cache_size - cache.num_free_slots == sum(cache.lengths.values())
