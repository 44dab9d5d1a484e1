"""What the traces of random scenarios say, told by the traces alone."""

from collections import Counter

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from sim import livelock
from sim.engine import simulate
from sim.plain import PlainEngine
from sim.scenario import parse_scenario
from tests.golden.replay import Replay
from tests.golden.test_reasons import wrong_in
from tests.strategies import FEATURES, PLAIN_FEATURES, scenarios

IN_ORDER = tuple(feature for feature in FEATURES if feature != "disorder")
MAX_STEPS = 300

some = settings(
    max_examples=120,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def trace_of(scenario, **options):
    """The trace, with reasons, of a scenario that vLLM does not refuse."""
    trace = simulate(parse_scenario(scenario), **{"max_steps": MAX_STEPS, **options}).to_json(explain=True)
    assume("error" not in trace)
    return trace


@some
@given(scenarios(IN_ORDER))
def test_every_step_keeps_to_its_limits(scenario):
    for moment in Replay(scenario, trace_of(scenario)).moments():
        step, scheduled = moment.step, moment.step["scheduled"]
        total = sum(scheduled.values())
        assert total <= moment.token_budget
        assert total + moment.draft_slots * len(scheduled) <= moment.config["max_num_batched_tokens"]
        assert len(step["running"]) <= moment.slots
        assert set(scheduled) <= set(step["running"])
        assert set(step["preempted"]) <= set(step["waiting"])
        encoded = sum(moment.lives[r].spec["images"][i]["length"] for r, some in step["encoder"].items() for i in some)
        assert encoded <= moment.config.get("encoder_compute_budget", 0)


@some
@given(scenarios())
def test_blocks_are_conserved(scenario):
    usable = set(range(1, scenario["config"]["num_gpu_blocks"]))
    most_owners = len(scenario["requests"]) if scenario["config"].get("enable_prefix_caching") else 1
    for moment in Replay(scenario, trace_of(scenario)).moments():
        owners = Counter(block for life in moment.lives.values() for block in life.owned)
        assert len(owners) + moment.step["free_blocks"] == len(usable)
        assert set(owners) <= usable
        assert max(owners.values(), default=0) <= most_owners


@some
@given(scenarios(IN_ORDER))
def test_a_trace_replays_to_the_state_of_the_scheduler(scenario):
    trace = trace_of(scenario)
    run = PlainEngine(parse_scenario(scenario))
    for moment in Replay(scenario, trace).moments():
        run._arrive()
        requests = run.scheduler.requests
        assert [request.request_id for request in run.scheduler.running] == moment.running
        assert [request.request_id for request in run.scheduler.waiting] == moment.waiting
        assert {r: (q.num_tokens, q.num_computed_tokens, q.num_output_tokens) for r, q in requests.items()} == {
            r: (life.known, life.computed, life.num_generated) for r, life in moment.lives.items()
        }
        run.step()
        held = run.scheduler.kv_cache_manager.req_to_blocks
        assert held == {request_id: moment.lives[request_id].owned for request_id in held}


@some
@given(scenarios(IN_ORDER))
def test_every_reason_is_true(scenario):
    for moment in Replay(scenario, trace_of(scenario)).moments():
        assert list(wrong_in(moment)) == []


@some
@given(scenarios(), st.integers(1, 40))
def test_a_cut_run_is_the_beginning_of_the_whole(scenario, length):
    whole = trace_of(scenario)
    assume(length < len(whole["steps"]) and whole["steps"][length - 1]["scheduled"])
    cut = trace_of(scenario, max_steps=length)
    assert cut["outcome"] == "max_steps"
    assert cut["steps"] == whole["steps"][:length]


@some
@given(scenarios(tuple(f for f in IN_ORDER if f != "abort"), in_time=True))
def test_times_only_say_in_which_step_a_request_arrives(scenario):
    timed = trace_of(scenario)
    assert clock_of(timed) is None
    first_seen = {}
    for step in timed["steps"]:
        for request_id in (*step["running"], *step["waiting"]):
            first_seen.setdefault(request_id, step["step"])
    assume(len(first_seen) == len(scenario["requests"]))
    in_order = sorted(scenario["requests"], key=lambda spec: spec["arrival_us"])
    stepped = [
        {k: v for k, v in s.items() if k != "arrival_us"} | {"arrival_step": first_seen[s["id"]]} for s in in_order
    ]
    # Ties in priority are broken by arrival, which steps make coarser.
    assume(scenario["config"].get("policy") != "priority")
    for step in timed["steps"]:
        del step["start_us"], step["step_us"]
    assert trace_of({**scenario, "requests": stepped})["steps"] == timed["steps"]


def clock_of(trace):
    """The first step whose time is wrong: it begins when the one before ends, or later when there was nothing to do."""
    now = 0
    for step in trace["steps"]:
        late = step["start_us"] - now
        if late < 0 or (step["step_us"] > 0) != bool(step["scheduled"]):
            return step
        now = step["start_us"] + step["step_us"]
    return None


LIVELOCK = {
    "name": "begins again and again",
    "config": {
        "max_num_batched_tokens": 8,
        "max_num_seqs": 2,
        "max_model_len": 24,
        "block_size": 4,
        "num_gpu_blocks": 4,
        "scheduler_reserve_full_isl": False,
    },
    "requests": [{"id": "q0", "prompt_tokens": 20, "output_tokens": 1, "arrival_step": 0}],
}


@some
@given(scenarios((*PLAIN_FEATURES, "async", "spec", "prefix")))
@example(LIVELOCK)
def test_a_livelock_is_found_and_nothing_else_is(scenario):
    """With the patience of 30 steps instead of 1,500: whoever is cut would still be there after 2,000."""
    parsed = parse_scenario(scenario)
    assume(parsed.config.refusal() is None)
    patience, livelock.LIVELOCK_STEPS = livelock.LIVELOCK_STEPS, 30
    try:
        found = [simulate(parsed, driver=driver).to_json() for driver in ("plain", "fast")]
        livelock.LIVELOCK_STEPS = 1_000_000
        whole = simulate(parsed, max_steps=2_000, driver="plain").to_json()
    finally:
        livelock.LIVELOCK_STEPS = patience
    assume("error" not in whole)
    for trace in found:
        assert trace["outcome"] == whole["outcome"]
        assert trace["steps"] == whole["steps"][: len(trace["steps"])]
