# SPDX-License-Identifier: Apache-2.0
"""What finding the structure costs, beside torch.profiler: time of blocks of steps, the ways in random order.

Each round runs one block of steps bare, with the structure recorded, and under torch.profiler (CPU activities alone,
and with stacks and modules, which is what tells operators by module), in random order, and compares each with the bare
block of its round. Processor time of the thread is what is compared, because others may use the machine too; wall time
stands beside it.

Usage: structure.py [--rounds N] [--seconds S]
"""

import argparse
import gc
import random
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from regimeter import GPUProfiler

WAYS = ("bare", "structure", "torch.profiler", "torch.profiler with_stack with_modules")


def model(width: int, depth: int) -> nn.Module:
    """Blocks of a linear layer, a norm and an activation: three leaf modules each."""
    layers = [nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.GELU()) for _ in range(depth)]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def steps(net: nn.Module, batch: int, width: int) -> Callable[[int], None]:
    """Return what makes a number of training steps over a DataLoader."""
    optimizer, loss = torch.optim.SGD(net.parameters(), lr=1e-3), nn.CrossEntropyLoss()
    data = torch.utils.data.TensorDataset(torch.randn(batch * 4, width), torch.randint(0, 10, (batch * 4,)))
    loader = torch.utils.data.DataLoader(data, batch_size=batch)

    def run(count: int) -> None:
        made = 0
        while True:
            for x, y in loader:
                optimizer.zero_grad()
                value = loss(net(x), y)
                value.backward()
                optimizer.step()
                value.item()
                made += 1
                if made == count:
                    return

    return run


def timed(way: str, run: Callable[[int], None], count: int) -> tuple[float, float]:
    """Return processor and wall seconds of a block."""
    gc.collect()  # what torch.profiler leaves would be collected in the next block that makes objects
    if way == "bare":
        return clock(run, count)
    if way == "structure":
        with GPUProfiler(structure=True):
            return clock(run, count)
    more = {"with_stack": True, "with_modules": True} if "with_stack" in way else {}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **more):
        return clock(run, count)


def clock(run: Callable[[int], None], count: int) -> tuple[float, float]:
    """Return processor and wall seconds of so many steps."""
    begun = time.thread_time(), time.perf_counter()
    run(count)
    return time.thread_time() - begun[0], time.perf_counter() - begun[1]


def measure(name: str, net: nn.Module, run: Callable[[int], None], rounds: int, seconds: float) -> None:
    """Print one table."""
    run(3)
    step = min(clock(run, 3)[0] / 3 for _ in range(3))
    count = max(3, round(seconds / step))
    ratios: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        found = {way: timed(way, run, count) for way in random.sample(WAYS, len(WAYS))}
        for way in WAYS:
            ratios[way].append((found[way][0] / found["bare"][0], found[way][1] / found["bare"][1]))
    modules = sum(1 for _ in net.modules())
    print(f"{name}: {step * 1e3:.1f} ms of processor time a step, {modules} modules, {rounds} rounds of {count} steps")
    for way in WAYS[1:]:
        cpu = sorted(each[0] for each in ratios[way])
        wall = statistics.median(each[1] for each in ratios[way])
        middle = statistics.median(cpu)
        low, high = cpu[len(cpu) // 4], cpu[3 * len(cpu) // 4]
        each = (middle - 1) * step * 1e6
        print(f"  {way:40} {middle:7.4f} (quartiles {low:.4f} to {high:.4f}), wall {wall:.4f}, {each:8.1f} us a step")


def main() -> None:
    """Measure a short and a long step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    short, long = model(128, 8), model(512, 12)
    measure("short step", short, steps(short, 64, 128), arguments.rounds, arguments.seconds)
    measure("long step", long, steps(long, 512, 512), arguments.rounds, arguments.seconds)


if __name__ == "__main__":
    main()
