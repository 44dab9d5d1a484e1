"""The scenarios that the site shows recordings of: small ones of its figures, and a long prompt beside decodes.

vLLM's attention on a CPU wants blocks of a multiple of 32 tokens, so all have such blocks; where a figure's rule is
about blocks, its scenario is told here again at that size.
"""

from typing import Any

Document = dict[str, Any]
BLOCKS: Document = {"block_size": 32, "num_gpu_blocks": 64}
BUDGETS = (128, 512, 2048)


def _request(name: str, arrival: int, prompt: int, output: int, **more: Any) -> Document:
    return {"id": name, "arrival_step": arrival, "prompt_tokens": prompt, "output_tokens": output, **more}


def _group(name: str, decodes: int) -> Document:
    """A group of the one-step model: `decodes` requests that decode when a prompt of 24 tokens comes; 16 tokens a step.

    A server refuses `max_num_batched_tokens` below `max_num_seqs`; what it takes is a cap on what is scheduled.
    """
    config = {"max_num_batched_tokens": 32, "max_num_seqs": 32, "max_num_scheduled_tokens": 16, "max_model_len": 64}
    requests = [_request(f"d{place}", 0, 1, 10) for place in range(decodes)]
    return {"name": name, "config": config | BLOCKS, "requests": [*requests, _request("P", 3, 24, 2)]}


def _long_prompt(budget: int) -> Document:
    """Eight decodes, and a prompt of 1,024 tokens that comes in their midst."""
    config = {"max_num_batched_tokens": budget, "max_num_seqs": 16, "max_model_len": 1152} | BLOCKS
    decodes = [_request(f"d{place}", 0, 16, 20) for place in range(8)]
    return {"name": f"long-{budget}", "config": config, "requests": [*decodes, _request("P", 4, 1024, 4)]}


SIX_STEPS: Document = {
    "name": "six-steps",
    "config": {"max_num_batched_tokens": 8, "max_num_seqs": 4, "max_model_len": 64} | BLOCKS,
    "requests": [_request("A", 0, 6, 5), _request("B", 1, 10, 3), _request("C", 2, 9, 3)],
}
PREEMPTION: Document = {
    "name": "preemption",
    "config": {
        "max_num_batched_tokens": 80,
        "max_num_seqs": 4,
        "max_model_len": 128,
        "block_size": 32,
        "num_gpu_blocks": 7,
    },
    "requests": [_request("A", 0, 92, 9), _request("B", 0, 60, 9), _request("C", 2, 20, 5)],
}
PREFIX_CACHE: Document = {
    "name": "prefix-cache",
    "config": {
        "max_num_batched_tokens": 96,
        "max_num_seqs": 4,
        "max_model_len": 128,
        "enable_prefix_caching": True,
        "block_size": 32,
        "num_gpu_blocks": 13,
    },
    "requests": [
        _request("A", 0, 96, 4, prefix=[["system", 64], ["question", 32]]),
        _request("B", 1, 88, 3, prefix=[["system", 64]]),
        _request("C", 2, 96, 3, prefix=[["system", 64], ["question", 32]]),
    ],
}

SITE_SCENARIOS: dict[str, Document] = {
    document["name"]: document
    for document in (
        SIX_STEPS,
        _group("group-a", 10),
        _group("group-b", 16),
        PREEMPTION,
        PREFIX_CACHE,
        *(_long_prompt(budget) for budget in BUDGETS),
    )
}
"""By name, in the order of the page."""
