"""The scheduler under arrivals, aborts and steps in any order, with one batch or two in flight."""

from collections import deque

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sim.config import parse_config
from sim.output import SchedulerOutput
from sim.request import Request
from sim.scenario import RequestSpec
from sim.scheduler import Scheduler
from tests.property.invariants import check

CONFIGS = st.fixed_dictionaries(
    {
        "max_num_seqs": st.integers(1, 4),
        "max_num_batched_tokens": st.integers(4, 16),
        "max_model_len": st.sampled_from([16, 40]),
        "block_size": st.integers(1, 4),
        "num_gpu_blocks": st.integers(4, 24),
        "policy": st.sampled_from(["fcfs", "priority"]),
        "enable_prefix_caching": st.booleans(),
        "async_scheduling": st.booleans(),
        "num_speculative_tokens": st.integers(0, 2),
        "scheduler_reserve_full_isl": st.booleans(),
        "prefill_schedule_interval": st.integers(1, 3),
        "watermark": st.sampled_from([0.0, 0.2]),
    }
)


class SchedulerMachine(RuleBasedStateMachine):
    """Owns one scheduler and the batches in flight."""

    @initialize(config=CONFIGS)
    def start(self, config):
        self.config = parse_config(config)
        self.scheduler = Scheduler(self.config)
        self.in_flight: deque[SchedulerOutput] = deque()
        self.num_added = 0
        self.generated: dict[str, int] = {}

    @rule(
        prompt_tokens=st.integers(1, 14),
        output_tokens=st.integers(1, 12),
        priority=st.integers(0, 2),
        prefix=st.sampled_from([(), (("a", 8),), (("a", 4), ("b", 6))]),
    )
    def add(self, prompt_tokens, output_tokens, priority, prefix):
        spec = RequestSpec(
            f"r{self.num_added}", self.num_added, prompt_tokens, output_tokens, priority=priority, prefix=prefix
        )
        self.num_added += 1
        self.scheduler.add_request(Request(spec))

    @precondition(lambda self: self.scheduler.requests)
    @rule(data=st.data())
    def abort(self, data):
        request_id = data.draw(st.sampled_from(list(self.scheduler.requests)))
        assert self.scheduler.finish_request(request_id)
        assert not self.scheduler.finish_request(request_id)

    @rule()
    def schedule(self):
        was_running = [request.request_id for request in self.scheduler.running]
        step = self.scheduler.schedule()
        self.in_flight.append(step)
        self.check_step(step, was_running)
        depth = 2 if self.config.async_scheduling else 1
        while len(self.in_flight) >= depth or (self.in_flight and not step.num_scheduled_tokens):
            self.apply()

    def check_step(self, step, was_running):
        assert sum(step.num_scheduled_tokens.values()) <= self.scheduler.max_num_scheduled_tokens
        assert all(count > 0 for count in step.num_scheduled_tokens.values())
        assert not (set(step.preempted) & set(step.num_scheduled_tokens)), "a victim computes nothing"
        assert not (step.preempted and (step.new or step.resumed)), "nobody is admitted after a preemption"
        now = [request.request_id for request in self.scheduler.running]
        kept = [request_id for request_id in was_running if request_id not in step.preempted]
        assert now == [*kept, *(i for i in step.num_scheduled_tokens if i not in was_running)], "order of admission"

    def apply(self):
        step = self.in_flight.popleft()
        sampled = {i: 1 + step.spec.get(i, 0) // 2 for i in step.samples if i in self.scheduler.requests}
        ends = {i: self.scheduler.requests[i].max_tokens for i in sampled}
        applied = self.scheduler.update_from_output(step, sampled)
        if not self.config.async_scheduling:
            self.scheduler.update_draft_token_ids(step)
        for request_id, count in applied.generated.items():
            self.generated[request_id] = self.generated.get(request_id, 0) + count
            assert self.generated[request_id] <= ends[request_id]

    @invariant()
    def holds(self):
        if hasattr(self, "scheduler"):
            check(self.scheduler)


SchedulerMachine.TestCase.settings = settings(
    max_examples=120,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
TestScheduler = SchedulerMachine.TestCase
