"""The article's one-step model: D decodes and one prompt of P tokens share a budget of B tokens.

It is a model of its own, much smaller than the scheduler: nobody finishes, nothing needs memory, and the same decodes
come back in every step. Decode first, it agrees with `simulate` on the scenario that it stands for:
`max_num_scheduled_tokens` = B, `max_num_seqs` = M, D requests that decode and one prompt that waits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .errors import ConfigError
from .parameters import shown

Rule = Literal["no_prompt", "max_num_seqs", "token_budget", "chunked_prefill_off", "prefill_first", "fits"]
"""What decided over the prompt in this step; the codes of `reasons` where there is one."""

SMALLEST = {"D": 0, "P": 0, "B": 1, "M": 1}
POLICIES = ("decode-first", "prefill-first")


@dataclass(frozen=True, slots=True)
class OneStep:
    """What one step hands out, in tokens, and how many such steps the prompt takes.

    Args:
        decode: tokens of decodes, one a request.
        prefill: tokens of the prompt.
        prefill_left: tokens of the prompt still to do after this step.
        idle: tokens of the budget that nobody takes.
        steps_to_finish_prefill: steps until nothing of the prompt is left, this one included; `None` for never.
    """

    decode: int
    prefill: int
    prefill_left: int
    idle: int
    steps_to_finish_prefill: int | None

    def to_json(self) -> dict[str, int | None]:
        """The five numbers by name, in the form of the contract."""
        return {
            "decode": self.decode,
            "prefill": self.prefill,
            "prefill_left": self.prefill_left,
            "idle": self.idle,
            "steps_to_finish_prefill": self.steps_to_finish_prefill,
        }


def onestep(
    D: int,
    P: int,
    B: int,
    M: int,
    policy: str = "decode-first",
    chunked_prefill: bool = True,
) -> OneStep:
    """One step of the model.

    Args:
        D: requests that want to decode, one token each; from 0.
        P: tokens of the prompt that waits; from 0.
        B: token budget of the step; from 1.
        M: most requests that may run; from 1. The prompt is admitted only while fewer than M run.
        policy: who takes from the budget first, `decode-first` or `prefill-first`.
        chunked_prefill: whether the prompt may be cut to what is left of the budget.

    Raises:
        ConfigError: a number that is no integer or too small, an unknown policy.

    >>> onestep(10, 24, 16, 32).to_json()
    {'decode': 10, 'prefill': 6, 'prefill_left': 18, 'idle': 0, 'steps_to_finish_prefill': 4}
    """
    _check({"D": D, "P": P, "B": B, "M": M}, policy, chunked_prefill)
    running = min(D, M)
    room = 0 if running == M else (B if policy == "prefill-first" else B - min(running, B))
    prefill = min(P, room) if chunked_prefill or room >= P else 0
    decode = min(running, B - prefill)
    steps = -(-P // prefill) if prefill else (None if P else 0)
    return OneStep(decode, prefill, P - prefill, B - decode - prefill, steps)


def coming_steps(
    D: int,
    P: int,
    B: int,
    M: int,
    policy: str = "decode-first",
    chunked_prefill: bool = True,
) -> Iterator[OneStep]:
    """The step again and again with the same decodes, until the prompt is done; without an end where it never is.

    Arguments as for `onestep`. At least one step; `steps_to_finish_prefill` counts down.
    """
    step = onestep(D, P, B, M, policy, chunked_prefill)
    yield step
    while step.prefill_left:
        step = onestep(D, step.prefill_left, B, M, policy, chunked_prefill)
        yield step


def deciding_rule(
    D: int,
    P: int,
    B: int,
    M: int,
    policy: str = "decode-first",
    chunked_prefill: bool = True,
) -> Rule:
    """Which rule decided over the prompt. Arguments as for `onestep`.

    Returns:
        `no_prompt` (P is 0), `max_num_seqs` (as many run as may), `chunked_prefill_off` (it does not fit as a whole
        and may not be cut), `prefill_first` (it went first), `token_budget` (decodes left it less than it asked for,
        or nothing), `fits` (decodes left it all that it asked for).
    """
    step = onestep(D, P, B, M, policy, chunked_prefill)
    if not P:
        return "no_prompt"
    if D >= M:
        return "max_num_seqs"
    if not chunked_prefill and not step.prefill and (policy == "prefill-first" or D < B):
        return "chunked_prefill_off"
    if policy == "prefill-first":
        return "prefill_first"
    return "token_budget" if step.prefill_left else "fits"


def _check(numbers: dict[str, int], policy: str, chunked_prefill: bool) -> None:
    for name, value in numbers.items():
        if type(value) is not int or value < SMALLEST[name]:
            raise ConfigError(name, f"{shown(value)} is not allowed, must be an integer from {SMALLEST[name]}")
    if policy not in POLICIES:
        raise ConfigError("policy", f"{shown(policy)} is not allowed, must be {' or '.join(map(repr, POLICIES))}")
    if not isinstance(chunked_prefill, bool):
        raise ConfigError("chunked_prefill", f"{shown(chunked_prefill)} is not allowed, must be true or false")
