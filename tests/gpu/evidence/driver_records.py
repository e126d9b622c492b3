# SPDX-License-Identifier: Apache-2.0
"""What CUDA tells beside its work: memory that it gives out, by kind, pool and scope, and how long launches wait."""

import ctypes
import os
from typing import Any

from .claims import Claim, at_least, at_most, equal, physical, shown
from .common import anomalies, finished, kernel_rows, name_of, ready, tracing

MB = 1 << 20
SIZES = {"cuMemAlloc_v2": 32 * MB, "cuMemAllocManaged": 1 * MB, "cuMemAllocAsync": 8 * MB}
MORE = {"cuMemAlloc_v2": (), "cuMemAllocManaged": (1,), "cuMemAllocAsync": (None,)}
PAIRS = 20
SPIN_CYCLES = 5_000_000  # some milliseconds, so that the second of a pair is submitted while the first runs


def allocate() -> None:
    """Ask the driver itself, past torch's allocator, for a block of each kind, and give all of them back."""
    cuda = ctypes.CDLL(os.environ.get("REGIMETER_LIBCUDA") or "libcuda.so.1")
    blocks = []
    for name, size in SIZES.items():
        address = ctypes.c_uint64()
        status = getattr(cuda, name)(ctypes.byref(address), ctypes.c_size_t(size), *MORE[name])
        if status:
            raise RuntimeError(f"{name} answered {status}")
        blocks.append((name, address))
    for name, address in blocks:
        pooled = name == "cuMemAllocAsync"
        cuda.cuMemFreeAsync(address, None) if pooled else cuda.cuMemFree_v2(address)


def measure() -> dict[str, Any]:
    """Trace from before the first use of CUDA: blocks in a scope, then pairs of spins in one stream."""
    profiler = tracing(profile_kernels={"memory": 1, "queue_times": 1})
    torch = ready()
    with profiler.profile("blocks"):
        allocate()
    for _ in range(PAIRS):
        with profiler.profile("pair"):
            torch.cuda._sleep(SPIN_CYCLES)
            torch.cuda._sleep(SPIN_CYCLES)
        torch.cuda.synchronize()
    run = finished(profiler, torch)
    return memory_of(run) | queues_of(run) | {"anomalies": anomalies(run)}


def memory_of(run: Any) -> dict[str, Any]:
    """Return what the run knows of the blocks of the scope."""
    from regimeter.report.memory_run import memory_document

    rows = [row for row in run.result("allocations", by="scope") if row["scope"] == "blocks" and row["device"] >= 0]
    document = memory_document(run, "run")
    return {
        "given_bytes": sum(row["allocated_bytes"] for row in rows),
        "blocks": sum(row["allocations"] for row in rows),
        "left_bytes": sum(row["end_bytes"] for row in rows),
        "kinds": sorted({row["category"] for row in document["kinds"]}),
        "pools": [row["peak_used_bytes"] for row in document["cuda_pools"]],
    }


def queues_of(run: Any) -> dict[str, Any]:
    """Return how many kernels have queue times, and how long the second spin of a pair waited for the first."""
    launches, spans = run.tables.launches, run.spans
    place = {int(span): at for at, span in enumerate(launches.span.tolist())}
    spins = [row for row in kernel_rows(run) if name_of(run, scope_row(run, row)) == "pair"]
    known = [row for row in spins if int(launches.waiting_ns[place[row]]) >= 0]
    shares = [
        int(launches.waiting_ns[place[second]]) / max(1, int(spans.duration_ns[first]))
        for first, second in zip(spins[::2], spins[1::2], strict=False)
    ]
    return {
        "reason": run.environment["device"]["kernels"]["queue_times_reason"],
        "spins": len(spins),
        "known": len(known),
        "waited_share": sorted(shares)[len(shares) // 2] if shares else None,
        "buffered_ns_most": max((int(launches.buffered_ns[place[row]]) for row in known), default=None),
    }


def scope_row(run: Any, row: int) -> int:
    """Return the row of the scope that launched a kernel."""
    from .common import scope_of

    return scope_of(run, int(run.spans.launch[row]))


def judge(found: dict[str, Any]) -> list[Claim]:
    """Every block exactly, nothing left, and a spin that is queued behind another waits as submitted."""
    return [
        equal("bytes that the driver gave out in the scope", found["given_bytes"], sum(SIZES.values())),
        equal("blocks of them", found["blocks"], len(SIZES)),
        equal("bytes of them that were not given back", found["left_bytes"], 0),
        equal("managed memory is told apart", "Managed" in found["kinds"], True),
        at_least(
            "most bytes of a pool in use", max((row or 0 for row in found["pools"]), default=None), 8 * MB, "bytes"
        ),
        shown("why there are no queue times", found["reason"] or "there are"),
        at_least("spins with queue times", 100 * found["known"] / max(1, found["spins"]), 99, "%"),
        physical(at_least("the second spin waits for the first", 100 * (found["waited_share"] or 0), 80, "%")),
        physical(at_most("longest time in the program's own queue", found["buffered_ns_most"], 1e7, "ns")),
        equal("records without sense", found["anomalies"].get("invalid_activity", 0), 0),
    ]
