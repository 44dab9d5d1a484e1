"""Which blocks hold the same tokens after the same tokens."""

import pytest

from sim.prefix_hash import BlockHasher
from sim.request import Request
from sim.scenario import Image, RequestSpec


@pytest.fixture
def hashes():
    """The block hashes of a request, of blocks of 4 tokens; all of one test come from one hasher."""
    hasher = BlockHasher(4)

    def of(name: str, prompt_tokens: int, *prefix: tuple[str, int], images=(), lora=None, output=0) -> list[int]:
        request = Request(RequestSpec(name, 0, prompt_tokens, 9, prefix=prefix, images=tuple(images), lora=lora))
        hasher.update(request)
        if output:
            request.append_output(output, 100, is_stale=False)
            hasher.update(request)
        return request.block_hashes

    return of


def test_only_full_blocks_have_a_hash(hashes):
    assert [len(hashes(f"q{n}", n)) for n in (3, 4, 7, 8)] == [0, 1, 1, 2]


def test_equal_segments_are_equal_tokens(hashes):
    assert hashes("A", 10, ("s", 8)) == hashes("B", 9, ("s", 8))


def test_own_tokens_are_nobody_elses(hashes):
    one, other = hashes("A", 12, ("s", 6)), hashes("B", 12, ("s", 6))
    assert one[0] == other[0]
    assert not set(one[1:]) & set(other[1:])


def test_a_hash_stands_for_all_that_comes_before(hashes):
    one, other = hashes("A", 12, ("s", 4), ("t", 8)), hashes("B", 12, ("u", 4), ("t", 8))
    assert not set(one) & set(other)


def test_a_segment_begins_anew_after_another(hashes):
    whole, parted = hashes("A", 8, ("s", 8)), hashes("B", 8, ("s", 4), ("s", 4))
    assert whole[0] == parted[0]
    assert whole[1] != parted[1]


def test_segments_are_cut_to_the_prompt(hashes):
    assert hashes("A", 8, ("s", 6), ("t", 90)) == hashes("B", 8, ("s", 6), ("t", 2))


def test_output_belongs_to_its_request(hashes):
    one, other = hashes("A", 6, ("s", 6), output=2), hashes("B", 6, ("s", 6), output=2)
    assert (len(one), len(other)) == (2, 2)
    assert one[0] == other[0]
    assert one[1] != other[1]


def test_adapters_do_not_share(hashes):
    assert not set(hashes("A", 8, ("s", 8), lora=1)) & set(hashes("B", 8, ("s", 8), lora=2))
    assert hashes("C", 8, ("s", 8), lora=1) == hashes("A2", 8, ("s", 8), lora=1)
    assert hashes("D", 8, ("s", 8)) == hashes("E", 8, ("s", 8), lora=0)


def test_an_image_is_part_of_the_blocks_that_it_reaches(hashes):
    plain = hashes("A", 12, ("s", 12))
    cat = hashes("B", 12, ("s", 12), images=[Image(5, 2, "cat")])
    dog = hashes("C", 12, ("s", 12), images=[Image(5, 2, "dog")])
    moved = hashes("D", 12, ("s", 12), images=[Image(4, 2, "cat")])
    assert plain[0] == cat[0] == dog[0] == moved[0]
    assert len({plain[1], cat[1], dog[1], moved[1]}) == 4
    assert cat == hashes("E", 12, ("s", 12), images=[Image(5, 2, "cat")])
