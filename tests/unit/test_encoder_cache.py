"""Encoder outputs: the cache, and which images a step encodes."""

import pytest

from sim.encoder_cache import EncoderCacheManager, try_schedule_encoder_inputs
from sim.request import Request
from sim.scenario import Image, RequestSpec


def request(name: str, *images: tuple[int, int, str]) -> Request:
    return Request(RequestSpec(name, 0, 100, 1, images=tuple(Image(*image) for image in images)))


def encode(cache: EncoderCacheManager, one: Request, *input_ids: int) -> None:
    for input_id in input_ids:
        assert cache.can_allocate(one.images[input_id].length, 0)
        cache.allocate(one, input_id)


def plan(cache, one, computed, new, budget=100, disable_chunked_mm_input=False):
    return try_schedule_encoder_inputs(cache, one, computed, new, budget, disable_chunked_mm_input)


# --- the cache


def test_an_output_is_shared_by_hash():
    cache = EncoderCacheManager(10)
    one, other = request("A", (0, 6, "cat")), request("B", (50, 6, "cat"))
    encode(cache, one, 0)
    assert cache.check_and_update_cache(other, 0)
    cache.free(one)
    assert cache.num_freeable_slots == 4
    cache.free(other)
    assert (cache.num_freeable_slots, cache.num_free_slots) == (10, 4)


def test_an_output_stays_until_its_room_is_needed():
    cache = EncoderCacheManager(10)
    one = request("A", (0, 6, "cat"))
    encode(cache, one, 0)
    cache.free(one)
    again = request("B", (0, 6, "cat"), (6, 8, "dog"))
    assert cache.check_and_update_cache(again, 0)
    assert not cache.can_allocate(8, 0)
    cache.free(again)
    assert cache.can_allocate(8, 0)
    assert not cache.check_and_update_cache(again, 0)


def test_the_output_unused_for_longest_is_evicted_first():
    cache = EncoderCacheManager(10)
    one = request("A", (0, 3, "cat"), (3, 3, "dog"), (6, 3, "cow"))
    encode(cache, one, 0, 1, 2)
    for input_id in (1, 0, 2):
        cache.free_encoder_input(one, input_id)
    assert cache.can_allocate(4, 0)
    assert sorted(cache.lengths) == ["cat", "cow"]
    assert cache.can_allocate(5, 0)
    assert sorted(cache.lengths) == ["cow"]


def test_what_the_same_step_has_planned_takes_room_too():
    cache = EncoderCacheManager(10)
    assert cache.can_allocate(4, 6)
    assert not cache.can_allocate(4, 7)


def test_an_image_is_let_go_when_its_tokens_are_computed():
    cache = EncoderCacheManager(10)
    one = request("A", (2, 4, "cat"))
    encode(cache, one, 0)
    one.num_computed_tokens = 5
    cache.free_computed(one)
    assert cache.num_freeable_slots == 6
    one.num_computed_tokens = 6
    cache.free_computed(one)
    assert cache.num_freeable_slots == 10


def test_tokens_that_may_still_be_rejected_do_not_count_as_computed():
    cache = EncoderCacheManager(10)
    one = request("A", (2, 4, "cat"))
    encode(cache, one, 0)
    one.num_computed_tokens, one.num_output_placeholders = 6, 1
    cache.free_computed(one)
    assert cache.num_freeable_slots == 6


def test_two_images_of_one_request_hold_their_output_twice():
    cache = EncoderCacheManager(10)
    one = request("A", (0, 4, "cat"), (4, 4, "cat"))
    encode(cache, one, 0)
    assert cache.check_and_update_cache(one, 1)
    cache.free_encoder_input(one, 0)
    assert cache.num_freeable_slots == 6
    cache.free_encoder_input(one, 1)
    assert cache.num_freeable_slots == 10


# --- the plan


def test_images_that_the_tokens_reach_are_encoded():
    one = request("A", (2, 4, "cat"), (10, 4, "dog"), (20, 4, "cow"))
    found = plan(EncoderCacheManager(100), one, 3, 8)
    assert (found.num_new_tokens, found.inputs, found.budget, found.reason) == (8, [0, 1], 92, None)


def test_tokens_end_before_an_image_that_is_too_large_for_the_budget():
    one = request("A", (2, 4, "cat"), (10, 6, "dog"))
    found = plan(EncoderCacheManager(100), one, 0, 20, budget=9)
    assert (found.num_new_tokens, found.inputs, found.budget) == (10, [0], 5)
    assert found.reason == {"code": "encoder_budget", "needs": 6, "left": 5}


def test_nothing_is_given_when_the_step_begins_at_such_an_image():
    one = request("A", (2, 4, "cat"))
    assert plan(EncoderCacheManager(100), one, 2, 5, budget=3).num_new_tokens == 0
    assert plan(EncoderCacheManager(100), one, 4, 5, budget=3).num_new_tokens == 0


def test_tokens_end_before_an_image_that_does_not_fit_into_the_cache():
    cache, holder = EncoderCacheManager(10), request("H", (0, 7, "cow"))
    encode(cache, holder, 0)
    found = plan(cache, request("A", (5, 4, "cat")), 0, 20)
    assert (found.num_new_tokens, found.inputs) == (5, [])
    assert found.reason == {"code": "encoder_cache", "needs": 4, "free": 3}


def test_an_image_twice_in_one_step_is_encoded_once():
    found = plan(EncoderCacheManager(100), request("A", (0, 4, "cat"), (4, 4, "cat")), 0, 8)
    assert (found.inputs, found.duplicates, found.budget) == ([0], [1], 96)


@pytest.mark.parametrize(
    ("computed", "new", "expected"),
    [(0, 12, 12), (0, 11, 4), (3, 8, 1), (4, 7, 0), (5, 6, 6)],
    ids=["covers it", "ends in it", "ends in it later", "begins at it", "begins in it"],
)
def test_an_image_is_not_cut_when_that_is_off(computed, new, expected):
    found = plan(EncoderCacheManager(100), request("A", (4, 8, "cat")), computed, new, disable_chunked_mm_input=True)
    assert found.num_new_tokens == expected


def test_one_hash_for_two_lengths_is_a_mismatch():
    cache, holder = EncoderCacheManager(20), request("H", (0, 7, "cow"))
    encode(cache, holder, 0)
    found = plan(cache, request("A", (0, 4, "cow")), 0, 8)
    assert (found.mismatch, found.num_new_tokens) == (True, 0)
    assert found.reason == {"code": "encoder_mismatch", "needs": 4, "known": 7}
