# SPDX-License-Identifier: Apache-2.0
"""Cause: checkpoint. The state is written after every step."""

import os
import tempfile

import torch
from torch import nn

model = nn.Sequential(*(nn.Linear(2048, 2048) for _ in range(8))).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(256, 2048, device="cuda")
with tempfile.TemporaryDirectory() as folder:
    for _ in range(25):
        optimizer.zero_grad()
        model(inputs).mean().backward()
        optimizer.step()
        torch.save(model.state_dict(), os.path.join(folder, "state.pt"))
