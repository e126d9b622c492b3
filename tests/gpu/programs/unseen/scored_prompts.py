# SPDX-License-Identifier: Apache-2.0
"""Cause: device. Long prompts, on the device already, are scored by a causal transformer in bfloat16."""

import torch
from torch import nn
from torch.nn import functional

WIDTH, HEADS, LAYERS, LENGTH, BATCH, WORDS = 2048, 16, 8, 4096, 8, 32000


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = nn.LayerNorm(WIDTH)
        self.heads = nn.Linear(WIDTH, 3 * WIDTH)
        self.joined = nn.Linear(WIDTH, WIDTH)
        self.between = nn.LayerNorm(WIDTH)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, states):
        rows, length, _ = states.shape
        parts = self.heads(self.before(states)).view(rows, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        states = states + self.joined(seen.transpose(1, 2).reshape(rows, length, WIDTH))
        return states + self.narrow(functional.gelu(self.wide(self.between(states))))


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDTH)
        self.guess = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        states = self.words(tokens)
        for block in self.blocks:
            states = block(states)
        return self.guess(self.last(states))


torch.set_default_dtype(torch.bfloat16)
with torch.device("cuda"):
    model = Language().eval()
prompts = torch.randint(WORDS, (4, BATCH, LENGTH), device="cuda")
scores = []
with torch.inference_mode():
    for number in range(50):
        tokens = prompts[number % len(prompts)]
        logits = model(tokens)[:, :-1]
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        scores.append(loss.item())
print(sum(scores) / len(scores))
