"""Shapes of the models that are run: decoders like Llama with random weights, so that nothing is downloaded."""

from typing import NamedTuple


class Shape(NamedTuple):
    """A decoder: RMSNorm, rotary positions, grouped queries, SwiGLU, a head of its own.

    Args:
        name: what the command line calls it.
        layers, hidden, heads, kv_heads, head_dim, ffn, vocab: its sizes; heads are a multiple of kv_heads.
        theta: base of the rotary positions.
        seed: of its weights.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    theta: int = 10_000
    seed: int = 0

    @property
    def parameters(self) -> int:
        """How many weights it has."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        layer = attention + 3 * self.hidden * self.ffn + 2 * self.hidden
        return self.layers * layer + 2 * self.vocab * self.hidden + self.hidden

    def kv_bytes(self, element: int) -> int:
        """Bytes of the keys and values of one token whose elements have `element` bytes."""
        return 2 * self.layers * self.kv_heads * self.head_dim * element


TINY = Shape("tiny", 4, 256, 8, 2, 32, 688, 1024)
SHAPES = {
    shape.name: shape
    for shape in (
        TINY,
        Shape("medium", 8, 1024, 16, 4, 64, 2816, 8192),
        Shape("llama-3.1-8b", 32, 4096, 32, 8, 128, 14336, 128256, 500_000),
    )
}
"""By name, the smallest first."""
EPSILON = 1e-5
"""Of every RMSNorm."""
