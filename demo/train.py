# SPDX-License-Identifier: Apache-2.0
"""A training loop with scopes: a small transformer learns to count, on the CPU.

    regimeter record demo/train.py [STEPS]

Everything runs on the CPU, so every scope says device="cpu": its host time is then all the time it takes.
"""

import sys
import time
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

import regimeter

STEPS = 20
BATCH, LENGTH, TOKENS, WIDTH, HEADS, LAYERS = 16, 32, 64, 128, 4, 3

profiler = regimeter.get_profiler()


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    @profiler.profile_function(operation="attention", device="cpu")
    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, length, width) to the same shape."""
        batch, length, _ = x.shape
        queries, keys, values = (
            part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for part in self.mix(x).chunk(3, dim=-1)
        )
        mixed = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return out


class Block(nn.Module):
    """Attention, then a two-layer perceptron, each with a norm before and a way around."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.first_norm, self.second_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, length, width) to the same shape."""
        x = x + self.attention(self.first_norm(x))
        with profiler.profile("mlp", device="cpu"):
            out: Tensor = x + self.mlp(self.second_norm(x))
        return out


class Transformer(nn.Module):
    """A language model over TOKENS tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, TOKENS)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map token ids (batch, length) to scores (batch, length, TOKENS)."""
        with profiler.profile("embed", device="cpu"):
            x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        x = self.blocks(x)
        with profiler.profile("head", device="cpu"):
            out: Tensor = self.head(x)
        return out


@profiler.profile_function(operation="data", device="cpu")
def batches(steps: int) -> Iterator[Tensor]:
    """Yield sequences that count up from a random token; each batch takes a while to read."""
    for _ in range(steps):
        time.sleep(0.002)  # what a disk would take
        yield (torch.randint(TOKENS, (BATCH, 1)) + torch.arange(LENGTH)) % TOKENS


def train(steps: int) -> list[float]:
    """Train and return the loss of each step."""
    torch.manual_seed(0)
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for number, batch in enumerate(batches(steps)):
        with profiler.profile("step", device="cpu", step=number, batch=BATCH) as scope:
            with profiler.profile("forward", device="cpu"):
                scores = model(batch[:, :-1])
            with profiler.profile("loss", device="cpu"):
                loss = functional.cross_entropy(scores.reshape(-1, TOKENS), batch[:, 1:].reshape(-1))
            with profiler.profile("backward", device="cpu"):
                optimizer.zero_grad()
                loss.backward()
            with profiler.profile("optimizer", device="cpu"):
                optimizer.step()
            losses.append(loss.item())
            scope.annotate(loss=round(losses[-1], 4))
    with profiler.profile("checkpoint", device="cpu", parameters=sum(p.numel() for p in model.parameters())):
        _ = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    return losses


if __name__ == "__main__":
    torch.set_num_threads(2)
    found = train(int(sys.argv[1]) if len(sys.argv) > 1 else STEPS)
    print(f"{len(found)} steps, loss {found[0]:.3f} -> {found[-1]:.3f}")
