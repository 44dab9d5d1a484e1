"""Small runs for tests of the diagnosis, and what it finds in them."""

from sim.diagnosis import Finding, diagnose
from sim.engine import simulate
from sim.scenario import Scenario, parse_scenario

SMALL = {"max_num_batched_tokens": 16, "max_num_seqs": 4, "max_model_len": 64, "block_size": 4, "num_gpu_blocks": 100}


def scenario(*requests: dict, **config) -> Scenario:
    return parse_scenario({"name": "s", "config": SMALL | config, "requests": list(requests)})


def request(request_id: str, prompt_tokens: int, output_tokens: int, arrival_step: int = 0, **more) -> dict:
    tokens = {"prompt_tokens": prompt_tokens, "output_tokens": output_tokens}
    arrival = {} if "arrival_us" in more else {"arrival_step": arrival_step}
    return {"id": request_id, **tokens, **arrival, **more}


def findings(*requests: dict, **config) -> list[Finding]:
    run = scenario(*requests, **config)
    return diagnose(run, simulate(run))


def codes(*requests: dict, **config) -> list[str]:
    return [finding.code for finding in findings(*requests, **config)]


def the(code: str, found: list[Finding]) -> Finding:
    (finding,) = [finding for finding in found if finding.code == code]
    return finding


def sharing(prefix_tokens: int, num: int = 4) -> list[dict]:
    return [request(f"r{i}", 20, 2, 4 * i, prefix=[["S", prefix_tokens]]) for i in range(num)]


LIVELOCK = {"num_gpu_blocks": 10, "scheduler_reserve_full_isl": False}
QUEUE = [request("A", 24, 6), request("B", 32, 2, 1), request("C", 4, 2, 1), request("D", 4, 2, 1)]
