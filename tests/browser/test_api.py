"""`window.batchloom`: the same engine as the command line, asked from the page."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from sim import __version__
from sim.engine import simulate
from sim.scenario import parse_scenario
from tests.golden.recordings import by_family, first_difference

FAMILIES = by_family()

ASK = (
    "async ([name, value]) => { try { return { ok: await window.batchloom[name](value) }; } "
    "catch (error) { return { error: error.message, kind: error instanceof Error }; } }"
)
SAMPLE = 6
"""So many recordings of each family; `tests/golden` compares them all."""


@pytest.fixture(scope="module")
def live(browser: Browser, site_url: str) -> Iterator[Page]:
    """A page whose engine is ready."""
    errors: list[str] = []
    with browser.new_page() as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(f"{site_url}/en/")
        expect(page.locator("html")).to_have_attribute("data-engine", "ready", timeout=60_000)
        yield page
    assert errors == []


def ask(page: Page, name: str, value: object) -> Any:
    """The answer of one function, as JSON text that keeps the order of keys."""
    answer = page.evaluate(ASK, [name, value])
    assert "ok" in answer, answer
    return answer["ok"]


def refusal(page: Page, name: str, value: object) -> str:
    """The message with which a question is rejected."""
    answer = page.evaluate(ASK, [name, value])
    assert answer.get("kind") is True, answer
    message: str = answer["error"]
    return message


def command_line(root: Path, arguments: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
    """Runs `python -m sim`."""
    command = [sys.executable, "-m", "sim", *arguments]
    return subprocess.run(command, cwd=root, input=given, capture_output=True, text=True, check=False)


def test_version_and_ready(live: Page) -> None:
    assert live.evaluate("() => window.batchloom.version") == __version__
    assert live.evaluate("() => window.batchloom.ready.then(() => 'ready')") == "ready"


def digest(trace: object) -> str:
    """The same for equal traces, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(trace, sort_keys=True).encode()).hexdigest()


@pytest.mark.parametrize("family", FAMILIES)
def test_recorded_traces_come_out_of_the_page_too(live: Page, family: str) -> None:
    for recording in FAMILIES[family][:SAMPLE]:
        there = ask(live, "trace", recording.scenario)
        assert first_difference(there, recording.trace) is None, recording.name
        assert digest(there) == digest(simulate(parse_scenario(recording.scenario)).to_json()), recording.name


def test_long_run_with_preemptions_has_the_digest_of_the_command_line(live: Page, root: Path) -> None:
    scenario = {
        "name": "crowd",
        "config": {"max_num_batched_tokens": 64, "max_num_seqs": 16, "num_gpu_blocks": 30, "block_size": 8},
        "requests": [
            {
                "id": f"r{n}",
                "arrival_step": n * 7 % 40,
                "prompt_tokens": 1 + n * 37 % 90,
                "output_tokens": 1 + n * 11 % 60,
            }
            for n in range(24)
        ],
    }
    there = ask(live, "trace", scenario)
    here = json.loads(command_line(root, ["trace", "-"], json.dumps(scenario)).stdout)
    assert any(step["preempted"] for step in here["steps"])
    assert digest(there) == digest(here)
    explained = json.loads(command_line(root, ["trace", "--explain", "-"], json.dumps(scenario)).stdout)
    assert digest(ask(live, "explain", scenario)) == digest(explained)
    assert any(step["why"] for step in explained["steps"])


def test_order_of_scheduling_survives_ids_of_digits(live: Page) -> None:
    requests = [{"id": name, "prompt_tokens": 2, "output_tokens": 2} for name in ("10", "9", "B")]
    trace = ask(live, "trace", {"requests": requests})
    assert trace["steps"][0]["order"] == ["10", "9", "B"]


def test_onestep_fills_in_what_is_left_out(live: Page) -> None:
    assert ask(live, "onestep", {}) == ask(live, "onestep", {"D": 10, "P": 24, "B": 16, "M": 32})
    whole = ask(live, "onestep", {"policy": "prefill-first", "chunked_prefill": False})
    assert whole == {"decode": 10, "prefill": 0, "prefill_left": 24, "idle": 6, "steps_to_finish_prefill": None}


def test_questions_at_the_same_time_get_their_own_answers(live: Page) -> None:
    answers = live.evaluate(
        "() => Promise.all([...Array(20).keys()].map((D) => window.batchloom.onestep({ D, P: 0, B: 64, M: 64 })))"
    )
    assert [answer["decode"] for answer in answers] == list(range(20))


def test_refused_configuration_is_an_answer(live: Page) -> None:
    trace = ask(live, "trace", {"config": {"max_num_batched_tokens": 8, "max_num_seqs": 9}, "requests": []})
    assert trace["error"] == "ValidationError"
    assert trace["field"] == "max_num_batched_tokens"


BAD_SCENARIOS: dict[str, object] = {
    "requests": {},
    "max_num_seq": {"config": {"max_num_seq": 4}, "requests": []},
    "config.max_num_seqs": {"config": {"max_num_seqs": -1}, "requests": []},
    "requests[0].prompt_tokens": {"requests": [{"id": "A", "prompt_tokens": 10**12, "output_tokens": 1}]},
    "requests[1].id": {"requests": [{"id": "A", "prompt_tokens": 1, "output_tokens": 1}] * 2},
    "object": None,
}


@pytest.mark.parametrize("name", BAD_SCENARIOS)
def test_bad_scenario_is_rejected_as_on_the_command_line(live: Page, root: Path, name: str) -> None:
    scenario = BAD_SCENARIOS[name]
    message = refusal(live, "trace", scenario)
    assert "\n" not in message
    assert name in message
    answer = command_line(root, ["trace", "-"], json.dumps(scenario))
    assert answer.returncode == 2
    assert message in answer.stderr
    assert refusal(live, "explain", scenario) == message


@pytest.mark.parametrize("params", [{"D": -1}, {"B": 0}, {"M": "many"}, {"policy": "fastest"}, {"N": 1}, {"D": 1.5}])
def test_bad_parameters_are_rejected_in_one_line(live: Page, params: dict[str, object]) -> None:
    message = refusal(live, "onestep", params)
    assert "\n" not in message
    assert next(iter(params)) in message


def test_what_is_no_json_is_rejected_in_one_line(live: Page) -> None:
    message = live.evaluate(
        """async () => {
            const circle = {};
            circle.circle = circle;
            return window.batchloom.trace(circle).then(() => "accepted", (error) => error.message);
        }"""
    )
    assert "circular" in message
    assert "\n" not in message
