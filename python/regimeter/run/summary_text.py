# SPDX-License-Identifier: Apache-2.0
"""A run for a terminal: its operations, its bottlenecks, and what a reader must know beside the figures."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from ..system.text import TextTable, amount, count, duration, percent, print_table, printable, say, shorten
from .cost import OWN_COST, WORDS
from .environment import drawn_bytes
from .records import ProfileSummary
from .witness import witness_line

if TYPE_CHECKING:
    from ..public.run import Run

# What a budget governs (csrc/capture/governor.h) -> what a reader is told that it is.
GOVERNED = {
    "stacks": "stacks",
    "machine": "what else ran",
    "resident": "the resident set",
    "scope_memory": "memory of scopes",
}
UNUSED = ("waiting", "unused")  # phases of a wait for a use of CUDA that did not come
UPPER_BOUND = "upper bound: time between two events in the stream of the scope"
OF_WORK = "time of the recorded device work that the scope launched"


def summary_table(summaries: Sequence[ProfileSummary], top_n: int) -> TextTable:
    """Return the statistics of the first `top_n` operations."""
    if top_n < 0:
        raise ValueError(f"top_n must not be negative, got {top_n}")
    timed = any(s.gpu_calls for s in summaries)
    header = (
        "operation",
        "device",
        "backend",
        "calls",
        "total",
        "exclusive",
        "share",
        "mean",
        "median",
        "p95",
        "min",
        "max",
        "std dev",
        *(("device time",) if timed else ()),
    )
    rows = [
        (
            shorten(s.operation),
            s.device,
            s.backend,
            f"{s.call_count:,}",
            duration(s.total_time_ms),
            duration(s.exclusive_time_ms),
            percent(s.share),
            duration(s.avg_time_ms),
            duration(s.median_ms),
            duration(s.p95_ms),
            duration(s.min_time_ms),
            duration(s.max_time_ms),
            duration(s.std_dev_ms),
            *((duration(s.total_gpu_time_ms),) if timed else ()),
        )
        for s in summaries[:top_n]
    ]
    hidden = len(summaries) - len(rows)
    nested = all(s.exclusive_time_ms is not None for s in summaries)
    title = "Operations by exclusive time" if nested else "Operations by total time"
    return TextTable(f"{title} ({len(rows)} of {len(summaries)})" if hidden > 0 else title, header, rows)


def cost_line(run: "Run") -> str:
    """Return the profiler's own cost in one sentence."""
    cost = run.cost
    if cost is None:
        return "Cost of profiling: not stated in this file."
    parts = dict(cost["parts_ns"])
    starting = parts.pop("starting", 0.0)
    named = {words: parts[name] for name, words in WORDS.items() if name in parts}
    named |= {"device events": cost["device_ns"], "its own threads": cost["service_cpu_ns"]}
    beside = "".join(f", {words} {duration(ns / 1e6)}" for words, ns in named.items() if ns)
    inside = cost["total_ns"] - starting
    before = f"; starting took {duration(starting / 1e6)} before it" if starting else ""
    return (
        f"Cost of profiling: {count(cost['scopes'], 'scope')} at {cost['per_scope_ns']:.0f} ns{beside}: "
        f"{'about' if run.complete or run.source == 'live' else 'at least'} {duration(inside / 1e6)}"
        f"{_of_the_run(cost['share'])}{before} ({cost['basis']}).{_watching(run)}"
    )


def budget_line(run: "Run") -> str | None:
    """Return what the budget of the own cost made of the recording, None where there was none."""
    budget = run.environment.get("budget")
    if not isinstance(budget, Mapping) or not isinstance(budget.get("share"), float):
        return None
    counters = run.tables.counters
    names = [run.strings[int(at)] for at in counters.series]
    changes = sum(name.startswith("budget/") and name.endswith("_one_in") for name in names)
    spent = [value for name, value in zip(names, counters.value, strict=True) if name == OWN_COST]
    over = sum(value > budget["share"] for value in spent)
    held = f"{over} of {len(spent)} seconds cost more" if spent else "no second of it was over"
    one_in = budget.get("one_in")
    rare = [
        f"{words} one in {one_in[name]}"
        for name, words in GOVERNED.items()
        if isinstance(one_in, Mapping) and isinstance(one_in.get(name), int) and one_in[name] > 1
    ]
    taken = f"; at the end {', '.join(rare)}" if rare else ""
    return f"Budget of that cost: {percent(budget['share'], 2)}; {held}; rates changed {changes} times{taken}."


