# SPDX-License-Identifier: Apache-2.0
"""Cause: garbage_collection. All garbage is collected after each step, beside a large memory of Python objects."""

import gc
import random

import torch
from torch import nn


class Memory:
    def __init__(self, count):
        self.items = [
            {"state": [random.random() for _ in range(4)], "action": [index % 2], "reward": [1.0], "tags": {0: []}}
            for index in range(count)
        ]

    def sample(self, count):
        chosen = random.sample(self.items, count)
        states = torch.tensor([item["state"] for item in chosen], device="cuda")
        actions = torch.tensor([item["action"] for item in chosen], device="cuda")
        rewards = torch.tensor([item["reward"] for item in chosen], device="cuda")
        return states, actions, rewards.squeeze(1)


gc.disable()
memory = Memory(40_000)
gc.enable()
network = nn.Sequential(nn.Linear(4, 256), nn.ReLU(), nn.Linear(256, 2)).to("cuda")
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
for step in range(26):
    states, actions, rewards = memory.sample(128)
    values = network(states).gather(1, actions).squeeze(1)
    loss = nn.functional.smooth_l1_loss(values, rewards)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    gc.collect()
print(loss.item())
