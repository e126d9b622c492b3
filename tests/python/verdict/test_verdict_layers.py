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
