"""The block pool and the blocks of requests, in small."""

from hypothesis import given
from hypothesis import strategies as st

from sim.config import Config
from sim.kv_cache import NO_BLOCKS, BlockPool, KVCacheManager, NoFreeBlocks
from sim.request import Request, RequestStatus
from sim.scenario import RequestSpec


def request(name: str, prompt_tokens: int, **fields) -> Request:
    return Request(RequestSpec(name, 0, prompt_tokens, 10, **fields))


def manager(**config) -> KVCacheManager:
    return KVCacheManager(Config(**{"block_size": 4, "num_gpu_blocks": 10, "max_model_len": 100, **config}))


def cached(kv: KVCacheManager, name: str, prompt_tokens: int, *segment: tuple[str, int]) -> Request:
    """A request whose whole prompt is computed, running."""
    one = request(name, prompt_tokens, prefix=segment)
    kv.update_block_hashes(one)
    blocks, computed = kv.get_computed_blocks(one)
    kv.allocate_slots(one, prompt_tokens - computed, computed, blocks)
    one.num_computed_tokens = prompt_tokens
    one.status = RequestStatus.RUNNING
    return one


# --- the pool


def test_block_0_is_never_handed_out():
    pool = BlockPool(4)
    assert pool.num_free_blocks == 3
    assert pool.get_new_blocks(3) == [1, 2, 3]
    assert pool.num_free_blocks == 0


def test_what_comes_back_is_taken_first_newest_first():
    pool = BlockPool(10)
    pool.get_new_blocks(5)
    pool.free_blocks([3, 2])
    pool.free_blocks([5])
    assert pool.free_queue() == [5, 3, 2, 6, 7, 8, 9]
    assert pool.get_new_blocks(4) == [5, 3, 2, 6]


def test_cached_blocks_are_taken_last_and_the_longest_free_of_them_first():
    pool = BlockPool(6)
    pool.get_new_blocks(4)
    for block in (1, 2, 3):
        pool.cache_block(block, 100 + block)
    pool.free_blocks([2])
    pool.free_blocks([1, 4])
    pool.free_blocks([3])
    assert pool.free_queue() == [4, 5, 2, 1, 3]
    assert pool.get_new_blocks(3) == [4, 5, 2]
    assert [pool.get_cached_block(100 + block) for block in (1, 2, 3)] == [1, None, 3]


def test_a_block_is_free_when_its_last_owner_leaves():
    pool = BlockPool(4)
    pool.get_new_blocks(1)
    pool.cache_block(1, 7)
    pool.touch([1])
    pool.free_blocks([1])
    assert pool.num_free_blocks == 2
    pool.free_blocks([1])
    assert pool.num_free_blocks == 3


def test_a_hit_takes_a_free_block_out_of_the_queue():
    pool = BlockPool(4)
    pool.get_new_blocks(2)
    pool.cache_block(1, 7)
    pool.free_blocks([1])
    pool.touch([1])
    assert pool.free_queue() == [3]
    assert pool.ref_cnt == {1: 1, 2: 1}


def test_of_equal_blocks_the_one_cached_first_is_the_hit():
    pool = BlockPool(4)
    pool.get_new_blocks(3)
    pool.cache_block(3, 7)
    pool.cache_block(2, 7)
    assert pool.get_cached_block(7) == 3
    pool.free_blocks([3, 1, 2])
    assert pool.get_new_blocks(2) == [1, 3]
    assert pool.get_cached_block(7) == 2


@given(st.data())
def test_the_free_queue_is_one_list(data):
    """As in vLLM: one queue; blocks without a hash come back to its front, the others to its end."""
    size = data.draw(st.integers(2, 12))
    pool, queue, hashed, owned = BlockPool(size), list(range(1, size)), set(), []
    for number in range(data.draw(st.integers(1, 25))):
        if owned and data.draw(st.booleans()):
            leaving = data.draw(st.lists(st.sampled_from(owned), unique=True))
            pool.free_blocks(leaving)
            queue = [b for b in leaving if b not in hashed] + queue + [b for b in leaving if b in hashed]
            owned = [block for block in owned if block not in leaving]
        else:
            count = data.draw(st.integers(0, len(queue)))
            assert pool.get_new_blocks(count) == queue[:count]
            hashed -= set(queue[:count])
            owned += queue[:count]
            queue = queue[count:]
            if count and data.draw(st.booleans()):
                pool.cache_block(owned[-1], number)
                hashed.add(owned[-1])
        assert pool.free_queue() == queue


# --- blocks of requests


