"""What is run on one H200 in under five minutes: scenarios of an 8B model, and a grid of single batches to fit to."""

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

Document = dict[str, Any]
Batch = list[tuple[int, int]]


class Scale(NamedTuple):
    """How much smaller everything is: 1 on a GPU, more in a test on a CPU.

    Args:
        tokens: by which lengths, budgets and pools are divided.
        requests: by which counts are.
    """

    tokens: int = 1
    requests: int = 1

    def length(self, tokens: int) -> int:
        """A number of tokens or blocks."""
        return max(tokens // self.tokens, 1)

    def count(self, requests: int) -> int:
        """A number of requests."""
        return max(requests // self.requests, 1)


def scenarios(scale: Scale) -> Iterator[Document]:
    """The loads in the order in which they are run, the ones that say most first."""
    yield from (_interference(scale, budget) for budget in (512, 2048, 8192))
    yield from (_prefix(scale, caching) for caching in (False, True))
    yield _preemption(scale)
    yield _burst(scale)
    yield from (_poisson(scale, budget) for budget in (512, 2048))
    yield _long_context(scale)


def _config(scale: Scale, budget: int, seqs: int, longest: int, **more: Any) -> Document:
    most = max(scale.count(seqs), 1)
    limits = {"max_num_batched_tokens": max(scale.length(budget), most), "max_num_seqs": most}
    return limits | {"max_model_len": scale.length(longest) + 8} | more


def _requests(scale: Scale, count: int, prompt: int, output: int, **more: Any) -> list[Document]:
    shape = {"prompt_tokens": scale.length(prompt), "output_tokens": scale.length(output)}
    return [{"id": f"r{place}", **shape, **more} for place in range(scale.count(count))]


def _interference(scale: Scale, budget: int) -> Document:
    """Decodes, and one long prompt in their midst."""
    prompt = {"prompt_tokens": scale.length(8192), "output_tokens": scale.length(64)}
    late = {"id": "P", "arrival_step": scale.length(128), **prompt}
    requests = [*_requests(scale, 32, 1024, 256), late]
    return {
        "name": f"interference-{budget}",
        "config": _config(scale, budget, 64, 8192 + 64),
        "requests": requests,
    }


def _prefix(scale: Scale, caching: bool) -> Document:
    """Prompts that share their first 4,096 tokens."""
    prefix = [["shared", scale.length(4096)]]
    return {
        "name": f"prefix-{'on' if caching else 'off'}",
        "config": _config(scale, 8192, 64, 4096 + 128 + 64, enable_prefix_caching=caching),
        "requests": _requests(scale, 32, 4096 + 128, 64, prefix=prefix),
    }


def _preemption(scale: Scale) -> Document:
    """More sequences than fit the pool."""
    shape = _requests(scale, 24, 512, 512)
    blocks = -(-(shape[0]["prompt_tokens"] + shape[0]["output_tokens"]) // 16) * len(shape)
    config = _config(scale, 2048, 64, 1024, num_gpu_blocks=blocks * 25 // 32 + 1)
    return {"name": "preemption-512", "config": config, "requests": shape}


def _burst(scale: Scale) -> Document:
    """Everybody at once."""
    return {"name": "burst", "config": _config(scale, 8192, 256, 512), "requests": _requests(scale, 128, 256, 128)}


def _poisson(scale: Scale, budget: int) -> Document:
    """Arrivals by chance, twelve a second."""
    random, now = Random(12), 0  # noqa: S311 - no secret
    requests = _requests(scale, 96, 1024, 256)
    for request in requests:
        now += int(random.expovariate(12) * 1_000_000) // scale.tokens
        request["arrival_us"] = now
    return {"name": f"poisson-{budget}", "config": _config(scale, budget, 128, 2048), "requests": requests}


def _long_context(scale: Scale) -> Document:
    """Prompts of 32,768 tokens."""
    config = _config(scale, 8192, 16, 32768 + 64, num_gpu_blocks=20_000)
    return {"name": "long-context", "config": config, "requests": _requests(scale, 8, 32768, 64)}


def grid(scale: Scale) -> list[Batch]:
    """Single batches: decodes by number and context, whole prompts, late chunks, and mixed ones."""
    decodes = [
        [(scale.length(context) - 1, 1)] * scale.count(count)
        for count in (1, 4, 16, 32, 64, 128, 256)
        for context in (64, 512, 2048, 8192)
        if count * context <= 600_000
    ]
    prompts = [[(0, scale.length(n))] for n in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)]
    chunks = [[(scale.length(start), scale.length(n))] for start in (2048, 8192, 24576) for n in (256, 512, 2048)]
    mixed = [
        [(scale.length(context) - 1, 1)] * scale.count(count) + [(0, scale.length(n))]
        for count, context in ((8, 1024), (32, 1024), (32, 4096), (128, 1024), (128, 2048), (64, 256))
        for n in (128, 512, 2048)
    ]
    return [*decodes, *prompts, *chunks, *mixed]
