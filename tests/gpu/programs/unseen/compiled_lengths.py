# SPDX-License-Identifier: Apache-2.0
"""Cause: compile. A model that is compiled for fixed shapes is given a batch of another length at each step."""

import torch
import torch._dynamo
from torch import nn

torch._dynamo.config.recompile_limit = 64


class Mixer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)

    def forward(self, states):
        mean = states.cumsum(1) / torch.arange(1, states.shape[1] + 1, device=states.device)[:, None]
        return states + self.narrow(nn.functional.gelu(self.wide(self.norm(states + mean))))


model = nn.Sequential(*(Mixer(128) for _ in range(2))).to("cuda")
compiled = torch.compile(model, backend="aot_eager", dynamic=False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
compiled(torch.randn(8, 16, 128, device="cuda")).square().mean().backward()
for length in range(20, 32):
    inputs = torch.randn(8, length, 128, device="cuda")
    optimizer.zero_grad()
    loss = (compiled(inputs) - inputs).square().mean()
    loss.backward()
    optimizer.step()
print(loss.item())
