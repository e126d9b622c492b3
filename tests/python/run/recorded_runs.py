# SPDX-License-Identifier: Apache-2.0
"""What tests of runs as such look at: a recording, a run of nothing, the names of all tables."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from regimeter import GPUProfiler, Run

TABLES = (
    "spans", "lanes", "launches", "memory", "counters", "flops", "operators", "frames", "collectives", "syncs",
    "flows", "intervals", "witness", "pressure", "samples", "stacks", "stalls", "segments", "blocks", "files",
    "anomalies",
)  # fmt: skip


def hundred_scopes() -> Run:
    """Return a recording of a hundred scopes, each with another in it."""
    with GPUProfiler(enable_detailed_metrics=False) as profiler:
        for number in range(100):
            with profiler.profile("outer", device="cpu", number=number % 3), profiler.profile("inner ü"):
                pass
    return profiler.run()


def empty_run() -> Run:
    """Return a run in which nothing is."""
    run: Run = Run._build([""], {}, "{}", "export", 0, 0, -1, True)
    return run


def together(*work: Callable[[], object]) -> None:
    """Do all of it at once, each in a thread; raise the first error."""
    with ThreadPoolExecutor(len(work)) as pool:
        for done in [pool.submit(one) for one in work]:
            done.result()
