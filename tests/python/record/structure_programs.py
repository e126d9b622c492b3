# SPDX-License-Identifier: Apache-2.0
"""Small programs that train, each a function of nothing that returns what must not depend on a profiler."""

import functools

import torch
import torch.utils.checkpoint
from torch import nn
from torch.nn import functional as F

STEPS = 3


def train(model, inputs, loss=None, optimizer=None):
    """Make a few steps; return outputs, gradients, parameters and the state of the random numbers."""
    loss = loss or (lambda out: out.square().mean())
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.05)
    seen = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        out = model(*inputs)
        value = loss(out)
        value.backward()
        seen.append(value.item())
        optimizer.step()
    return seen, facts(model)


def facts(*models):
    """Return what models hold, their hooks, and the state of the random numbers."""
    held = [
        (name, each.detach().clone(), None if each.grad is None else each.grad.clone(), each._backward_hooks)
        for model in models
        for name, each in model.named_parameters()
    ]
    hooks = [
        {key: dict(value) for key, value in vars(part).items() if "hooks" in key and isinstance(value, dict)}
        for model in models
        for part in model.modules()
    ]
    keys = [sorted(vars(part)) for model in models for part in model.modules()]
    return held, hooks, keys, torch.get_rng_state()


def linear():
    return train(nn.Linear(6, 3), [torch.randn(4, 6)])


def perceptron():
    model = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.3), nn.ReLU(), nn.Linear(8, 2))
    return train(model, [torch.randn(4, 6)], optimizer=torch.optim.Adam(model.parameters()))


def convolutions():
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
    )
    return train(model, [torch.randn(2, 3, 8, 8)])


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 5, num_layers=2, dropout=0.2)
        self.gru = nn.GRU(5, 3)

    def forward(self, x):
        out, (hidden, _) = self.lstm(x)
        out, _ = self.gru(out)
        return out.sum() + hidden.sum()


def recurrent():
    return train(Recurrent(), [torch.randn(6, 2, 4)])


def transformer():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
    return train(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), [torch.randn(2, 5, 8)])


def embedding():
    model = nn.Sequential(nn.Embedding(11, 6), nn.Flatten(), nn.Linear(18, 2))
    return train(model, [torch.randint(0, 11, (4, 3))])


def adversaries():
    maker, judge = nn.Sequential(nn.Linear(3, 6), nn.Tanh()), nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1))
    of_maker, of_judge = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    seen = []
    for _ in range(STEPS):
        of_judge.zero_grad()
        wrong = (
            F.softplus(judge(maker(torch.randn(4, 3)).detach())).mean() + F.softplus(-judge(torch.randn(4, 6))).mean()
        )
        wrong.backward()
        of_judge.step()
        of_maker.zero_grad()
        fooled = F.softplus(-judge(maker(torch.randn(4, 3)))).mean()
        fooled.backward()
        of_maker.step()
        seen += [wrong.item(), fooled.item()]
    return seen, facts(maker, judge)


def closures():
    """Two optimizers that call for the loss themselves: all passes are within their steps."""
    models = nn.Linear(5, 1), nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizers = [torch.optim.LBFGS(model.parameters(), max_iter=3) for model in models]
    inputs, wanted = torch.randn(8, 5), torch.randn(8, 1)

    def closure(model, optimizer):
        optimizer.zero_grad()
        value = F.mse_loss(model(inputs), wanted)
        value.backward()
        return value

    seen = [
        optimizer.step(functools.partial(closure, model, optimizer)).item()
        for _ in range(STEPS)
        for model, optimizer in zip(models, optimizers, strict=True)
    ]
    return seen, facts(*models)


def accumulation():
    model = nn.Linear(5, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    seen = []
    for _ in range(STEPS):
        for _ in range(4):
            value = model(torch.randn(3, 5)).square().mean() / 4
            value.backward()
            seen.append(value.item())
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
    return seen, facts(model)


class Recomputed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.ReLU())
        self.second = nn.Linear(6, 2)
        self.reentrant = reentrant

    def forward(self, x):
        out = torch.utils.checkpoint.checkpoint(self.first, x, use_reentrant=self.reentrant)
        return self.second(out)


def recomputed():
    return train(Recomputed(False), [torch.randn(3, 4)])


def recomputed_within():
    return train(Recomputed(True), [torch.randn(3, 4, requires_grad=True)])


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(4, 4)
        self.same = self.one
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.one.weight

    def forward(self, x):
        return self.tied(self.same(torch.relu(self.one(x))))


def shared():
    return train(Shared(), [torch.randn(3, 4)])


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})

    def forward(self, given, *, more):
        left, (right,) = given["left"], given["right"]
        return {"out": (self.inner["a"](left), [self.inner["b"](right) + more]), "note": "text", "none": None}


class Nesting(nn.Module):
    def __init__(self):
        super().__init__()
        self.nested = Nested()

    def forward(self, given):
        return self.nested(given, more=1.0)


def nested():
    given = {"left": torch.randn(2, 3), "right": (torch.randn(2, 3),)}
    return train(Nesting(), [given], loss=lambda out: (out["out"][0] * out["out"][1][0]).sum())


def twice():
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))

    def penalised(out):
        (slope,) = torch.autograd.grad(out.sum(), points, create_graph=True)
        return out.square().mean() + (slope.norm(dim=1) - 1).square().mean()

    points = torch.randn(6, 4, requires_grad=True)
    return train(model, [points], loss=penalised)


def hooked():
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1))
    seen = []
    model[0].register_forward_hook(lambda module, args, out: seen.append(float(out.sum())))
    model[0].register_full_backward_hook(lambda module, into, out: seen.append(float(out[0].sum())))
    loss, held = train(model, [torch.randn(6, 4)])
    return loss, seen, held[0]


PROGRAMS = [
    linear, perceptron, convolutions, recurrent, transformer, embedding, adversaries, closures, accumulation,
    recomputed, recomputed_within, shared, nested, twice, hooked,
]  # fmt: skip
