# SPDX-License-Identifier: Apache-2.0
"""A language model of Llama's architecture with random weights, decoding greedily at batch 1 with a cache of keys.

Everything that a step reads and writes is in place (token, position, caches), so that a CUDA graph can hold it.
"""

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple


class Shape(NamedTuple):
    """Sizes of the model; those by default are Llama 3.2 1B's, with a shorter vocabulary."""

    layers: int = 16
    width: int = 2048
    heads: int = 32
    kv_heads: int = 8
    hidden: int = 8192
    words: int = 32768
    positions: int = 256


class Llama:
    """RMS norms, rotary positions, grouped attention over all cached positions, gated MLPs, a greedy choice."""

    def __init__(self, torch: Any, shape: Shape) -> None:
        self.torch, self.shape = torch, shape
        self.kind = {"device": "cuda", "dtype": torch.bfloat16}
        s, head = shape, shape.width // shape.heads
        self.head, self.of_kv = head, shape.kv_heads * head
        sizes = {
            "query": (s.width, s.width), "key": (s.width, self.of_kv), "value": (s.width, self.of_kv),
            "out": (s.width, s.width), "gate": (s.width, s.hidden), "up": (s.width, s.hidden),
            "down": (s.hidden, s.width),
        }  # fmt: skip
        self.layers = [{name: self._weight(*size) for name, size in sizes.items()} for _ in range(s.layers)]
        self.embedding, self.words = self._weight(s.words, s.width), self._weight(s.width, s.words)
        cached = (s.kv_heads, s.positions, head)
        self.caches = [(torch.zeros(*cached, **self.kind), torch.zeros(*cached, **self.kind)) for _ in range(s.layers)]
        self._tables()
        self.token = torch.zeros(1, dtype=torch.int64, device="cuda")
        self.position = torch.zeros(1, dtype=torch.int64, device="cuda")

    def _weight(self, rows: int, columns: int) -> Any:
        return self.torch.randn(rows, columns, **self.kind) * (1 / math.sqrt(rows))

    def _tables(self) -> None:
        torch, count, half = self.torch, self.shape.positions, self.head // 2
        rates = torch.exp(torch.arange(half, device="cuda") * (-math.log(500_000.0) / half))
        angles = (torch.arange(count, device="cuda").unsqueeze(1) * rates).repeat(1, 2)
        sign = torch.ones(self.head, device="cuda")
        sign[:half].neg_()  # the halves turn against each other
        self.cosines, self.sines = torch.cos(angles).to(torch.bfloat16), (torch.sin(angles) * sign).to(torch.bfloat16)
        later = torch.ones(count, count, device="cuda").triu_(1)
        self.mask = (later * -1e9).to(torch.bfloat16)

    def weight_bytes(self) -> int:
        """Return the bytes that every token has to read: all weights but the embedding's table."""
        matrices = [weight for layer in self.layers for weight in layer.values()] + [self.words]
        return sum(matrix.numel() * matrix.element_size() for matrix in matrices)

    def norm(self, x: Any) -> Any:
        """Return x over its root mean square; the learned scale is one, as in a new model."""
        return x * self.torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)

    def turned(self, x: Any, cosines: Any, sines: Any) -> Any:
        """Return heads turned by their position."""
        return x * cosines + self.torch.roll(x, self.head // 2, -1) * sines

    def attention(self, h: Any, layer: dict[str, Any], cache: tuple[Any, Any], tables: tuple[Any, Any, Any]) -> Any:
        """Return what the new position takes from all positions before it and from itself."""
        s, (cosines, sines, mask) = self.shape, tables
        query = self.turned((h @ layer["query"]).view(s.kv_heads, s.heads // s.kv_heads, self.head), cosines, sines)
        key = self.turned((h @ layer["key"]).view(s.kv_heads, 1, self.head), cosines, sines)
        keys, values = cache
        keys.index_copy_(1, self.position, key)
        values.index_copy_(1, self.position, (h @ layer["value"]).view(s.kv_heads, 1, self.head))
        scores = (query @ keys.transpose(1, 2)) * (1 / math.sqrt(self.head)) + mask
        return (self.torch.softmax(scores, -1) @ values).view(1, s.width) @ layer["out"]

    def step(self, profile: Callable[[str], Any] | None = None) -> None:
        """Replace the token by the next, at the next position; with a profiler each layer is a scope."""
        torch, position = self.torch, self.position
        scope = profile or (lambda name: nullcontext())
        x = self.embedding.index_select(0, self.token)
        tables = tuple(table.index_select(0, position) for table in (self.cosines, self.sines, self.mask))
        for layer, cache in zip(self.layers, self.caches, strict=True):
            with scope("layer"):
                x = x + self.attention(self.norm(x), layer, cache, tables)
                h = self.norm(x)
                gate = h @ layer["gate"]
                x = x + (gate * torch.sigmoid(gate) * (h @ layer["up"])) @ layer["down"]
        with scope("head"):
            self.token.copy_((self.norm(x) @ self.words).argmax(-1))
            position.add_(1)

    def start(self) -> None:
        """Begin at the first position again, with the first word and empty caches."""
        self.token.zero_()
        self.position.zero_()
        for keys, values in self.caches:
            keys.zero_()
            values.zero_()
