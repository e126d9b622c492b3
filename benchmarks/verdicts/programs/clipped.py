# SPDX-License-Identifier: Apache-2.0
"""Cause: gradient_clipping. Gradients of many parameters are clipped one by one, three times."""

import torch
from torch import nn

parameters = [nn.Parameter(torch.randn(64)) for _ in range(1500)]
optimizer = torch.optim.SGD(parameters[:1], lr=0.01)
for parameter in parameters:
    parameter.grad = torch.randn(64)
for _ in range(25):
    parameters[0].square().sum().backward()
    for norm in (3.0, 2.0, 1.0):
        nn.utils.clip_grad_norm_(parameters, norm, foreach=False)
    optimizer.step()
