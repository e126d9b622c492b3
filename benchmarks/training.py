# SPDX-License-Identifier: Apache-2.0
"""Slow-down of a small MLP's training step with six scopes: ``python benchmarks/training.py [--json]``.

Blocks of steps with and without scopes alternate; the figure is the median over pairs of neighbouring blocks,
so that drift of the machine cancels. Targets: at most 1 % for regimeter.
"""

import contextlib
import json
import random
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import bursts

BLOCK = 40
PAIRS = 60


def make_step(scope: Callable[[str], Any]) -> Callable[[], None]:
    """Return a training step of about half a millisecond with six scopes."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data, target = torch.randn(64, 128), torch.randn(64, 64)
    loss_of = torch.nn.MSELoss()

    def step() -> None:
        with scope("step"):
            with scope("zero_grad"):
                optimizer.zero_grad()
            with scope("forward"):
                output = model(data)
            with scope("loss"):
                loss = loss_of(output, target)
            with scope("backward"):
                loss.backward()
            with scope("optimizer"):
                optimizer.step()

    return step


def block(step: Callable[[], None]) -> float:
    """Return the nanoseconds per step of one block."""
    begin = perf_counter_ns()
    for _ in range(BLOCK):
        step()
    return (perf_counter_ns() - begin) / BLOCK


def compare(scope: Callable[[str], Any]) -> dict[str, float]:
    """Return the step without scopes and the slow-down by the scopes."""
    bare, scoped = make_step(lambda _: contextlib.nullcontext()), make_step(scope)
    null = contextlib.nullcontext()
    bare = make_step(lambda _: null)
    for step in (bare, scoped):
        block(step)
    pairs = []
    order = random.Random(1)
    for _ in range(PAIRS):
        if order.random() < 0.5:
            a = block(bare)
            b = block(scoped)
        else:
            b = block(scoped)
            a = block(bare)
        pairs.append((a, b))
    ratios = sorted(b / a for a, b in pairs)
    return {
        "step_us": min(a for a, _ in pairs) / 1e3,
        "ratio": bursts.median_ratio(pairs),
        "low": ratios[len(ratios) // 4],
        "high": ratios[3 * len(ratios) // 4],
    }


def main() -> int:
    """Print the slow-downs."""
    from torch.profiler import ProfilerActivity, profile, record_function

    import regimeter

    results = {}
    null = contextlib.nullcontext()
    results["no scope against no scope (noise)"] = compare(lambda _: null)
    profiler = regimeter.GPUProfiler()
    results["regimeter, default settings"] = compare(profiler.profile)
    profiler.close()
    results["record_function, profiler off"] = compare(record_function)
    bare = make_step(lambda _: null)
    scoped = make_step(record_function)
    before, after = [], []
    for _ in range(6):
        before.append(block(bare))
        with profile(activities=[ProfilerActivity.CPU]):
            after.append(block(scoped))
    results["torch.profiler with scopes"] = {
        "step_us": min(before) / 1e3,
        "ratio": min(after) / min(before),
        "low": min(after) / min(before),
        "high": max(after) / min(before),
    }
    if "--json" in sys.argv:
        print(json.dumps({"machine": bursts.machine(), "results": results}))
        return 0
    print(f"{bursts.machine()}; six scopes a step; target: ratio at most 1.01")
    rows = [
        (name, f"{row['step_us']:.0f}", f"{row['ratio']:.4f}", f"{row['low']:.4f} to {row['high']:.4f}")
        for name, row in results.items()
    ]
    print(bursts.table(rows, ("scopes", "bare step us", "ratio", "quartiles over pairs")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
