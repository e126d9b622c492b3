# SPDX-License-Identifier: Apache-2.0
"""Cause: compile. A compiled function that sees a new shape in each step."""

import torch
from torch import nn

torch._dynamo.config.cache_size_limit = 1000
model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(6)], nn.Linear(64, 4))
compiled = torch.compile(model, backend="aot_eager", dynamic=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(16):
    optimizer.zero_grad()
    compiled(torch.randn(8 + step, 64)).mean().backward()
    optimizer.step()