def test_blocks_are_gained_as_tokens_need_them():
    kv, one = manager(), request("A", 6)
    assert kv.allocate_slots(one, 3) == [1]
    one.num_computed_tokens = 3
    assert kv.allocate_slots(one, 1) == NO_BLOCKS
    one.num_computed_tokens = 4
    assert kv.allocate_slots(one, 2) == [2]
    assert kv.req_to_blocks == {"A": [1, 2]}


def test_the_last_block_of_a_request_is_reused_first():
    kv = manager()
    one = cached(kv, "A", 12)
    kv.free(one)
    assert kv.allocate_slots(request("B", 8), 8) == [3, 2]


def test_a_refusal_tells_its_numbers_and_takes_nothing():
    kv = manager(num_gpu_blocks=4, watermark=0.5)
    assert kv.allocate_slots(request("A", 8), 8) == NoFreeBlocks(needs=2, free=3, watermark=2)
    assert kv.block_pool.num_free_blocks == 3
    assert kv.req_to_blocks == {}


def test_the_watermark_holds_only_for_admission_beside_others():
    kv = manager(num_gpu_blocks=4, watermark=0.5)
    one = request("A", 8)
    assert kv.allocate_slots(one, 8, has_scheduled_reqs=False) == [1, 2]
    one.num_computed_tokens, one.status = 8, RequestStatus.RUNNING
    assert kv.allocate_slots(one, 1) == [3]


def test_the_whole_known_sequence_may_have_to_fit():
    kv = manager(num_gpu_blocks=4)
    assert kv.allocate_slots(request("A", 16), 4, full_sequence_must_fit=True) == NoFreeBlocks(4, 3, 0)
    assert kv.allocate_slots(request("A", 16), 4) == [1]


def test_slots_ahead_are_reserved_up_to_the_model_length():
    kv = manager(num_lookahead_tokens=3)
    assert kv.allocate_slots(request("A", 6), 6) == [1, 2, 3]
    kv = manager(num_lookahead_tokens=3, max_model_len=8)
    assert kv.allocate_slots(request("A", 6), 6) == [1, 2]


# --- the prefix cache


def test_a_prefix_is_found_in_whole_blocks():
    kv = manager(enable_prefix_caching=True)
    cached(kv, "A", 11, ("s", 11))
    other = request("B", 20, prefix=(("s", 20),))
    kv.update_block_hashes(other)
    assert kv.get_computed_blocks(other) == ([1, 2], 8)


def test_a_full_hit_computes_its_last_block_again():
    kv = manager(enable_prefix_caching=True)
    cached(kv, "A", 8, ("s", 8))
    other = request("B", 8, prefix=(("s", 8),))
    kv.update_block_hashes(other)
    assert kv.get_computed_blocks(other) == ([1], 4)


def test_nothing_is_found_without_the_cache():
    kv = manager()
    cached(kv, "A", 8, ("s", 8))
    other = request("B", 8, prefix=(("s", 8),))
    kv.update_block_hashes(other)
    assert kv.get_computed_blocks(other) == ([], 0)


def test_a_hit_on_a_block_without_an_owner_needs_it_from_the_free_ones():
    kv = manager(enable_prefix_caching=True, num_gpu_blocks=4)
    kv.free(cached(kv, "A", 8, ("s", 8)))
    other = request("B", 16, prefix=(("s", 8),))
    kv.update_block_hashes(other)
    blocks, computed = kv.get_computed_blocks(other)
    assert (blocks, computed) == ([1, 2], 8)
    assert kv.allocate_slots(other, 8, computed, blocks) == NoFreeBlocks(needs=4, free=3, watermark=0)
    assert kv.allocate_slots(other, 4, computed, blocks) == [3]
    assert kv.req_to_blocks["B"] == [1, 2, 3]


def test_blocks_freed_by_a_request_are_evicted_from_its_end():
    kv = manager(enable_prefix_caching=True, num_gpu_blocks=4)
    kv.free(cached(kv, "A", 12, ("s", 12)))
    assert kv.block_pool.free_queue() == [3, 2, 1]
    other = request("B", 12, prefix=(("s", 12),))
    kv.update_block_hashes(other)
    assert kv.get_computed_blocks(other) == ([1, 2], 8)
    assert kv.block_pool.get_new_blocks(1) == [3]
    assert kv.get_computed_blocks(other) == ([1, 2], 8)
    assert kv.block_pool.get_new_blocks(1) == [2]
    assert kv.get_computed_blocks(other) == ([1], 4)
