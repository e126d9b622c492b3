# SPDX-License-Identifier: Apache-2.0
"""Where a model's time is: in one layer, in both directions or one."""

from pathlib import Path

import pytest
from verdicts import verdict
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
    assert found.cause == "layer", (found.sentence, found.why)
    assert found.causes[0].place == "wide"
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
    assert found.cause == "forward", (found.sentence, found.why)
    assert "small_work" not in found.shares, found.why
