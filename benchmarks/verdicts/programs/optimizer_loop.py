# SPDX-License-Identifier: Apache-2.0
"""Cause: optimizer. A thousand small parameters, updated one by one."""

import torch
from torch import nn

model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(300)])
scales = nn.ParameterList([nn.Parameter(torch.ones(1)) for _ in range(1200)])
optimizer = torch.optim.Adam([*model.parameters(), *scales], lr=1e-4, foreach=False)
for parameter in [*model.parameters(), *scales]:
    parameter.grad = torch.zeros_like(parameter)
first = model[0]
for _ in range(40):
    loss = first(torch.randn(16, 8)).mean()
    loss.backward()
    optimizer.step()
