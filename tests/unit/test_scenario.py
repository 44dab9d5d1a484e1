"""A scenario is checked once, at the door; what is wrong is told in one line."""

import pytest

from sim.errors import ConfigError
from sim.scenario import Image, RequestSpec, parse_scenario

A = {"id": "A", "prompt_tokens": 6, "output_tokens": 1}


def parsed(**fields) -> RequestSpec:
    return parse_scenario({"requests": [A | fields]}).requests[0]


def test_a_request_has_defaults():
    assert parsed() == RequestSpec("A", 0, 6, 1, 0, None, 0, None, None, (), (), ())


def test_everything_can_be_said():
    spec = parsed(
        arrival_step=3,
        priority=-2,
        lora=4,
        abort_step=9,
        prefix=[["s", 4], ["t", 0]],
        accepts=[2, 0],
        images=[
            {"offset": 0, "length": 2, "hash": "cat"},
            {"offset": 3, "length": 1, "hash": 7},
            {"offset": 4, "length": 2},
        ],
    )
    assert (spec.arrival, spec.priority, spec.lora, spec.abort_step) == ((3, 0), -2, 4, 9)
    assert (spec.prefix, spec.accepts) == ((("s", 4), ("t", 0)), (2, 0))
    assert spec.images == (Image(0, 2, "cat"), Image(3, 1, "7"), Image(4, 2, "A#2"))


def test_null_is_the_same_as_left_out():
    assert parsed(prefix=None, accepts=None, images=None, lora=None, abort_step=None, arrival_us=None) == parsed()


def test_a_name_is_kept_and_an_import_s_notes_are_ignored():
    scenario = parse_scenario({"name": "n", "requests": [], "imported": {"rows": 3}})
    assert (scenario.name, scenario.requests, scenario.in_time) == ("n", (), False)


def test_arrivals_in_time():
    scenario = parse_scenario({"requests": [A | {"arrival_us": 5}, A | {"id": "B", "arrival_us": 5}]})
    assert scenario.in_time
    assert [spec.arrival for spec in scenario.requests] == [(5, 0), (5, 1)]


def test_warnings_name_the_request():
    scenario = parse_scenario(
        {
            "config": {"max_model_len": 5, "max_num_batched_tokens": 128},
            "requests": [A | {"images": [{"offset": 4, "length": 3}]}],
        }
    )
    assert scenario.warnings() == [
        "request A: prompt_tokens (6) exceeds max_model_len (5); a server refuses it, the bare scheduler runs it.",
        "request A: an image of 3 tokens at 4 reaches outside the prompt of 6.",
    ]


