# SPDX-License-Identifier: Apache-2.0
"""Cause: lock. Another thread holds the lock that each step needs."""

import threading
import time

import torch
from torch import nn

lock, done = threading.Lock(), threading.Event()


def exporter():
    while not done.is_set():
        with lock:
            time.sleep(0.03)
        time.sleep(0.001)


threading.Thread(target=exporter, daemon=True).start()
model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, labels = torch.randn(64, 256), torch.randint(0, 10, (64,))
for _ in range(50):
    with lock:
        optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
done.set()
