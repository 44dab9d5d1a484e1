"""A decoder in plain torch. What attention is, its caller says: with a cache or without, a batch or one sequence."""

from collections.abc import Callable, Iterator

import torch
from torch.nn import functional

from .shapes import EPSILON, Shape

Attend = Callable[[int, torch.Tensor], torch.Tensor]
"""Of a layer and the rows of queries, keys and values, `[tokens, heads + 2 * kv_heads, head_dim]`, with positions in
queries and keys already: the rows of the result, `[tokens, heads * head_dim]`."""

MOST_ON_HOST = 500_000_000
"""Weights up to so many are drawn on the host, and so are the same on every device."""


class Model:
    """Weights, drawn from the shape's seed, and the forward pass.

    Args:
        shape: sizes and seed.
        device, dtype: where the weights are, and of what type.
        max_positions: longest sequence.
    """

    def __init__(self, shape: Shape, device: str, dtype: torch.dtype, max_positions: int) -> None:
        self.shape, self.device, self.dtype = shape, device, dtype
        source = device if shape.parameters > MOST_ON_HOST else "cpu"
        generator = torch.Generator(source).manual_seed(shape.seed)

        def drawn(rows: int, columns: int, deviation: float) -> torch.Tensor:
            weight = torch.empty(rows, columns, device=source, dtype=dtype if source != "cpu" else torch.float32)
            return weight.normal_(0.0, deviation, generator=generator).to(device, dtype)

        heads = (shape.heads + 2 * shape.kv_heads) * shape.head_dim
        self.embedding = drawn(shape.vocab, shape.hidden, 1.0)
        self.layers = [
            (
                drawn(heads, shape.hidden, shape.hidden**-0.5),
                drawn(shape.hidden, shape.heads * shape.head_dim, (shape.heads * shape.head_dim) ** -0.5),
                drawn(2 * shape.ffn, shape.hidden, shape.hidden**-0.5),
                drawn(shape.hidden, shape.ffn, shape.ffn**-0.5),
            )
            for _ in range(shape.layers)
        ]
        self.head = drawn(shape.vocab, shape.hidden, shape.hidden**-0.5)
        self.norm = torch.ones(shape.hidden, device=device, dtype=dtype)
        self.cos, self.sin = self._rotations(max_positions)

    def _rotations(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        half = self.shape.head_dim // 2
        steps = torch.arange(half, dtype=torch.float64) / half
        angles = torch.arange(count, dtype=torch.float64)[:, None] * float(self.shape.theta) ** -steps
        cos, sin = (table[:, None, :].to(self.device, self.dtype) for table in (angles.cos(), angles.sin()))
        return cos, sin

    def forward(self, ids: torch.Tensor, positions: torch.Tensor, rows: torch.Tensor, attend: Attend) -> torch.Tensor:
        """Logits of some tokens of a batch.

        Args:
            ids, positions: of every token, one after the other, whichever request it belongs to.
            rows: the tokens whose logits are wanted.
            attend: attention over what the batch may see.
        """
        shape = self.shape
        cos, sin = self.cos[positions], self.sin[positions]
        hidden = self.embedding[ids]
        for layer, (qkv, out, gate_up, down) in enumerate(self.layers):
            states = functional.linear(self._normed(hidden), qkv).view(len(ids), -1, shape.head_dim)
            self._rotate(states[:, : shape.heads + shape.kv_heads], cos, sin)
            hidden = hidden + functional.linear(attend(layer, states), out)
            gate, up = functional.linear(self._normed(hidden), gate_up).chunk(2, dim=-1)
            hidden = hidden + functional.linear(functional.silu(gate) * up, down)
        return functional.linear(self._normed(hidden[rows]), self.head)

    def _normed(self, hidden: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(hidden, (self.shape.hidden,), self.norm, EPSILON)

    @staticmethod
    def _rotate(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> None:
        """Put positions into queries and keys, in place: each half turns against the other."""
        first, second = states.chunk(2, dim=-1)
        turned = torch.addcmul(first * cos, second, sin, value=-1)
        second.copy_(torch.addcmul(second * cos, first, sin))
        first.copy_(turned)

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The weights under the names that Hugging Face's Llama gives them, for other engines."""
        shape = self.shape
        queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        yield "model.embed_tokens.weight", self.embedding
        for layer, (qkv, out, gate_up, down) in enumerate(self.layers):
            names = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj")
            parts = (*qkv.split((queries, keys, keys)), *gate_up.split(shape.ffn))
            for name, part in zip(names, parts, strict=True):
                yield f"model.layers.{layer}.{name}.weight", part
            yield f"model.layers.{layer}.self_attn.o_proj.weight", out
            yield f"model.layers.{layer}.mlp.down_proj.weight", down
            for name in ("input_layernorm", "post_attention_layernorm"):
                yield f"model.layers.{layer}.{name}.weight", self.norm
        yield "model.norm.weight", self.norm
        yield "lm_head.weight", self.head


def reference_tokens(model: Model, prompt: list[int], count: int) -> list[int]:
    """What the model answers when each token is computed from the whole sequence: no cache, no batch, no chunks."""
    shape, ids = model.shape, list(prompt)

    def attend(_: int, states: torch.Tensor) -> torch.Tensor:
        queries, keys, values = (
            part.transpose(0, 1)[None] for part in states.split((shape.heads, shape.kv_heads, shape.kv_heads), dim=1)
        )
        found = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True, enable_gqa=True)
        return found[0].transpose(0, 1).reshape(states.shape[0], -1)

    with torch.inference_mode():
        for _ in range(count):
            batch = torch.tensor(ids, device=model.device)
            positions = torch.arange(len(ids), device=model.device)
            logits = model.forward(batch, positions, positions[-1:], attend)
            ids.append(int(logits[0].argmax()))
    return ids[len(prompt) :]
