# SPDX-License-Identifier: Apache-2.0
"""A program of two ranks that compiles, run as `python compile_programs.py OUT`; writes what torch itself counted."""

import json
import os
import sys
from dataclasses import asdict

import torch
import torch._dynamo  # before the fork: both ranks need it, and it takes longer than all that they compile
from torch import distributed
from torch.testing._internal.distributed.fake_pg import FakeStore

from regimeter.suite.compile_watch import Dynamo


def broken(x):
    y = torch.relu(x) * 2 + 1
    torch._dynamo.graph_break()  # one
    if y.sum() > 0:  # two
        y = y + 1
    return y * 2


def inner(x):
    print("inner")  # three, met in two frames
    return x + 1


def outer(x):
    return inner(x * 2).cos()


def grows(x, n=1):
    return torch.cos(x) + n


def refused(x):
    return torch.sin(x) - 1


def refuses(graph, inputs):
    raise ValueError("no room")


def rank_0():
    torch.compile(broken, backend="eager")(torch.ones(8))
    torch.compile(outer, backend="eager")(torch.ones(8))
    again = torch.compile(grows, backend="eager")
    for size in (8, 9):
        again(torch.ones(size))
    again(torch.ones(9, dtype=torch.float64))
    again(torch.ones(9), 2)
    try:
        torch.compile(refused, backend=refuses)(torch.ones(3))
    except Exception as error:
        assert "no room" in str(error)
    torch.compile(torch.nn.Linear(4, 4), backend="aot_eager")(torch.ones(2, 4)).sum().backward()


def main(out):
    rank = 0 if os.fork() else 1
    distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=2)
    if rank:
        torch.compile(broken, backend="eager")(torch.ones(8))
        return
    with Dynamo() as dynamo:
        rank_0()
        rows = [asdict(row) for row in torch._dynamo.utils.get_compilation_metrics()]
        found = {
            "breaks": [asdict(one) for one in dynamo.breaks()],
            "counters": torch._dynamo.utils.counters["stats"],
            "rows": rows,
        }
    os.wait()
    with open(out, "w") as file:
        json.dump(found, file, default=str)


if __name__ == "__main__":
    main(sys.argv[1])
