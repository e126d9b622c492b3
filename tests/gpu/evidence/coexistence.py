# SPDX-License-Identifier: Apache-2.0
"""What shares a process: counters of scopes beside records of kernels, and a program that goes on when CUPTI has left.

Counts of scopes are compared with what was added in them; that the two cannot stand side by side is an answer too.
"""

from time import perf_counter_ns
from typing import Any

from .claims import Claim, at_least, between, equal, physical, shown
from .common import UnavailableHere, anomalies, finished, in_process, keep, kernel_rows, ready, spread, tracing

ADDED = 1 << 22  # elements, an addition each
SCOPES = 5
LAUNCHES, ROUNDS = 500, 9
DETACH_S = 5


def counted() -> dict[str, Any]:
    """Count floating-point operations in scopes of a program whose kernels are recorded, where both can be had."""
    from regimeter import GPUProfiler

    torch = ready()
    left, right = torch.ones(ADDED, device="cuda"), torch.ones(ADDED, device="cuda")
    torch.add(left, right)
    torch.cuda.synchronize()
    profiler = GPUProfiler(enable_detailed_metrics=False, profile_kernels=True, counters={"set": "fp", "scopes": "add"})
    for _ in range(SCOPES):
        with profiler.profile("add"):
            torch.add(left, right)
            torch.cuda.synchronize()
        with profiler.profile("not counted"):
            torch.add(left, right)
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
    try:
        found["counted"] = in_process("coexistence", "counted", limit_s=25, on_doubles="counters")
    except (RuntimeError, UnavailableHere) as error:
        found["counted"] = {"failed": str(error)}
    return found


def judge(found: dict[str, Any]) -> list[Claim]:
    """CUPTI leaves when it is asked to, and scopes that are counted have the additions that were made in them."""
    gone, both = found["detached"], found.get("counted", {"failed": "not run"})
    after = gone["launch_ns"]["after"] / gone["launch_ns"]["before"]
    claims = [
        equal("detached: the state says so", gone["state"], "detached"),
        at_least("detached: kernels that were recorded before", gone["kernels"], LAUNCHES * ROUNDS),
        physical(between("detached: a launch after over a launch before", after, 0.5, 1.05)),
        shown("detached: a launch", gone["launch_ns"], "ns"),
    ]
    if "failed" in both:
        return [*claims, Claim("counters beside kernels: runs", both["failed"], "runs", False)]
    claims.append(shown("counters beside kernels: kernels", both["kernels"], both["kernels_reason"] or "recorded"))
    if both["counters_reason"]:
        return [
            *claims,
            shown("counters beside kernels: not available", both["counters_reason"], "a reason is an answer"),
        ]
    made = both["operations"].get("add")
    return [
        *claims,
        equal("counters beside kernels: ranges", both["ranges"], SCOPES),
        equal("counters beside kernels: scopes with counts", sorted(both["operations"]), ["add"]),
        physical(between("additions counted over those made", made and made / (SCOPES * ADDED), 0.99, 1.01)),
        shown("counters beside kernels: anomalies", both["anomalies"]),
    ]
