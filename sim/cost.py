"""The time of a batch in whole microseconds: published kernel times of Llama-3.1-8B in bfloat16, put together.

The profiles of `sim/profiles` have the same form, and are fitted to recordings of this project (`docs/hardware.md`).

A step takes `table(T)`, or the knee form `a + A * max(T, K) // K`, for its T tokens, and something for attention: KV,
the context that its decodes read; Q, the query-key pairs of its chunks; KP, the context that its chunks read. These
coefficients are in 1 / 2**20 us. `docs/time-model.md` names the sources, the errors and where a model only guesses.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple

from .errors import ConfigError
from .parameter import shown

SHIFT = 20
COEFFICIENTS = ("kv", "q", "kv_mixed", "kp")
KINDS = ("decode", "prefill", "mixed")
KNOTS = (1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192)


class FitError(NamedTuple):
    """How far a model is off on steps of one kind, in thousandths of the measured time.

    Args:
        kind: one of `KINDS`.
        steps: how many it was fitted to.
        mean, worst: of the absolute error on these.
        left_out: the mean where each recording is predicted by a fit to the others; -1 where there are none.
    """

    kind: str
    steps: int
    mean: int
    worst: int
    left_out: int


@dataclass(frozen=True, slots=True)
class CostModel:
    """Integer time model of one device.

    Args:
        name: as in `config.cost_model`.
        device: the device in words.
        table: us at the first `len(table)` of `KNOTS`; empty for the knee form.
        knee: `a`, `A`, `K` of the knee form, in us, us and tokens.
        kv, q: cost of a token of decode context, and of a query-key pair, in 1 / 2**20 us.
        kv_mixed, kp: what a mixed batch adds for a token of decode context, and a chunk for a token of its context.
        errors: how far a profile is off on the recordings that it was fitted to; empty for published tables.
    """

    name: str
    device: str
    table: tuple[int, ...] = ()
    knee: tuple[int, int, int] = (0, 0, 1)
    kv: int = 0
    q: int = 0
    kv_mixed: int = 0
    kp: int = 0
    errors: tuple[FitError, ...] = ()

    def step_us(self, batch: Iterable[tuple[int, int]]) -> int:
        """Microseconds of one step.

        Args:
            batch: for each request the tokens computed before the step, and the tokens that it computes. One token is
                a decode, more are a chunk.
        """
        return self.us(*sums(batch))

    def us(self, num_tokens: int, context: int, pairs: int, chunk_context: int) -> int:
        """Microseconds of a batch in sums.

        Args:
            num_tokens: all of its tokens.
            context: tokens that its decodes read.
            pairs: query-key pairs of its chunks.
            chunk_context: tokens that its chunks read.
        """
        return self.linear_us(num_tokens) + self.attention_us(context, pairs, chunk_context)

    def attention_us(self, context: int, pairs: int, chunk_context: int) -> int:
        """Microseconds of attention alone; arguments as of `us`."""
        cost = self.kv * context + self.q * pairs
        if pairs and (self.kv_mixed or self.kp):
            cost += self.kv_mixed * context + self.kp * chunk_context
        return cost >> SHIFT

    def linear_us(self, num_tokens: int) -> int:
        """Microseconds of everything but attention."""
        if not self.table:
            base, per_knee, knee = self.knee
            return base + per_knee * max(num_tokens, knee) // knee
        i = 1
        while i < len(self.table) - 1 and KNOTS[i] < num_tokens:
            i += 1
        k0, k1 = KNOTS[i - 1], KNOTS[i]
        y0, y1 = self.table[i - 1], self.table[i]
        return y0 + (y1 - y0) * (num_tokens - k0) // (k1 - k0)


def sums(batch: Iterable[tuple[int, int]]) -> tuple[int, int, int, int]:
    """The arguments of `CostModel.us` for a batch as `CostModel.step_us` takes it."""
    num_tokens = context = pairs = chunk_context = 0
    for start, n in batch:
        num_tokens += n
        if n == 1:
            context += start + 1
        else:
            pairs += n * (2 * start + n) // 2
            chunk_context += start + n
    return num_tokens, context, pairs, chunk_context


def kind_of(batch: Iterable[tuple[int, int]]) -> str:
    """One of `KINDS`: all requests have one token, none has, or there are both."""
    singles = {n == 1 for _, n in batch}
    return "mixed" if len(singles) == 2 else "decode" if True in singles else "prefill"


def parse_profile(data: object, path: str) -> CostModel:
    """A profile that was fitted to recordings, from decoded JSON.

    Args:
        data: an object with `name`, `device`, `knee` and coefficients; what else is in it is for readers.
        path: where it stands, for the message.

    Raises:
        ConfigError: a field is missing or not of its type.
    """
    if not isinstance(data, dict):
        raise ConfigError(path, "must be an object")
    knee = data.get("knee")
    if not (isinstance(knee, list) and len(knee) == 3 and all(map(_is_natural, knee)) and knee[2]):
        raise ConfigError(f"{path}: knee", f"{shown(knee)} is not allowed, must be [us, us, tokens], integers from 0")
    values: dict[str, Any] = {key: data.get(key) for key in COEFFICIENTS}
    for key, value in values.items():
        if not _is_natural(value):
            raise ConfigError(f"{path}: {key}", f"{shown(value)} is not allowed, must be an integer from 0")
    for key in ("name", "device"):
        if not isinstance(data.get(key), str):
            raise ConfigError(f"{path}: {key}", f"{shown(data.get(key))} is not allowed, must be a string")
    errors = tuple(_fit_error(kind, fields, path) for kind, fields in dict(data.get("errors", {})).items())
    return CostModel(data["name"], data["device"], knee=(knee[0], knee[1], knee[2]), errors=errors, **values)


def _fit_error(kind: str, fields: object, path: str) -> FitError:
    names = FitError._fields[1:]
    if (
        not isinstance(fields, dict)
        or set(fields) != {*names}
        or not all(type(item) is int for item in fields.values())
    ):
        raise ConfigError(f"{path}: errors.{kind}", f"must be an object of the integers {', '.join(names)}")
    return FitError(kind, **fields)


def _is_natural(value: object) -> bool:
    return type(value) is int and value >= 0


def _millionths(coefficient: int) -> int:
    """A coefficient given in 1 / 10000 us, in 1 / 2**20 us, rounded."""
    return ((coefficient << SHIFT) + 5_000) // 10_000


_MODELS = (
    CostModel(
        "h200-llama-3.1-8b",
        "NVIDIA H200",
        table=(4920, 5210, 5502, 5683, 7261, 11080, 20785, 41026, 85133, 170193),
        kv=33651,
        q=938,
    ),
    CostModel(
        "h200-llama-3.1-8b-knee",
        "NVIDIA H200",
        knee=(4074, 1062, 64),
        kv=31574,
        q=2056,
    ),
    CostModel(
        "h100-llama-3.1-8b",
        "NVIDIA H100",
        table=(6187, 6889, 7228, 7372, 8562, 11767, 21459, 41913, 82152, 172375),
        kv=45024,
        q=912,
    ),
    CostModel(
        "h100-llama-3.1-8b-knee",
        "NVIDIA H100",
        knee=(4762, 2169, 128),
        kv=44667,
        q=1851,
    ),
    CostModel(
        "a100-llama-3.1-8b",
        "NVIDIA A100",
        table=(11081, 11214, 11688, 13530, 19624, 33505, 61848, 116744, 230988, 458834),
        kv=87388,
        q=3120,
    ),
    CostModel(
        "a100-llama-3.1-8b-knee",
        "NVIDIA A100",
        knee=(7884, 3332, 64),
        kv=83755,
        q=4056,
    ),
    CostModel(
        "l40s-llama-3.1-8b",
        "NVIDIA L40S",
        table=(22552, 23198, 24969, 26616, 30426, 37490, 69155, 146122, 309689, 582778),
        kv=211465,
        q=2993,
    ),
    CostModel(
        "rtx4090-llama-3.1-8b",
        "NVIDIA RTX 4090",
        table=(16901, 17701, 19279, 21076, 26379, 47971, 95498, 186705),
        kv=_millionths(1449),
        kv_mixed=_millionths(1560),
        q=_millionths(27),
        kp=_millionths(7950),
    ),
    CostModel(
        "rtx4090-llama-3.1-8b-knee",
        "NVIDIA RTX 4090",
        knee=(9501, 7915, 96),
        kv=_millionths(1456),
        kv_mixed=_millionths(1539),
        q=_millionths(27),
        kp=_millionths(9320),
    ),
)


def _fitted() -> list[CostModel]:
    """The profiles of `sim/profiles`, fitted to the project's own recordings."""
    folder = resources.files("sim") / "profiles"
    if not folder.is_dir():
        return []
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda file: file.name)
    return [_profile(file.name, file.read_text("utf-8")) for file in files]


def _profile(name: str, text: str) -> CostModel:
    try:
        return parse_profile(json.loads(text), name)
    except ValueError as error:
        raise error if isinstance(error, ConfigError) else ConfigError(name, f"is no JSON: {error}") from None


COST_MODELS: dict[str, CostModel] = {model.name: model for model in (*_MODELS, *_fitted())}
"""Every time model by its name; the first is the default."""
