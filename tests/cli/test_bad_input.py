"""Whatever is handed in, the answer to what is wrong is one line and exit status 2."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.cli.documents import Place, _decode
from sim.errors import ConfigError
from sim.scenario import parse_scenario

GOOD = '{"name": "good", "requests": [{"id": "A", "prompt_tokens": 6, "output_tokens": 1}]}'


def request(**fields) -> str:
    return json.dumps({"requests": [{"id": "A", "prompt_tokens": 6, "output_tokens": 1} | fields]})


def config(**keys) -> str:
    return json.dumps({"config": keys, "requests": []})


SYNTAX = {
    "empty": (b"", ": is empty, must hold JSON"),
    "only space": (b" \n\r\n\t\n", ": is empty, must hold JSON"),
    "unfinished": ('{"requests": [', ":1: not JSON, it ends too early: Expecting value at column 15"),
    "unfinished over lines": ('{"requests": [\n  {"id": "A"', ":2: not JSON, it ends too early: "),
    "wrong over lines": ('{"requests": [\n\n  oops]}', ":3: not JSON: Expecting value at column 3"),
    "two values on a line": (f"{GOOD} {GOOD}", ":1: not JSON: Something follows the end of the value at column 85"),
    "two values over lines": ('{\n"requests": []}\n{\n"requests": []}', ":3: not JSON: Something follows the end"),
    "single quotes": ("{'requests': []}", ":1: not JSON: Expecting property name enclosed in double quotes"),
    "not UTF-8": (b'{"name": "\xff"}', ":1: is not UTF-8: byte 0xff at byte 11 of the line"),
    "UTF-16": (GOOD.encode("utf-16"), ":1: is not UTF-8: byte 0xff at byte 1 of the line"),
    "key twice": (
        '{"requests": [{"id": "A", "id": "B"}]}',
        ':1: requests[0]: the key "id" stands twice in this object, must be unique',
    ),
    "NaN": (
        '{"requests": [{"id": "A", "prompt_tokens": NaN}]}',
        ":1: requests[0].prompt_tokens: NaN is not JSON, must be a number",
    ),
    "infinity where nothing is checked": (
        '{"requests": [], "imported": {"rows": -Infinity}}',
        ":1: imported.rows: -Infinity is not JSON, must be a number",
    ),
    "deep list": ("[" * 100_000, ":1: nested too deeply"),
    "deep object": ('{"requests":' * 100_000, ":1: nested too deeply"),
}


@pytest.mark.parametrize(("content", "problem"), SYNTAX.values(), ids=SYNTAX)
def test_not_json(cli, file, content, problem):
    path = file(content)
    done = cli("trace", path)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"batchloom: {path}{problem}")
    assert done.err.count("\n") == 1


FIELDS = {
    "no object": ("3", "a scenario must be an object with config and requests"),
    "no requests": ("{}", "requests: missing, must be a list of requests"),
    "unknown key": (config(max_seqs=3), "config.max_seqs: unknown key, must be one of max_num_batched_tokens, "),
    "unknown key of a request": (request(prompt=3), "requests[0].prompt: unknown key, must be one of id, "),
    "a line of a golden file": ('{"scenario": {}, "trace": {}}', "scenario: unknown key, must be one of name, "),
    "negative": (
        request(prompt_tokens=-1),
        "requests[0].prompt_tokens: -1 is not allowed, must be an integer from 1 to 10000000",
    ),
    "too large": (
        config(max_num_seqs=10**12),
        "config.max_num_seqs: 1000000000000 is not allowed, must be an integer from 1 to 1000000",
    ),
    "fraction": (
        request(output_tokens=1.5),
        "requests[0].output_tokens: 1.5 is not allowed, must be an integer from 1 to 10000000",
    ),
    "text for a number": (
        request(prompt_tokens="6"),
        'requests[0].prompt_tokens: "6" is not allowed, must be an integer from 1 to 10000000',
    ),
    "number for a switch": (
        config(enable_chunked_prefill=1),
        "config.enable_chunked_prefill: 1 is not allowed, must be true or false",
    ),
    "unknown choice": (config(policy="lifo"), "config.policy: \"lifo\" is not allowed, must be 'fcfs' or 'priority'"),
    "missing": (
        '{"requests": [{"id": "A", "prompt_tokens": 1}]}',
        "requests[0].output_tokens: missing, must be an integer from 1 to 10000000",
    ),
    "ids twice": (
        json.dumps({"requests": [{"id": "A", "prompt_tokens": 1, "output_tokens": 1}] * 2}),
        'requests[1].id: "A" is taken by requests[0], must be unique',
    ),
    "both clocks": (
        json.dumps(
            {
                "requests": [
                    {"id": "A", "prompt_tokens": 1, "output_tokens": 1, "arrival_us": 0},
                    {"id": "B", "prompt_tokens": 1, "output_tokens": 1},
                ]
            }
        ),
        "requests[1].arrival_us: all requests must carry arrival_us, or none of them",
    ),
}


@pytest.mark.parametrize(("content", "problem"), FIELDS.values(), ids=FIELDS)
def test_no_scenario(cli, file, content, problem):
    path = file(content)
    done = cli("trace", path)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"batchloom: {path}:1: {problem}")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_number_of_five_thousand_digits(cli, file, sign):
    done = cli("trace", file(request(prompt_tokens=0).replace(": 0,", f": {sign}{'9' * 5000},")))
    assert done.status == 2
    shown = sign + "9" * (57 - len(sign)) + "..."
    assert f":1: requests[0].prompt_tokens: {shown} is not allowed, must be an integer from 1 to" in done.err
    assert done.err.count("\n") == 1


def test_a_list_inside_lists_is_one_line(cli, file):
    done = cli("trace", file('{"requests":' + "[" * 960 + "]" * 960 + "}"))
    assert done.status == 2
    assert done.err.count("\n") == 1


def test_a_missing_file(cli, tmp_path):
    path = tmp_path / "absent.json"
    assert cli("trace", path) == (2, "", f"batchloom: {path}: cannot be read: No such file or directory\n")


def test_a_folder(cli, tmp_path):
    assert cli("trace", tmp_path) == (2, "", f"batchloom: {tmp_path}: cannot be read: Is a directory\n")


def test_a_name_that_no_file_can_have(cli):
    assert cli("trace", "a\0b") == (2, "", "batchloom: a\\x00b: cannot be read: embedded null byte\n")


def test_nothing_in_a_message_steers_the_terminal(cli):
    done = cli("trace", "-", stdin=rb'{"requests": [], "a\nb\u001b[2J\u202e": 1}')
    assert done.err.startswith(r"batchloom: <stdin>:1: a\nb\x1b[2J\u202e: unknown key")
    assert done.err.count("\n") == 1


# --- the traces before a fault


def names(done) -> list[str]:
    return [trace["name"] for trace in done.values]


def test_lines_before_a_fault_are_traced(cli, file):
    path = file(f'{GOOD}\n\n{GOOD}\n{{"requests": [\n{GOOD}\n')
    done = cli("trace", path)
    assert (done.status, names(done)) == (2, ["good", "good"])
    assert done.err == f"batchloom: {path}:4: not JSON, it ends too early: Expecting value at column 15\n"


def test_a_broken_first_line_is_not_taken_for_a_document(cli, file):
    path = file(f'{{"requests": [\n{GOOD}\n')
    done = cli("trace", path)
    assert done.err == f"batchloom: {path}:1: not JSON, it ends too early: Expecting value at column 15\n"


def test_items_before_a_fault_are_traced(cli, file):
    path = file(f'[{GOOD},\n{GOOD},\n{{"requests": 3}},\n{GOOD}]')
    done = cli("trace", path)
    assert (done.status, names(done)) == (2, ["good", "good"])
    assert done.err == f"batchloom: {path}: [2].requests: 3 is not allowed, must be a list of requests\n"


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        (f"\n{GOOD}]", ":3: not JSON: Expecting ',' delimiter or ']' at column 1"),
        (",\n]", ":3: not JSON: Expecting value at column 1"),
        (",\n", ":2: not JSON, it ends too early: Expecting value at column 85"),
        ("\n]\n7", ":4: not JSON: Something follows the end of the value at column 1"),
    ],
    ids=["no comma", "comma at the end", "no end", "more after the end"],
)
def test_items_before_wrong_syntax_are_traced(cli, file, rest, problem):
    path = file(f"[{GOOD},\n{GOOD}{rest}")
    done = cli("trace", path)
    assert (done.status, names(done)) == (2, ["good", "good"])
    assert done.err == f"batchloom: {path}{problem}\n"


def test_files_after_a_fault_are_not_traced(cli, file):
    done = cli("trace", file(GOOD, "1.json"), file("{}", "2.json"), file(GOOD, "3.json"))
    assert (done.status, names(done)) == (2, ["good"])
    assert "2.json:1: requests: missing" in done.err


# --- arguments


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "the following arguments are required: COMMAND (see batchloom --help)"),
        (["trace"], "trace: the following arguments are required: FILE (see batchloom trace --help)"),
        (["trace", "--expl", "x"], "unrecognized arguments: --expl (see batchloom --help)"),
        (
            ["trace", "--max-steps", "0", "x"],
            "trace: argument --max-steps: 0 is not allowed, must be an integer from 1",
        ),
        (["onestep", "--D", "1.5"], 'onestep: argument --D: "1.5" is not an integer (see batchloom onestep --help)'),
        (["onestep", "--D", "9" * 5000], "onestep: argument --D: "),
        (["onestep", "--D", "-1"], "D: -1 is not allowed, must be an integer from 0"),
        (["onestep", "--B", "0"], "B: 0 is not allowed, must be an integer from 1"),
        (["onestep", "--policy", "x"], "onestep: argument --policy: invalid choice: 'x'"),
        (
            ["import", "azure", "x", "--rows", "0"],
            "import: argument --rows: 0 is not allowed, must be an integer from 1",
        ),
        (["import", "csv", "x"], "import: argument FORMAT: invalid choice: 'csv'"),
    ],
)
def test_wrong_arguments(cli, arguments, problem):
    done = cli(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"batchloom: {problem}")
    assert done.err.count("\n") == 1


# --- whatever comes


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("id", "prompt_tokens", "output_tokens", "prefix", "accepts", "images", "priority", "lora")
REQUESTS = st.lists(st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=4) | ANYTHING, max_size=2)
SCENARIOS = st.fixed_dictionaries({"requests": REQUESTS}, optional={"config": ANYTHING, "name": ANYTHING})


def fault_in(text: str) -> str:
    """What is wrong with a text as a scenario, empty for nothing."""
    place = Place("f", 1)
    try:
        place.parse(parse_scenario, _decode(text, place))
    except ConfigError as error:
        return str(error)
    return ""


@given(SCENARIOS | ANYTHING)
def test_only_a_config_error_comes_out_of_json(value):
    fault = fault_in(json.dumps(value))
    assert not fault or fault.startswith("f:1: ")


@given(st.text(alphabet='{}[]:,"a1-.eE\\n \n\tNu', max_size=30))
def test_text_is_json_for_both_or_for_neither(text):
    try:
        json.loads(text, parse_constant=int)
    except ValueError:
        assert "not JSON" in fault_in(text)
    else:
        assert "not JSON" not in fault_in(text)
