# SPDX-License-Identifier: Apache-2.0
"""Cause: launches. A few carts with poles live on the device, where each moment is dozens of tiny operators."""

import torch
from torch import nn

CARTS, MOMENTS, EPISODES = 64, 50, 200
GRAVITY, MASS, POLE_MASS, LENGTH, FORCE, TAU = 9.8, 1.1, 0.05, 0.5, 10.0, 0.02


def moved(state, action):
    place, speed, angle, turn = state.unbind(1)
    force = torch.where(action == 1, FORCE, -FORCE)
    cosine, sine = angle.cos(), angle.sin()
    common = (force + POLE_MASS * turn.square() * sine) / MASS
    turning = (GRAVITY * sine - cosine * common) / (LENGTH * (4 / 3 - POLE_MASS * cosine.square() / MASS))
    pushing = common - POLE_MASS * turning * cosine / MASS
    changes = torch.stack((speed, pushing, turn, turning), 1)
    return state + TAU * changes


policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)).to("cuda")
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
for _ in range(EPISODES):
    state = 0.05 * torch.randn(CARTS, 4, device="cuda")
    alive = torch.ones(CARTS, device="cuda")
    chances, rewards = [], []
    for _ in range(MOMENTS):
        logs = policy(state).log_softmax(1)
        action = torch.multinomial(logs.detach().exp(), 1)
        chances.append(logs.gather(1, action).squeeze(1))
        state = moved(state, action.squeeze(1))
        alive = alive * (state[:, 2].abs() < 0.2) * (state[:, 0].abs() < 2.4)
        rewards.append(alive)
    returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    optimizer.zero_grad()
    (-torch.stack(chances) * returns).mean().backward()
    optimizer.step()
print(rewards[-1].mean().item())