INTEGER = "is not allowed, must be an integer from"
BAD = {
    "a list": ([], "a scenario must be an object with config and requests"),
    "a key": ({"requests": [], "seed": 1}, "seed: unknown key, must be one of name, config, requests, imported"),
    "name": ({"name": 3, "requests": []}, "name: 3 is not allowed, must be a string"),
    "no requests": ({}, "requests: missing, must be a list of requests"),
    "requests": ({"requests": {}}, "requests: {} is not allowed, must be a list of requests"),
    "config": ({"config": None, "requests": []}, "config: must be an object"),
    "a request": ({"requests": [A, 3]}, "requests[1]: 3 is not allowed, must be an object"),
    "no id": (
        {"requests": [{"prompt_tokens": 1, "output_tokens": 1}]},
        "requests[0].id: null is not allowed, must be a string that is not empty",
    ),
    "a number for an id": (
        {"requests": [A | {"id": 3}]},
        "requests[0].id: 3 is not allowed, must be a string that is not empty",
    ),
    "an empty id": (
        {"requests": [A | {"id": ""}]},
        'requests[0].id: "" is not allowed, must be a string that is not empty',
    ),
    "an id twice": ({"requests": [A, A]}, 'requests[1].id: "A" is taken by requests[0], must be unique'),
    "no prompt": (
        {"requests": [{"id": "A", "output_tokens": 1}]},
        "requests[0].prompt_tokens: missing, must be an integer from 1 to 10000000",
    ),
    "no output": (
        {"requests": [{"id": "A", "prompt_tokens": 1}]},
        "requests[0].output_tokens: missing, must be an integer from 1 to 10000000",
    ),
    "arrival in both": (
        {"requests": [A | {"arrival_us": 3}, A | {"id": "B", "arrival_step": 3}]},
        "requests[1].arrival_us: all requests must carry arrival_us, or none of them",
    ),
    "an abort before the arrival": (
        {"requests": [A | {"arrival_step": 5, "abort_step": 4}]},
        "requests[0].abort_step: 4 is before the arrival at step 5",
    ),
}
BAD_FIELDS = {
    "prompt_tokens": (0, f"0 {INTEGER} 1 to 10000000"),
    "output_tokens": (True, f"true {INTEGER} 1 to 10000000"),
    "arrival_step": (1_000_001, f"1000001 {INTEGER} 0 to 1000000"),
    "arrival_us": (-1, f"-1 {INTEGER} 0 to 1000000000000000, or null"),
    "priority": (0.5, f"0.5 {INTEGER} -2147483648 to 2147483647"),
    "lora": ("1", f'"1" {INTEGER} 0 to 1000000, or null'),
    "abort_step": (-1, f"-1 {INTEGER} 0 to 2000000, or null"),
    "prefix": ("s", '"s" is not allowed, must be a list of [segment name, tokens] pairs'),
    "accepts": (3, "3 is not allowed, must be a list of integers"),
    "images": ({}, "{} is not allowed, must be a list of images"),
}
BAD_ITEMS = {
    "prefix[0]": ([["s"]], '["s"] is not allowed, must be a pair [segment name, tokens]'),
    "prefix[1]": ([["s", 1], [2, 1]], "[2, 1] is not allowed, must be a pair [segment name, tokens]"),
    "prefix[0][1]": ([["s", -1]], f"-1 {INTEGER} 0 to 10000000"),
    "accepts[1]": ([0, None], f"null {INTEGER} 0 to 10000000"),
    "images[0]": ([7], "7 is not allowed, must be an object"),
    "images[0].offset": ([{"length": 1}], f"null {INTEGER} 0 to 10000000"),
    "images[0].length": ([{"offset": 0, "length": 0}], f"0 {INTEGER} 1 to 10000000"),
    "images[0].size": (
        [{"offset": 0, "length": 1, "size": 1}],
        "unknown key, must be one of offset, length, hash",
    ),
    "images[0].hash": (
        [{"offset": 0, "length": 1, "hash": 0.5}],
        "0.5 is not allowed, must be a string or an integer",
    ),
}


def message_of(data) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(data)
    return str(caught.value)


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_what_is_no_scenario(data, message):
    assert message_of(data) == message


@pytest.mark.parametrize(("field", "value", "message"), [(k, *v) for k, v in BAD_FIELDS.items()], ids=BAD_FIELDS)
def test_what_is_no_field(field, value, message):
    assert message_of({"requests": [A, A | {"id": "B", field: value}]}) == f"requests[1].{field}: {message}"


@pytest.mark.parametrize(("path", "value", "message"), [(k, *v) for k, v in BAD_ITEMS.items()], ids=BAD_ITEMS)
def test_what_is_no_item(path, value, message):
    field = path.partition("[")[0]
    assert message_of({"requests": [A | {field: value}]}) == f"requests[0].{path}: {message}"


def test_an_unknown_key_of_a_request_is_named_with_the_known_ones():
    assert message_of({"requests": [A | {"prompt": 3}]}) == (
        "requests[0].prompt: unknown key, must be one of id, arrival_step, arrival_us, prompt_tokens, output_tokens, "
        "priority, lora, abort_step, prefix, accepts, images"
    )
