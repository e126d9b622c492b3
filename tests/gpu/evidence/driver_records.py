# SPDX-License-Identifier: Apache-2.0
"""What CUDA tells beside its work: memory that it gives out, by kind, pool and scope, and how long launches wait."""

import ctypes
import os
from typing import Any

from .claims import Claim, at_least, between, equal, physical, shown
from .common import anomalies, finished, kernel_rows, name_of, ready, tracing

MB = 1 << 20
SIZES = {"cuMemAlloc_v2": 32 * MB, "cuMemAllocManaged": 1 * MB, "cuMemAllocAsync": 8 * MB}
MORE = {"cuMemAlloc_v2": (), "cuMemAllocManaged": (1,), "cuMemAllocAsync": (None,)}
PAIRS = 20
SPIN_CYCLES = 5_000_000  # some milliseconds, so that the second of a pair is launched while the first runs


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
    """Return how many kernels have queue times, and how long the second spin of a pair waited, over the first one.

    The wait is from its queueing to its start. On which side of CUPTI's time of submission it lies is shown, too.
    """
    launches, spans = run.tables.launches, run.spans
    place = {int(span): at for at, span in enumerate(launches.span.tolist())}
    spins = [row for row in kernel_rows(run) if name_of(run, scope_row(run, row)) == "pair"]
    known = [row for row in spins if int(launches.waiting_ns[place[row]]) >= 0]
    before = {row: int(launches.buffered_ns[place[row]]) for row in known}
    after = {row: int(launches.waiting_ns[place[row]]) for row in known}
    pairs = [pair for pair in zip(spins[::2], spins[1::2], strict=False) if pair[1] in before]
    shares = sorted((before[second] + after[second]) / max(1, int(spans.duration_ns[first])) for first, second in pairs)
    return {
        "reason": run.environment["device"]["kernels"]["queue_times_reason"],
        "spins": len(spins),
        "known": len(known),
        "waited_share": shares[len(shares) // 2] if shares else None,
        "second_ns": [[before[second], after[second]] for _, second in pairs],
    }


def middle(pairs: list[list[int]], part: int) -> int | None:
    """Return the middle one of a part of pairs."""
    values = sorted(pair[part] for pair in pairs)
    return values[len(values) // 2] if values else None


def scope_row(run: Any, row: int) -> int:
    """Return the row of the scope that launched a kernel."""
    from .common import scope_of

    return scope_of(run, int(run.spans.launch[row]))


def judge(found: dict[str, Any]) -> list[Claim]:
    """Every block exactly, nothing left, and a spin that is queued behind another waits for its end.

    The first of a pair runs while the second is launched, so the second waits nearly as long as the first runs, and
    not longer than that and the two launches. The part of it before the submission is CUPTI's affair: all of it but
    half a microsecond on an H200 with CUPTI 13.0.1 (2026-11-27).
    """
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
        physical(between("the second spin's wait over the first", 100 * (found["waited_share"] or 0), 80, 105, "%")),
        shown("its wait until it was submitted, the middle of all", middle(found["second_ns"], 0), "ns"),
        shown("its wait after that, the middle of all", middle(found["second_ns"], 1), "ns"),
        equal("records without sense", found["anomalies"].get("invalid_activity", 0), 0),
    ]
