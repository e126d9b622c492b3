# SPDX-License-Identifier: Apache-2.0
"""Training with nothing to complain of: fused attention and optimizer, gradients replaced, data at hand."""

from typing import Any

import torch

RULE = None


def prepare(scale: float) -> dict[str, Any]:
    """Return a model of some layers and its optimizer."""
    torch.manual_seed(0)
    model = torch.nn.ModuleList(torch.nn.Linear(256, 256) for _ in range(8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    return {"model": model, "optimizer": optimizer, "x": torch.randn(4, 128, 256), "steps": int(10 * scale) + 2}


def before(work: dict[str, Any]) -> None:
    """Train."""
    for _ in range(work["steps"]):
        work["optimizer"].zero_grad()
        x = work["x"]
        for layer in work["model"]:
            heads = layer(x).view(4, 128, 4, 64).transpose(1, 2)
            mixed = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)
            x = torch.nn.functional.gelu(mixed.transpose(1, 2).flatten(2))
        x.square().mean().backward()
        work["optimizer"].step()
