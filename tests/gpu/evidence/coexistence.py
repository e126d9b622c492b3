# SPDX-License-Identifier: Apache-2.0
"""What shares a process: counters of scopes beside records of kernels, and a program that goes on when CUPTI has left.

Counts of scopes are compared with what was multiplied in them, alone and beside records of kernels; that the two cannot
stand side by side is an answer too. Products are counted and not sums: torch's kernel of a sum multiplies the second
operand by a factor in the same instruction, which counts as two operations (H200, 2026-11-27: 25,165,824 for three
sums of 4,194,304 elements, 12,582,912 for three products; beside records of kernels all counts were 0).
"""

from time import perf_counter_ns
from typing import Any

from .claims import Claim, at_least, between, equal, physical, shown
from .common import UnavailableHere, anomalies, finished, in_process, keep, kernel_rows, ready, spread, tracing

MULTIPLIED = 1 << 22  # elements, a multiplication each
SCOPES = 5
WHERE = ("alone", "beside kernels")
LAUNCHES, ROUNDS = 500, 9
DETACH_S = 5


def counted(where: str) -> dict[str, Any]:
    """Count floating-point operations in scopes, alone or "beside kernels" that are recorded, where both can be had."""
    from regimeter import GPUProfiler

    torch = ready()
    left, right = torch.ones(MULTIPLIED, device="cuda"), torch.ones(MULTIPLIED, device="cuda")
    torch.mul(left, right)
    torch.cuda.synchronize()
    profiler = GPUProfiler(
        enable_detailed_metrics=False, profile_kernels=where == WHERE[1], counters={"set": "fp", "scopes": "mul"}
    )
    for _ in range(SCOPES):
        with profiler.profile("mul"):
            torch.mul(left, right)
            torch.cuda.synchronize()
        with profiler.profile("not counted"):
            torch.mul(left, right)
    run = finished(profiler, torch)
    device = run.environment["device"]
    return {
        "kernels_reason": profiler.kernels_reason,
        "kernels": len(kernel_rows(run)),
        "counters_reason": device.get("counters_reason"),
        "ranges": (device.get("counters") or {}).get("ranges"),
        "operations": {row["name"]: row.get("flops") for row in run.result("counter-flops").rows()},
        "anomalies": anomalies(run),
    }


def launch_ns(torch: Any, small: Any) -> float:
    """Return nanoseconds for a launch, at the median of rounds."""
    times = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        begin = perf_counter_ns()
        for _ in range(LAUNCHES):
            small.add_(1)
        times.append((perf_counter_ns() - begin) / LAUNCHES)
    return float(spread(times)["median"])


def detached() -> dict[str, Any]:
    """Trace, take CUPTI out while another thread goes on launching, and go on without it."""
    import threading

    torch = ready()
    small = torch.zeros(256, device="cuda")
    before = launch_ns(torch, small)
    profiler = tracing(profile_kernels={"detach": 1}, device_wait_ns=DETACH_S * 10**9)
    with profiler.profile("traced"):
        traced = launch_ns(torch, small)
    ended = threading.Event()

    def go_on() -> None:  # CUPTI can leave at the end of a call only
        while not ended.is_set():
            small.add_(1)

    thread = threading.Thread(target=go_on)
    thread.start()
    run = finished(profiler, torch)
    ended.set()
    thread.join()
    torch.cuda.synchronize()
    return {
        "state": run.environment["device"]["kernels"]["state"],
        "kernels": len(kernel_rows(run)),
        "launch_ns": {"before": before, "traced": traced, "after": launch_ns(torch, small)},
    }


def measure() -> dict[str, Any]:
    """Each in a process of its own."""
    found: dict[str, Any] = {"detached": in_process("coexistence", "detached", limit_s=25)}
    keep(found)
    for where in WHERE:
        try:
            found[where] = in_process("coexistence", "counted", where, limit_s=25, on_doubles="counters")
        except (RuntimeError, UnavailableHere) as error:
            found[where] = {"failed": str(error)}
        keep(found)
    return found


def judge(found: dict[str, Any]) -> list[Claim]:
    """CUPTI leaves when it is asked to, and scopes that are counted have the products that were made in them."""
    gone = found["detached"]
    after = gone["launch_ns"]["after"] / gone["launch_ns"]["before"]
    claims = [
        equal("detached: the state says so", gone["state"], "detached"),
        at_least("detached: kernels that were recorded before", gone["kernels"], LAUNCHES * ROUNDS),
        physical(between("detached: a launch after over a launch before", after, 0.5, 1.05)),
        shown("detached: a launch", gone["launch_ns"], "ns"),
    ]
    for where in WHERE:
        claims += judge_counted(f"counters {where}", found.get(where, {"failed": "not run"}))
    return claims


def judge_counted(name: str, found: dict[str, Any]) -> list[Claim]:
    """Each scope has its range, and the counts are exact."""
    if "failed" in found:
        return [Claim(f"{name}: runs", found["failed"], "runs", False)]
    claims = [shown(f"{name}: kernels", found["kernels"], found["kernels_reason"] or "recorded")]
    if found["counters_reason"]:
        return [*claims, shown(f"{name}: not available", found["counters_reason"], "a reason is an answer")]
    made = found["operations"].get("mul")
    return [
        *claims,
        equal(f"{name}: ranges", found["ranges"], SCOPES),
        equal(f"{name}: scopes with counts", sorted(found["operations"]), ["mul"]),
        physical(equal(f"{name}: products counted over those made", made and made / (SCOPES * MULTIPLIED), 1.0)),
        shown(f"{name}: anomalies", found["anomalies"]),
    ]
