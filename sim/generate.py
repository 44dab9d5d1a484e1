"""Requests by rule and by chance: how many, when they come, how long they are, what they share. A seed fixes it all."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from .errors import ConfigError
from .parameter import Parameter, Value, shown
from .parameters import MAX_ARRIVAL_STEP, MAX_TOKENS, REQUEST, by_name
from .splitmix import FRACTION_BITS, SplitMix64

MAX_GENERATED = 100_000
MAX_LEVELS_CHARACTERS = 200

LENGTHS = ("fixed", "uniform", "long-tail", "bimodal")


def _number(name: str, default: int, help_en: str, help_zh: str, **more: Any) -> Parameter:
    return Parameter(name, "int", default, help_en, help_zh, **({"minimum": 1} | more))


def _lengths(what: str, zh: str, default: int, most: int) -> tuple[Parameter, ...]:
    """The four rows for the lengths of prompts or of outputs."""
    tokens = {"maximum": MAX_TOKENS, "unit": "tokens"}
    return (
        Parameter(
            f"{what}_lengths",
            "choice",
            "long-tail",
            f"How long the {what}s are: all the same, anything between two lengths, mostly short with a long tail, "
            "or either short or long.",
            f"{zh}的长度分布：全部相同、两个长度之间均匀分布、多数较短并带长尾、非短即长。",
            choices=LENGTHS,
        ),
        _number(
            f"{what}_tokens",
            default,
            f"Length of a fixed {what}, the least of uniform ones, the mean of a long tail (before it is cut), "
            "or the short one of two.",
            f"{zh}的长度：固定时即该长度，均匀时为最短，长尾时为均值（截断之前），双峰时为短的一种。",
            **tokens,
        ),
        _number(
            f"{what}_max_tokens",
            most,
            f"The longest {what}: the most of uniform ones, where a long tail is cut, or the long one of two.",
            f"{zh}的最大长度：均匀时为最长，长尾在此截断，双峰时为长的一种。",
            **tokens,
        ),
        _number(
            f"{what}_long_permille",
            100,
            f"How many in 1,000 {what}s are the long one of two.",
            f"双峰时每1,000个{zh}中长的有多少个。",
            minimum=0,
            maximum=1000,
        ),
    )


GENERATOR: tuple[Parameter, ...] = (
    _number("count", 40, "How many requests.", "请求数。", maximum=MAX_GENERATED, unit="requests"),
    _number(
        "seed", 1, "The same seed gives the same requests.", "种子相同，请求就相同。", minimum=0, maximum=2**32 - 1
    ),
    Parameter(
        "arrivals",
        "choice",
        "random",
        "When requests arrive: all at the start, one by one, by chance at a mean rate, or several together.",
        "请求何时到达：一开始全部到达、逐个到达、按平均速率随机到达、成批到达。",
        choices=("at-once", "regular", "random", "bursts"),
    ),
    Parameter(
        "clock",
        "choice",
        "steps",
        "What arrivals are counted in: steps of the scheduler, or microseconds.",
        "到达时间的单位：调度器的步，或微秒。",
        choices=("steps", "us"),
    ),
    _number(
        "interval_steps",
        4,
        "Steps from one regular arrival, or burst, to the next.",
        "逐个或成批到达时，相邻两次相隔的步数。",
        maximum=MAX_ARRIVAL_STEP,
        unit="steps",
    ),
    _number(
        "interval_us",
        250_000,
        "Microseconds from one regular arrival, or burst, to the next.",
        "逐个或成批到达时，相邻两次相隔的微秒数。",
        maximum=1_000_000_000,
        unit="us",
    ),
    _number(
        "per_1000_steps",
        250,
        "Mean number of requests that arrive by chance in 1,000 steps.",
        "随机到达时，平均每1,000步到达的请求数。",
        maximum=1_000_000,
        unit="requests",
    ),
    _number(
        "per_second",
        4,
        "Mean number of requests that arrive by chance in a second.",
        "随机到达时，平均每秒到达的请求数。",
        maximum=1_000_000,
        unit="requests",
    ),
    _number("burst", 8, "Requests in a burst.", "每批的请求数。", maximum=MAX_GENERATED, unit="requests"),
    *_lengths("prompt", "prompt", 200, 2000),
    *_lengths("output", "输出", 50, 500),
    _number(
        "prefix_groups",
        0,
        "Groups of requests whose prompts begin alike; 0 for none.",
        "prompt开头相同的请求分成几组；0表示没有。",
        minimum=0,
        maximum=10_000,
    ),
    _number(
        "prefix_tokens",
        64,
        "Tokens that a group shares; of a shorter prompt all of it.",
        "同组共享的token数；更短的prompt则全部共享。",
        maximum=MAX_TOKENS,
        unit="tokens",
    ),
    _number(
        "prefix_permille",
        500,
        "How many in 1,000 requests belong to a group.",
        "每1,000个请求中属于某一组的有多少个。",
        minimum=0,
        maximum=1000,
    ),
    Parameter(
        "priorities",
        "text",
        "0",
        "Priorities, separated by commas; each request gets one of them by chance. They count under policy = priority.",
        "优先级，以逗号分隔；每个请求随机得到其中一个。policy为priority时才起作用。",
        maximum=MAX_LEVELS_CHARACTERS,
    ),
)
"""What a list of requests is made from."""


def generate(values: Mapping[str, object]) -> list[dict[str, Any]]:
    """Requests in the form of a scenario, in the order of their arrival.

    Arrivals, prompts, outputs, prefixes and priorities each have a stream of numbers of their own: another length of
    the outputs leaves everything else as it was.

    Args:
        values: by name of `GENERATOR`; the table's defaults for what is left out.

    Raises:
        ConfigError: unknown name, wrong type or range, a longest length below the other one, arrivals too late.
    """
    checked = _check(values)
    root = SplitMix64(checked["seed"])
    when, prompts, outputs, prefixes, priorities = (SplitMix64(root.next()) for _ in range(5))
    arrival = "arrival_step" if checked["clock"] == "steps" else "arrival_us"
    levels = _levels(checked["priorities"])
    arrivals = _arrivals(checked, when)
    requests = []
    for index in range(checked["count"]):
        request: dict[str, Any] = {"id": f"r{index}", arrival: next(arrivals)}
        request["prompt_tokens"] = _length(checked, "prompt", prompts)
        request["output_tokens"] = _length(checked, "output", outputs)
        if levels != [0]:
            request["priority"] = levels[priorities.below(len(levels))]
        is_member, group = prefixes.below(1000) < checked["prefix_permille"], prefixes.below(checked["prefix_groups"])
        if is_member and checked["prefix_groups"]:
            request["prefix"] = [[f"prefix-{group}", checked["prefix_tokens"]]]
        requests.append(request)
    last = requests[-1].get("arrival_step", 0)
    if last > MAX_ARRIVAL_STEP:
        field = "per_1000_steps" if checked["arrivals"] == "random" else "interval_steps"
        raise ConfigError(field, f"the last request would arrive at step {last}, at most {MAX_ARRIVAL_STEP} is allowed")
    return requests


def _check(values: Mapping[str, object]) -> dict[str, Any]:
    rows = by_name(GENERATOR)
    for name in values:
        if name not in rows:
            raise ConfigError(name, f"unknown key, must be one of {', '.join(rows)}")
    checked: dict[str, Any] = {name: row.check(values.get(name, row.default), name) for name, row in rows.items()}
    for what in ("prompt", "output"):
        least, most = checked[f"{what}_tokens"], checked[f"{what}_max_tokens"]
        if checked[f"{what}_lengths"] != "fixed" and most < least:
            problem = f"{most} is not allowed, must be at least {what}_tokens ({least})"
            raise ConfigError(f"{what}_max_tokens", problem)
    return checked


def _levels(text: str) -> list[Value]:
    """The priorities of a list such as `0,5`."""
    row = by_name(REQUEST)["priority"]
    try:
        levels = [int(level) for level in text.split(",")]
    except ValueError:
        problem = f"{shown(text)} is not allowed, must be integers separated by commas"
        raise ConfigError("priorities", problem) from None
    return [row.check(level, "priorities") for level in levels]


def _arrivals(values: Mapping[str, Any], chance: SplitMix64) -> Iterator[int]:
    """When each request arrives, without end; the first one at 0."""
    in_steps = values["clock"] == "steps"
    if values["arrivals"] == "random":
        span, rate = (1000, values["per_1000_steps"]) if in_steps else (1_000_000, values["per_second"])
        return _waits(span, rate, chance)
    interval = 0 if values["arrivals"] == "at-once" else values["interval_steps" if in_steps else "interval_us"]
    together = values["burst"] if values["arrivals"] == "bursts" else 1
    return (index // together * interval for index in count())


def _waits(span: int, rate: int, chance: SplitMix64) -> Iterator[int]:
    """Arrivals of a Poisson process with the mean of `rate` in `span`."""
    # The sum is kept in finer units, or rounding would make them come too early.
    total = 0
    while True:
        yield total // rate >> FRACTION_BITS
        total += chance.exponential() * span


def _length(values: Mapping[str, Any], what: str, chance: SplitMix64) -> int:
    """The length of the next prompt or output, in tokens."""
    tokens, most = values[f"{what}_tokens"], values[f"{what}_max_tokens"]
    match values[f"{what}_lengths"]:
        case "uniform":
            return int(tokens + chance.below(most - tokens + 1))
        case "long-tail":
            # A geometric distribution, but for rounding: from 1 on, each length less likely than the one before.
            return int(min(1 + ((tokens - 1) * chance.exponential() + (1 << FRACTION_BITS - 1) >> FRACTION_BITS), most))
        case "bimodal":
            return int(most if chance.below(1000) < values[f"{what}_long_permille"] else tokens)
        case _:
            return int(tokens)
