# SPDX-License-Identifier: Apache-2.0
"""Samples of why kernels stall: they add up to CUPTI's totals, bear the names of kernels, and find a known reason."""

from time import perf_counter_ns
from typing import Any

from .claims import Claim, at_least, at_most, equal, physical, shown
from .common import finished, in_process, kernel_rows, name_of, ready

ELEMENTS = 1 << 24  # more than a cache holds, so that an addition waits for memory
ROUNDS = 20
BESIDE = 20  # additions before sampling begins, of a module that is loaded by then


def loop_ns(torch: Any, left: Any, right: Any) -> float:
    """Return nanoseconds of a round of additions, until the device has ended them."""
    begin = perf_counter_ns()
    for _ in range(ROUNDS):
        torch.add(left, right)
    torch.cuda.synchronize()
    return (perf_counter_ns() - begin) / ROUNDS


def sampled() -> dict[str, Any]:
    """Sample a loop of additions on a device that is in use already, with its kernels recorded."""
    from regimeter import GPUProfiler

    torch = ready()
    left, right = torch.ones(ELEMENTS, device="cuda"), torch.ones(ELEMENTS, device="cuda")
    for _ in range(BESIDE):
        torch.add(left, right)
    bare = loop_ns(torch, left, right)
    profiler = GPUProfiler(enable_detailed_metrics=False, profile_kernels=True, stalls=True)
    with profiler.profile("add"):
        beside = loop_ns(torch, left, right)
    run = finished(profiler, torch)
    device = run.environment["device"]
    rows = run.result("stalls").rows()
    return {
        "kernels_reason": profiler.kernels_reason,
        "reason": device["stalls_reason"],
        "state": device.get("stalls", {}),
        "round_ns": {"bare": bare, "sampled": beside},
        "kernels": sorted({str(name_of(run, row)) for row in kernel_rows(run)}),
        "sampled_kernels": sorted({row["name"] for row in rows}),
        "scopes": sorted({row["scope"] for row in rows if row["scopes"] == 1}),
        "shares": {row["reason"]: row["share"] for row in run.result("stalls", by="reason").rows()},
    }


def measure() -> dict[str, Any]:
    """In a process of its own: what samples a context has it until the process ends."""
    found: dict[str, Any] = in_process("stalls", "sampled", limit_s=40)
    return found


def judge(found: dict[str, Any]) -> list[Claim]:
    """Nothing is counted twice or lost, every name is that of a recorded kernel, and an addition waits for memory."""
    claims = [shown("why there are none", found["reason"] or "there are", "a reason is an answer")]
    if found["reason"]:
        return claims
    state, rounds = found["state"], found["round_ns"]
    with_record = state["total"] - state["dropped"] - state["no_record"]
    strange = sorted(set(found["sampled_kernels"]) - set(found["kernels"]))
    stalled = {reason: share for reason, share in found["shares"].items() if reason != "selected"}
    most = max(stalled, key=lambda reason: stalled[reason], default=None)
    return [
        *claims,
        at_least("samples with a record", state["samples"], 1),
        at_most(
            "samples that are neither in a row nor lost",
            100 * abs(with_record - state["samples"]) / max(1, with_record),
            1,
            "%",
        ),
        shown("the same, if those with nothing issued were counted apart", with_record - state["not_issued"]),
        equal("sampled kernels that were not recorded", strange, []),
        equal("the one scope of the kernels", found["scopes"], ["add"]),
        physical(equal("what an addition of large arrays mostly waits for", most, "long_scoreboard")),
        physical(at_most("samples that the hardware lost", 100 * state["dropped"] / max(1, state["total"]), 5, "%")),
        physical(at_most("the loop beside that without", rounds["sampled"] / rounds["bare"], 1.1)),
        shown("share of each reason", found["shares"]),
        shown("samples with a line of source, or why there is none", state["lines_reason"] or state["lines"]),
        shown("cycles between two samples of a multiprocessor", state["period_cycles"]),
    ]
