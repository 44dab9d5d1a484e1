"""The same scenario gives the same trace: again, in another process, under another hash seed, in another order."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

from sim.engine import simulate
from sim.scenario import parse_scenario
from tests.golden.recordings import HERE, read

SCENARIOS = [
    recording.scenario for name in ("reasons", "rules", "cases") for recording in read(HERE / f"{name}.jsonl.gz")
]

PROGRAM = """
import hashlib, json, sys
from sim.engine import simulate
from sim.scenario import parse_scenario
for line in sys.stdin:
    trace = simulate(parse_scenario(json.loads(line))).to_json(explain=True)
    print(hashlib.sha256(json.dumps(trace).encode()).hexdigest())
"""


def digest(scenario) -> str:
    trace = simulate(parse_scenario(scenario)).to_json(explain=True)
    return hashlib.sha256(json.dumps(trace).encode()).hexdigest()


@pytest.fixture(scope="module")
def digests():
    return [digest(scenario) for scenario in SCENARIOS]


def test_digests_tell_scenarios_apart(digests):
    assert len(set(digests)) == len(SCENARIOS) > 100


def test_again_and_in_another_order(digests):
    assert [digest(scenario) for scenario in reversed(SCENARIOS)] == digests[::-1]


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_under_another_hash_seed(digests, root, seed):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input="\n".join(json.dumps(scenario) for scenario in SCENARIOS),
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == digests


def test_a_scenario_is_not_changed_by_its_run():
    for scenario in SCENARIOS:
        parsed = parse_scenario(scenario)
        before = repr(parsed)
        simulate(parsed)
        assert repr(parsed) == before
