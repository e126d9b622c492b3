# SPDX-License-Identifier: Apache-2.0
"""A report of torch.compile for a terminal: what logs say, and what every report ends with."""

from typing import TYPE_CHECKING

from ..system.text import UNAVAILABLE, TextTable, count, duration, printable, render, shorten

if TYPE_CHECKING:
    from ..suite.compile_report import CompileBreak, CompiledFrame, CompileReport, Recompile

TOP = 10  # frames and phases; the page and --json have all
UNTOLD = ("graphs", "total_graph_breaks", "recompiles", "compile_time_ms")  # that are worth a line where they lack


def log_text(report: "CompileReport") -> str:
    """Return what logs say; of what they do not tell, why."""
    again = None if "recompiles" in report.unavailable else len(report.recompiles)
    told = _number(report.graphs, "graph"), _number(report.total_graph_breaks, "break"), _number(again, "recompile")
    lines = [f"{printable(report.source)}: {', '.join(told)}", f"  compiling {_times(report)}"]
    lines += [
        f"  cache {name}: {uses['hit']} hit, {uses['miss']} missed, {uses['bypass']} bypassed"
        for name, uses in report.caches.items()
    ]
    lines += [f"  {name}: {report.unavailable[name]}" for name in UNTOLD if name in report.unavailable]
    tables = [table for table in (_frames(report), _phases(report), _processes(report)) if table.rows]
    lines += [line for table in tables for line in ("", render(table))]
    return "\n".join(lines + advice(report))


def advice(report: "CompileReport") -> list[str]:
    """Return the lines of breaks, recompiles and what to try."""
    lines = ["", "Breaks"] if report.graph_breaks else []
    for one in report.graph_breaks:
        lines += [f"  {_place(one)}: {printable(one.reason)}", f"    {printable(one.suggestion)}"]
    if report.recompiles:
        lines += ["", "Compiled again"]
        lines += [f"  {_place(one)}: {printable(one.guard)}" for one in report.recompiles]
    if report.recommendations:
        lines += ["", "What to try", *(f"  {printable(line)}" for line in report.recommendations)]
    return lines


def _times(report: "CompileReport") -> str:
    if "compile_time_ms" in report.unavailable:
        return UNAVAILABLE
    phases = ", ".join(f"{name.replace('_', ' ')} {duration(ms)}" for name, ms in report.phases_ms.items())
    slowest = f", in the slowest of {len(report.processes)} processes" if len(report.processes) > 1 else ""
    return f"{duration(report.compile_time_ms)}{slowest}: {phases}"


def _frames(report: "CompileReport") -> TextTable:
    timed = sorted((one for one in report.frames if one.time_ms is not None), key=lambda one: -(one.time_ms or 0.0))
    rows = [
        [
            f"{shorten(printable(one.function))} {_place(one)}", one.compile_id, duration(one.time_ms),
            duration(one.backend_ms), duration(one.backward_ms), "" if one.operators is None else str(one.operators),
        ]
        for one in timed[:TOP]
    ]  # fmt: skip
    return TextTable("Slowest frames", ["frame", "compiled", "time", "backend", "backward", "operators"], rows)


def _phases(report: "CompileReport") -> TextTable:
    longest = sorted(report.events_ms.items(), key=lambda one: -one[1])[:TOP]
    rows = [[shorten(printable(name)), duration(ms)] for name, ms in longest]
    return TextTable("Longest phases, one within the other", ["phase", "time"], rows)


def _processes(report: "CompileReport") -> TextTable:
    """Return a row a process, where there are several or something was lost."""
    shown = report.processes if len(report.processes) > 1 or report.processes[0].lost else []
    rows = [
        [
            printable(one.file), str(one.pid or ""), "" if one.rank is None else str(one.rank),
            UNAVAILABLE if one.frames is None else str(one.frames), duration(one.compile_time_ms),
            f"{one.lost} ({printable(one.damage)})" if one.lost else "0",
        ]
        for one in shown
    ]  # fmt: skip
    return TextTable("Processes", ["file", "process", "rank", "frames", "time", "records lost"], rows)


def _number(value: int | None, noun: str) -> str:
    return f"{UNAVAILABLE} {noun}s" if value is None else count(value, noun)


def _place(one: "CompileBreak | CompiledFrame | Recompile") -> str:
    return printable(f"{one.location}:{one.line_number}")