def _watching(run: "Run") -> str:
    """Say what is not in the figure: what stands before malloc, and CUPTI within launches, cannot time themselves."""
    told = []
    if drawn_bytes(run.environment) is not None:
        told.append("what each allocation takes longer")
    device = run.environment.get("device")
    kernels = device.get("kernels") if isinstance(device, Mapping) else None
    calls = kernels.get("calls") if isinstance(kernels, Mapping) else None
    if isinstance(calls, int) and calls > 0:
        told.append(f"what recording kernels adds to each of {count(calls, 'call')} of CUDA")
    text = " and ".join(told)
    return f" {text[0].upper()}{text[1:]} is not in it." if text else ""


def _of_the_run(share: float | None) -> str:
    """Say what part of the run its cost was; a share of nearly nothing is no per cent."""
    if share is None:
        return ""
    return f" = {percent(share, 2)} of the run" if share < 1.0 else ", more than what was recorded lasted"


def notes(run: "Run", summaries: Sequence[ProfileSummary]) -> list[str]:
    """Return what a reader must know beside the figures."""
    budget = budget_line(run)
    lines = [cost_line(run), *([budget] if budget else []), witness_line(run), *kernels_lines(run)]
    missing = {
        s.unavailable.get("total_gpu_time_ms") for s in summaries if s.device != "cpu" and s.total_gpu_time_ms is None
    }
    if any(s.gpu_calls for s in summaries):
        lines.append(f"Device time: {_basis(run)}.")
    lines += [f"Device time: unavailable: {reason}." for reason in sorted(filter(None, missing))]
    return lines + anomaly_lines(run.anomaly_list())


def _basis(run: "Run") -> str:
    """Say what device times of scopes are; those that a file states count as the former's."""
    events, timed = (sum(run.summary.column(name).tolist()) for name in ("event_count", "device_count"))
    if events < timed:
        return OF_WORK if not events else f"{UPPER_BOUND}; of scopes without events the {OF_WORK}"
    return UPPER_BOUND


def kernels_lines(run: "Run") -> list[str]:
    """Return which kernels are missing from a recording that was to have those of the program by itself, and why."""
    device = run.environment.get("device")
    awaited = device.get("kernels_awaited") if isinstance(device, Mapping) else None
    if not isinstance(device, Mapping) or not isinstance(awaited, Mapping) or awaited.get("phase") in UNUSED:
        return []
    told = [device.get("kernels_reason"), device.get("kernels_late")]
    return [f"Kernels: {printable(text)}." for text in told if text and isinstance(text, str)]


def anomaly_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each thing that was repaired, dropped or doubted; rows: of `Run.anomaly_list`."""
    return [f"Note: {row['count']:,} {row['code']}: {printable(row['detail'])}." for row in rows]


def bottleneck_lines(run: "Run", top_n: int) -> list[str]:
    """Return one paragraph per bottleneck."""
    lines = []
    basis = _basis(run)
    for place, s in enumerate(run.get_bottlenecks(top_n), 1):
        time = f"{duration(s.exclusive_time_ms)} exclusive"
        if s.exclusive_time_ms is None:
            time = f"{duration(s.total_time_ms)} in total"
        lines.append(f"[{place}] {printable(s.operation)}: {time}, {percent(s.share)} of the recorded time")
        spread = f", varies by {percent(s.cv, 0)}" if s.cv is not None and s.call_count > 1 else ""
        calls = count(s.call_count, "call")
        lines.append(
            f"    {calls} on {s.device} ({s.backend}), {duration(s.avg_time_ms)} each"
            f" (median {duration(s.median_ms)}, p95 {duration(s.p95_ms)}{spread})"
        )
        if s.total_gpu_time_ms is not None:
            lines.append(f"    device time {duration(s.total_gpu_time_ms)} in {s.gpu_calls:,} calls ({basis})")
        if s.peak_memory_mb is not None:
            lines.append(f"    memory peak {amount(s.peak_memory_mb * 1e6)}")
        if s.failed_count:
            lines.append(f"    {count(s.failed_count, 'call')} ended with an exception")
    return lines


def print_summary(run: "Run", top_n: int = 10, file: TextIO | None = None) -> None:
    """Print the operations and what a reader must know beside the figures."""
    summaries = list(run.get_summary().values())
    table = summary_table(summaries, top_n)
    if summaries:
        print_table(table, file)
        say(file, "")
    else:
        say(file, "No scope has been recorded.")
    say(file, *notes(run, summaries), wrapped=True)


def print_bottlenecks(run: "Run", top_n: int = 5, file: TextIO | None = None) -> None:
    """Print the operations with the most exclusive time."""
    lines = bottleneck_lines(run, top_n)
    say(file, "Bottlenecks" if lines else "No scope has been recorded.")
    say(file, *lines, wrapped=True)
