"""The time of a batch in whole microseconds: published kernel times of Llama-3.1-8B in bfloat16, put together.

A step takes `table(T)`, or the knee form `a + A * max(T, K) // K`, for its T tokens, and something for attention: KV,
the context that its decodes read; Q, the query-key pairs of its chunks; KP, the context that its chunks read. These
coefficients are in 1 / 2**20 us. `docs/time-model.md` names the sources, the errors and where a model only guesses.
"""

from collections.abc import Iterable
from dataclasses import dataclass

SHIFT = 20
KNOTS = (1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192)


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
    """

    name: str
    device: str
    table: tuple[int, ...] = ()
    knee: tuple[int, int, int] = (0, 0, 1)
    kv: int = 0
    q: int = 0
    kv_mixed: int = 0
    kp: int = 0

    def step_us(self, batch: Iterable[tuple[int, int]]) -> int:
        """Microseconds of one step.

        Args:
            batch: for each request the tokens computed before the step, and the tokens that it computes. One token is
                a decode, more are a chunk.
        """
        num_tokens = context = pairs = chunk_context = 0
        for start, n in batch:
            num_tokens += n
            if n == 1:
                context += start + 1
            else:
                pairs += n * (2 * start + n) // 2
                chunk_context += start + n
        return self.us(num_tokens, context, pairs, chunk_context)

    def us(self, num_tokens: int, context: int, pairs: int, chunk_context: int) -> int:
        """Microseconds of a batch in sums.

        Args:
            num_tokens: all of its tokens.
            context: tokens that its decodes read.
            pairs: query-key pairs of its chunks.
            chunk_context: tokens that its chunks read.
        """
        attention = self.kv * context + self.q * pairs
        if pairs and (self.kv_mixed or self.kp):
            attention += self.kv_mixed * context + self.kp * chunk_context
        return self.linear_us(num_tokens) + (attention >> SHIFT)

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

COST_MODELS: dict[str, CostModel] = {model.name: model for model in _MODELS}
"""Every time model by its name; the first is the default."""
