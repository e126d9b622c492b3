# SPDX-License-Identifier: Apache-2.0
"""Cause: layer. A suggestion service scores requests with a deep but narrow encoder whose one wide output projection does nearly all arithmetic."""

import collections

import torch
from torch import nn

Request = collections.namedtuple("Request", "user tokens")


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.value, self.gate = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        y = self.norm(x)
        return x + self.value(y) * torch.sigmoid(self.gate(y))


class Suggester(nn.Module):
    def __init__(self, vocabulary=24_000, width=384, depth=2):
        super().__init__()
        self.embed = nn.EmbeddingBag(5_000, width)
        self.blocks = nn.ModuleList(Gate(width) for _ in range(depth))
        self.vocabulary = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.vocabulary(x)


class Service:
    def __init__(self, model, batch=96):
        self.model, self.batch, self.waiting = model.eval(), batch, collections.deque()
        self.answers = {}

    def drain(self):
        while self.waiting:
            group = [self.waiting.popleft() for _ in range(min(self.batch, len(self.waiting)))]
            with torch.inference_mode():
                best = self.model(torch.stack([r.tokens for r in group])).argmax(dim=1)
            self.answers.update(zip((r.user for r in group), best.tolist()))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)  # one service process per core
    service = Service(Suggester())
    tokens = torch.randint(0, 5_000, (96 * 80, 12))
    service.waiting.extend(Request(user, row) for user, row in enumerate(tokens))
    service.drain()
    print(len(service.answers), "users answered")
