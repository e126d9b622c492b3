# SPDX-License-Identifier: Apache-2.0
"""Verdicts on more than a hundred operations of torch beside what hardware counters say limits them.

The verdicts come from times, formulas and ceilings; the truth from busy shares of memory and arithmetic that the device
counted, in another process, with the cut points of Nsight Compute. Neither knows of the other.
"""

import time
from collections import Counter
from typing import Any

from .claims import Claim, at_least, at_most, physical, shown
from .common import UnavailableHere, find_compiler_of_kernels, in_process, ready
from .operations import operations

LEAST = 100
REPEAT = 5
# A range lasts about so long, at most so many calls: counters of an operation are those of many like it.
RANGE_NS, MOST_CALLS = 20_000_000, 200
# Busy shares in percent: above HIGH a unit is the limit, below LOW of both neither is (Nsight Compute: 60; chosen: 20).
HIGH, LOW, APART = 60, 20, 10
ISSUE_WIDTH = 4  # instructions a cycle and multiprocessor, on every device since Volta
AGREE, SILENT = 90, 20  # per cent
LABELS = ("OVERHEAD_BOUND", "MEMORY_BOUND", "COMPUTE_BOUND")


def profiled() -> dict[str, Any]:
    """Return the verdict on each operation, or why there is none."""
    find_compiler_of_kernels()
    torch = ready()
    from regimeter import GPUProfiler

    profiler = GPUProfiler(enable_detailed_metrics=False)
    found: dict[str, Any] = {}
    for operation in operations():
        try:
            function, args = operation.make(torch)
            function(*args)
            _, told = profiler.profile_with_result(function, *args, repeat=REPEAT)
        except (RuntimeError, TypeError) as error:
            found[operation.name] = {"failed": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
            continue
        shares = ("flops_utilization", "bandwidth_utilization")
        names = ("regime", "detail", "confidence", "runtime_ms", *shares, "flops", "bytes")
        found[operation.name] = {name: told[name] for name in names}
        del function, args
    return found


def counted() -> dict[str, Any]:
    """Return the busy shares of each operation; {"reason": ...} where counters may not be read."""
    torch = ready()
    from regimeter import UnavailableError
    from regimeter.capture import counters

    try:
        measurement = counters.count("regime")
    except UnavailableError as error:
        return {"reason": str(error)}
    named = []
    with measurement:
        for operation in operations():
            try:
                function, args = operation.make(torch)
                calls = calls_of(function, args, torch)
            except (RuntimeError, TypeError):
                continue
            measurement.push(operation.name)
            for _ in range(calls):
                function(*args)
            torch.cuda.synchronize()
            measurement.pop()
            named.append(operation.name)
            del function, args
    result = measurement.result
    assert result is not None
    series = {role: result.series(role)[1].tolist() for role in result.roles}
    ranges = [row[0] for row in result.ranges]
    rows = {name: {role: values[at] for role, values in series.items()} for at, name in enumerate(ranges)}
    return {"rows": rows, "counts": result.counts, "asked": len(named)}


def calls_of(function: Any, args: Any, torch: Any) -> int:
    """Return how many calls fill a range."""
    function(*args)
    torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    function(*args)
    torch.cuda.synchronize()
    return max(1, min(MOST_CALLS, RANGE_NS // max(1, time.perf_counter_ns() - begin)))


def measure() -> dict[str, Any]:
    """Profile and count, each in a process of its own."""
    found: dict[str, Any] = {"profiled": in_process("regimes", "profiled", limit_s=70)}
    try:
        found["counted"] = in_process("regimes", "counted", limit_s=50)
    except (RuntimeError, UnavailableHere) as error:
        found["counted"] = {"reason": str(error)}
    return found


def truth_of(row: dict[str, float]) -> str:
    """Return what the counters of a range say, "" where they do not tell."""
    memory, tensor, ipc = (row.get(name) for name in ("dram_throughput", "tensor_active", "ipc"))
    if memory is None or (tensor is None and ipc is None):
        return ""
    compute = max(tensor or 0.0, 100 * (ipc or 0.0) / ISSUE_WIDTH)
    if max(memory, compute) < LOW:
        return "OVERHEAD_BOUND"
    if max(memory, compute) < HIGH or abs(memory - compute) < APART:
        return ""
    return "MEMORY_BOUND" if memory > compute else "COMPUTE_BOUND"


def compared(what: str, wanted: dict[str, str], verdicts: dict[str, str]) -> list[Claim]:
    """Return the claims about verdicts beside labels; those who abstain are counted apart from those who are wrong."""
    pairs = [(label, verdicts[name], name) for name, label in wanted.items() if label and name in verdicts]
    told = [pair for pair in pairs if pair[1] in LABELS]
    right = sum(label == verdict for label, verdict, _ in told)
    wrong = [f"{name}: {verdict}, not {label}" for label, verdict, name in told if label != verdict]
    return [
        shown(f"{what}: operations that it labels", len(pairs)),
        physical(at_least(f"{what}: verdicts that agree", 100 * right / len(told) if told else None, AGREE, "%")),
        physical(
            at_most(f"{what}: without a verdict", 100 - 100 * len(told) / len(pairs) if pairs else None, SILENT, "%")
        ),
        shown(f"{what}: confusion", {f"{a} -> {b}": n for (a, b), n in Counter(p[:2] for p in pairs).items()}),
        shown(f"{what}: wrong", wrong),
    ]


def judge(found: dict[str, Any]) -> list[Claim]:
    """At least 90 % of the verdicts agree with the counters, and at most a fifth of the clear cases get none."""
    rows, hardware = found["profiled"], found["counted"]
    verdicts = {name: row["regime"] for name, row in rows.items() if "regime" in row}
    failed = {name: row["failed"] for name, row in rows.items() if "failed" in row}
    claims = [at_least("operations with a profile", len(verdicts), LEAST), shown("operations that failed", failed)]
    if "reason" in hardware:
        claims.append(shown("hardware: not available", hardware["reason"], "a reason is an answer"))
    else:
        truth = {name: truth_of(row) for name, row in hardware["rows"].items()}
        claims.append(at_least("operations with counters", len(truth), LEAST))
        claims += compared("hardware", truth, verdicts)
        claims.append(shown("hardware: counts", hardware["counts"]))
    claims += compared("construction", {operation.name: operation.label for operation in operations()}, verdicts)
    return claims
