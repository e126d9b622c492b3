# SPDX-License-Identifier: Apache-2.0
"""Cause: lock. A thread that slowly publishes the weights keeps the lock that each training step needs."""

import os
import tempfile
import threading
import time

import torch
from torch import nn

model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
weights = threading.Lock()
done = threading.Event()


def publish(path, chunk=1 << 18, rate=50e6):
    """Write the weights again and again, no faster than the replicas may be sent them."""
    while not done.is_set():
        with weights, open(path, "wb") as file:
            for value in model.state_dict().values():
                content = memoryview(value.cpu().numpy()).cast("B")
                for start in range(0, len(content), chunk):
                    part = content[start : start + chunk]
                    file.write(part)
                    time.sleep(len(part) / rate)
        time.sleep(0.0005)


with tempfile.TemporaryDirectory() as folder:
    publisher = threading.Thread(target=publish, args=(os.path.join(folder, "weights"),))
    publisher.start()
    losses = []
    for _ in range(45):
        inputs = torch.randn(256, 512, device="cuda")
        with weights:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), inputs)
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    done.set()
    publisher.join()
print(losses[0], losses[-1])
