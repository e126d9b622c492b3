# SPDX-License-Identifier: Apache-2.0
"""Where a model's time is: in one layer, in both directions or one."""

from pathlib import Path

import pytest
from verdicts import leading, verdict
from warm import record

import regimeter

MODEL = """import time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
stem, wide = torch.nn.Linear(64, 700), torch.nn.Linear(700, 700)
model = torch.nn.Sequential()
model.add_module("stem", stem)
model.add_module("wide", wide)
model.add_module("head", torch.nn.Linear(700, 4))
data = torch.randn(512, 64)
until = time.thread_time() + 1
"""
TRAIN = """optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
while time.thread_time() < until:
    loss = model(data).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
FROZEN = "wide.weight.requires_grad_(False)\nstem.requires_grad_(False)\n"  # nothing to compute of it backwards
ASK = "with torch.no_grad():\n    while time.thread_time() < until:\n        model(data)\n"


@pytest.mark.slow
@pytest.mark.parametrize(("rest", "backward"), [(TRAIN, False), (FROZEN + TRAIN, True), (ASK, False)])
def test_one_layer_is_named_and_its_backward_pass_counted_with_it(rest: str, backward: bool, tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, MODEL + rest)))
    first = leading(found, "layer")
    assert first.place == "wide"
    assert any(one.cause == "backward" for one in found.causes) == backward
    assert ("forward pass" in found.sentence) == backward


# What attention looks like: small projections within, and products of its own.
BLOCKS = """import time, torch
torch.set_num_threads(1)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.back, self.norm = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)
    def forward(self, data):
        rows = self.norm(self.into(data))
        for _ in range(3):
            rows = torch.mm(torch.softmax(rows @ rows.T, 1), rows)
        return self.back(rows)
model = torch.nn.Sequential(*[Block() for _ in range(8)])
data = torch.randn(400, 8)
until = time.thread_time() + 1
with torch.no_grad():
    while time.thread_time() < until:
        model(data)
"""


def test_what_a_module_computes_beside_those_within_it_is_no_small_work(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, BLOCKS)))
    leading(found, "forward")
    assert "small_work" not in found.shares, found.why


# What the model computes in its own forward method, beside a small layer.
WHOLE = """import time, torch
torch.set_num_threads(1)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(700, 700) / 30)
        self.head = torch.nn.Linear(700, 4)
    def forward(self, data):
        for _ in range(3):
            data = torch.tanh(data @ self.weight)
        return self.head(data)
model, data = Model(), torch.randn(128, 700)
until = time.thread_time() + 1
with torch.no_grad():
    while time.thread_time() < until:
        model(data)
"""


def test_what_the_model_computes_itself_is_no_layers(tmp_path: Path) -> None:
    """The layer within it was named, with less than 1 % of the time."""
    found = verdict(regimeter.load(record(tmp_path, WHOLE)))
    first = leading(found, "forward")
    assert first.place == "Model"


# A layer that is a loop over the letters of texts, and a backward pass that is one over numbers.
LETTERS = """import time, torch
torch.set_num_threads(1)
class Letters(torch.nn.Module):
    def forward(self, texts):
        rows = []
        for text in texts:
            counts = [0] * 64
            for letter in text:
                counts[(ord(letter) * 31 + 7) % 64] += 1
            rows.append(counts)
        return torch.tensor(rows, dtype=torch.float32)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.letters, self.body = Letters(), torch.nn.Linear(64, 64)
    def forward(self, texts):
        return self.body(self.letters(texts))
model, texts = Model(), ["the quick brown fox jumps over the lazy dog " * 20] * 32
until = time.thread_time() + 1
with torch.no_grad():
    while time.thread_time() < until:
        model(texts)
"""
RANKED = """import time, torch
torch.set_num_threads(1)
class Ranked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, data):
        ctx.save_for_backward(data)
        return data * 2
    @staticmethod
    def backward(ctx, gradient):
        made = []
        for row in gradient.tolist():
            mean = sum(row) / len(row)
            made.append([value * (1.0 - (value - mean) * mean / (1.0 + value * value)) for value in row])
        return torch.tensor(made)
class Rank(torch.nn.Module):
    def forward(self, data):
        return Ranked.apply(data)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), Rank(), torch.nn.Linear(128, 4))
optimizer, data = torch.optim.SGD(model.parameters(), lr=1e-3), torch.randn(200, 64)
until = time.thread_time() + 1
while time.thread_time() < until:
    model(data).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("code", "place"), [(LETTERS, "Letters.forward ("), (RANKED, "Ranked.backward")])
def test_a_layer_that_is_a_loop_of_python_has_its_line(code: str, place: str, tmp_path: Path) -> None:
    """The advice was to look at the layer's shapes and data type."""
    found = verdict(regimeter.load(record(tmp_path, code)))
    first = leading(found, "python")
    assert first.place.startswith(place)
