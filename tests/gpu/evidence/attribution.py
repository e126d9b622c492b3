# SPDX-License-Identifier: Apache-2.0
"""Every kernel belongs to a scope, or is counted as one that does not."""

from typing import Any

from . import loops
from .claims import Claim, at_least, equal, shown
from .common import anomalies, finished, in_process, kernel_rows, ready, scope_of, tracing

STEPS = 50
LOST = ("dropped_activity", "invalid_activity", "orphan_kernels", "dropped_device_rows")


def traced(loop: str) -> dict[str, Any]:
    """Trace a loop, every step of which is a scope, beside work in a second stream."""
    torch = ready()
    step = getattr(loops, loop)(torch)
    a = torch.randn(512, 512, device="cuda")
    other = torch.cuda.Stream()
    step(None)
    profiler = tracing()
    for _ in range(STEPS):
        with profiler.profile("whole"):
            step(profiler.profile)
            with torch.cuda.stream(other):
                a @ a
    run = finished(profiler, torch)
    rows = kernel_rows(run)
    launches = [int(run.spans.launch[row]) for row in rows]
    starts = run.spans.start_ns
    state = run.environment["device"]["kernels"]
    return {
        "kernels": len(rows),
        "without_launch": sum(launch < 0 for launch in launches),
        "without_scope": sum(launch >= 0 and scope_of(run, launch) < 0 for launch in launches),
        "before_launch": sum(
            launch >= 0 and int(starts[row]) < int(starts[launch]) for row, launch in zip(rows, launches, strict=True)
        ),
        "negative": sum(int(run.spans.duration_ns[row]) <= 0 for row in rows),
        "registers": sum(int(value) > 0 for value in run.tables.launches.registers),
        "occupied": sum(0 < float(value) <= 1 for value in run.tables.launches.occupancy),
        "configurations": len(run.tables.launches),
        "anomalies": anomalies(run),
        "state": state,
    }


def measure() -> dict[str, Any]:
    """Trace both loops, each in a process of its own."""
    return {loop: in_process("attribution", "traced", loop, limit_s=40) for loop in ("decode", "training")}


def judge(found: dict[str, Any]) -> list[Claim]:
    """No kernel without launch, none before its launch; those without a scope are counted as such."""
    claims = []
    for loop, row in found.items():
        lost = {code: count for code, count in row["anomalies"].items() if code in LOST}
        claims += [
            at_least(f"{loop}: kernels", row["kernels"], 5 * STEPS),
            equal(f"{loop}: kernels without their launch", row["without_launch"], 0),
            equal(f"{loop}: kernels without a scope", row["without_scope"], 0),
            equal(f"{loop}: kernels that begin before their launch", row["before_launch"], 0),
            equal(f"{loop}: kernels without a duration", row["negative"], 0),
            equal(f"{loop}: lost or wrong records", lost, {}),
            equal(f"{loop}: kernels with registers", row["registers"], row["configurations"]),
            equal(f"{loop}: kernels with an occupancy", row["occupied"], row["configurations"]),
            shown(f"{loop}: clock of the records", row["state"].get("clock")),
        ]
    return claims
