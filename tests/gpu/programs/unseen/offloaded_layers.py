# SPDX-License-Identifier: Apache-2.0
"""Cause: device_copies. Layers kept in pinned memory of the host are brought to the device for each token."""

import torch
from torch.nn import functional

WIDTH, LAYERS, ROWS, TOKENS = 8192, 8, 16, 150


def kept_on_host(scale):
    held = torch.empty(WIDTH, WIDTH, dtype=torch.bfloat16, pin_memory=True)
    return held.copy_(scale * torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16))


layers = [kept_on_host(WIDTH**-0.5) for _ in range(LAYERS)]
words = torch.randn(1000, WIDTH, device="cuda", dtype=torch.bfloat16)
written = torch.randint(1000, (ROWS, 1), device="cuda")
with torch.inference_mode():
    for _ in range(TOKENS):
        states = words[written[:, -1]]
        for layer in layers:
            weight = layer.to("cuda", non_blocking=True)
            states = states + functional.silu(functional.linear(functional.layer_norm(states, (WIDTH,)), weight))
        best = (states @ words.T).argmax(-1, keepdim=True)
        written = torch.cat((written, best), 1)
print(written[0, -10:].tolist())
