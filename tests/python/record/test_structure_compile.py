# SPDX-License-Identifier: Apache-2.0
"""torch.compile with the structure recorded: the same frames are compiled, and what that took is found."""

import pytest
from warm import record

import regimeter

pytest.importorskip("torch")

PROGRAM = """
import torch
from torch import nn
from torch._dynamo.utils import counters, get_compilation_metrics

torch.manual_seed(0)
torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)
        self.b.register_forward_hook(lambda module, args, out: out * 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


@torch.compile(backend="eager")
def work(net, x):
    value = net(x).square().mean()
    value.item()
    return value + 1


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
compiled = torch.compile(net, backend="eager")
for rows in (3, 3, 5):
    optimizer.zero_grad()
    loss = compiled(torch.randn(rows, 4)).square().mean() + work(net, torch.randn(3, 4))
    loss.backward()
    optimizer.step()
    print(loss.item())
torch._dynamo.reset()
compiled(torch.ones(2, 4))
print({kind: dict(counters[kind]) for kind in ("stats", "frames", "graph_break")})
print([(each.compile_id, each.co_name) for each in get_compilation_metrics()])
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return what the program prints without and with its structure recorded, and the recording."""
    folder = tmp_path_factory.mktemp("compile")
    bare = ("--no-structure", "--stacks", "0", "--no-kernels")
    printed = []
    for name, options in (("bare", bare), ("within", ())):
        (folder / name).mkdir()
        run = record(folder / name, PROGRAM, *options)
        printed.append((folder / name / "out").read_text())
    return *printed, regimeter.load(run)


def test_the_same_frames_are_compiled(recorded):
    bare, within, _ = recorded
    assert within == bare


def test_compilations_are_found(recorded):
    run = recorded[2]
    found = [
        run.string(run.spans.name[i]) for i in range(len(run.spans)) if run.string(run.spans.category[i]) == "compile"
    ]
    assert found[0] == "torch.compile"
    assert "torch.compile again" in found
    assert len(found) == recorded[0].splitlines()[-1].count("('")
    assert sum(run.string(each) == "optimizer" for each in run.spans.category) == 3
