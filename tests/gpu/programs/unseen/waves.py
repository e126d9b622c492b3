# SPDX-License-Identifier: Apache-2.0
"""Cause: device. A wave is followed on a large grid, with operators that each read and write all of it."""

import torch

SIZE = 8192
SPEED = 0.4


def laplacian(field):
    middle = field[1:-1, 1:-1]
    return field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:] - 4 * middle


line = torch.linspace(-1, 1, SIZE, device="cuda")
before = torch.exp(-200 * (line[:, None] ** 2 + line[None, :] ** 2))
now = before.clone()
energies = []
for step in range(2000):
    after = 2 * now - before
    after[1:-1, 1:-1] += SPEED**2 * laplacian(now)
    after[0] = after[-1] = 0
    after[:, 0] = after[:, -1] = 0
    before, now = now, after
    if step % 250 == 0:
        energies.append((now - before).square().sum().item())
print(energies)
