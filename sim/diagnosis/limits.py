"""Limits that one request alone can exceed, and the one change that raises all that are exceeded."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ..config import Config
from ..parameter import Value
from ..scenario import RequestSpec
from .changes import changed, larger_budget, larger_encoder, offer
from .facts import Facts
from .finding import Change


class Limit(NamedTuple):
    """A limit that one request alone can exceed: what the request needs of it, and how much there is.

    `whatever`: it is too much even for a request that the run has finished.
    """

    code: str
    needs: Callable[[RequestSpec, Facts], int]
    has: Callable[[Facts], int]
    change: Callable[[Config, int], Change]
    whatever: bool = False


def length(spec: RequestSpec) -> int:
    """Tokens of prompt and output together."""
    return spec.prompt_tokens + spec.output_tokens


def leaves_no_room(spec: RequestSpec, config: Config) -> bool:
    """The prompt alone reaches max_model_len, and a server refuses it.

    Source: `vllm/v1/engine/input_processor.py::InputProcessor._validate_prompt_len`.
    """
    return spec.prompt_tokens >= config.max_model_len


def _larger_model_len(config: Config, num_tokens: int) -> Change:
    change: dict[str, Value] = {"max_model_len": num_tokens}
    if not config.enable_chunked_prefill:
        change["max_num_batched_tokens"] = max(num_tokens, config.max_num_batched_tokens)
    return offer(config, **change)


def _overlong(spec: RequestSpec, facts: Facts) -> int:
    return length(spec) if leaves_no_room(spec, facts.config) else 0


def _longest_image(spec: RequestSpec, _: Facts) -> int:
    return max((image.length for image in spec.images), default=0)


def _uncut_image(spec: RequestSpec, facts: Facts) -> int:
    return _longest_image(spec, facts) if facts.config.disable_chunked_mm_input else 0


def _uncut_prompt(spec: RequestSpec, facts: Facts) -> int:
    return 0 if facts.config.enable_chunked_prefill else spec.prompt_tokens


LIMITS = (
    Limit(
        "model_len",
        _overlong,
        lambda facts: facts.config.max_model_len,
        _larger_model_len,
        whatever=True,
    ),
    Limit(
        "blocks",
        lambda spec, facts: facts.whole_blocks(spec),
        lambda facts: facts.usable_blocks,
        lambda config, needs: offer(config, num_gpu_blocks=needs + 1),
    ),
    Limit("encoder_budget", _longest_image, lambda facts: facts.config.encoder_compute_budget, larger_encoder),
    Limit(
        "encoder_cache",
        _longest_image,
        lambda facts: facts.config.encoder_cache_size or facts.config.encoder_compute_budget,
        larger_encoder,
    ),
    Limit("chunked_mm_input_off", _uncut_image, lambda facts: facts.config.token_budget, larger_budget),
    Limit("chunked_prefill_off", _uncut_prompt, lambda facts: facts.config.token_budget, larger_budget),
)
"""In the order in which a request is held against them; it counts under the first that it exceeds."""


def too_long(facts: Facts) -> list[RequestSpec]:
    """Requests with more tokens than max_model_len; of the aborted ones only those that a server refuses."""
    left, config = frozenset(facts.trace.unfinished), facts.config
    return [
        lane.spec
        for lane in facts.lanes.lanes
        if length(lane.spec) > config.max_model_len
        and (leaves_no_room(lane.spec, config) or lane.finished is not None or lane.spec.id in left)
    ]


def raised(facts: Facts, *, longer: bool) -> Facts:
    """The same run, its configuration changed so that each request that is left over fits when it is alone.

    Each limit is raised to the largest need, in the order of `LIMITS`, and needs are counted with what was raised
    before: a longer sequence needs more blocks. A limit that cannot be raised so far stays.

    Args:
        facts: of the run.
        longer: max_model_len is raised too, to the longest sequence of all.
    """
    specs = [lane.spec for lane in facts.unfinished()]
    after = facts
    if longer:
        specs += too_long(facts)
        after = _with(after, _larger_model_len(facts.config, max(map(length, specs))))
    for limit in LIMITS:
        needs = max((limit.needs(spec, after) for spec in specs), default=0)
        if needs > limit.has(after):
            after = _with(after, limit.change(after.config, needs))
    return after


def _with(facts: Facts, change: Change) -> Facts:
    return replace(facts, scenario=replace(facts.scenario, config=changed(facts.config, change)))
