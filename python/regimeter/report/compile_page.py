# SPDX-License-Identifier: Apache-2.0
"""A report of torch.compile as one static page."""

import math
from html import escape
from typing import TYPE_CHECKING

from ..system.text import duration
from .static_page import UNAVAILABLE, lines, page, table

if TYPE_CHECKING:
    from ..suite.compile_report import CompileReport


def render_compile(report: "CompileReport") -> str:
    """Return the page."""
    what = report.source or f"{report.subject} ({report.backend}, {report.mode})"
    title = f"torch.compile: {what}"
    body = "\n".join(
        (
            f"<h1>{escape(title)}</h1>",
            f"<p>Compiling failed: {escape(report.error)}</p>" if report.error else "",
            table("Figures", ("", "", ""), _figures(report)),
            lines("What to try", report.recommendations, "Nothing stands out."),
            table(
                "Graph breaks",
                ("place", "reason", "hint", "times"),
                _breaks(report),
                _none(report, "total_graph_breaks", "None."),
            ),
            table(
                "Compiled again",
                ("place", "guard that failed"),
                _recompiles(report),
                _none(report, "recompiles", "Nothing."),
            ),
            table("Kernels", ("kernel", "operators", "calls"), _kernels(report), "None is known."),
            _of_log(report) if report.source else "",
            lines("Logged", report.logs, "Nothing."),
        )
    )
    return page(title, body)


def _figures(report: "CompileReport") -> list[tuple[str, str, str]]:
    if report.source:
        return _counted(report)
    interval = ""
    if not math.isnan(report.speedup_low):
        interval = f" ({report.speedup_low:.2f} to {report.speedup_high:.2f})"
    rows = [
        ("speed-up", "speedup", _times(report.speedup) + interval),
        ("eager call", "eager_time_ms", _ms(report.eager_time_ms)),
        ("compiled call", "compiled_time_ms", _ms(report.compiled_time_ms)),
        ("compiling, cold", "compile_time_ms", _ms(report.compile_time_ms)),
        ("compiling, warm", "compile_time_warm_ms", _ms(report.compile_time_warm_ms)),
        ("calls that pay for compiling", "break_even_calls", _number(report.break_even_calls, "{:,.0f}")),
        ("fusion ratio", "fusion_ratio", _times(report.fusion_ratio)),
        ("operators before fusion", "ops_before_fusion", str(report.ops_before_fusion or UNAVAILABLE)),
        ("calls after fusion", "ops_after_fusion", str(report.ops_after_fusion or UNAVAILABLE)),
        ("peak memory", "peak_memory_mb", _number(report.peak_memory_mb, "{:,.3f} MB")),
        ("memory saved", "memory_savings_mb", _number(report.memory_savings_mb, "{:,.3f} MB")),
        ("largest difference", "max_abs_difference", _number(report.max_abs_difference, "{:.3g}")),
        ("relative to the largest value", "max_rel_difference", _number(report.max_rel_difference, "{:.3g}")),
    ]
    return [
        (label, text, report.unavailable.get(name) or report.definitions.get(name, "")) for label, name, text in rows
    ]


def _counted(report: "CompileReport") -> list[tuple[str, str, str]]:
    """Return the figures of a log."""
    rows = [
        ("backend", "backend", report.backend or UNAVAILABLE),
        ("compiling, slowest process", "compile_time_ms", _ms(report.compile_time_ms)),
        *((f"of that, {name.replace('_', ' ')}", "", _ms(ms)) for name, ms in report.phases_ms.items()),
        ("graphs", "graphs", _count(report.graphs)),
        ("operators in them", "captured_ops", _count(report.captured_ops)),
        ("graph breaks", "total_graph_breaks", _count(report.total_graph_breaks)),
        (
            "recompiles",
            "recompiles",
            UNAVAILABLE if "recompiles" in report.unavailable else f"{len(report.recompiles)}",
        ),
        ("calls after fusion", "ops_after_fusion", _count(report.ops_after_fusion)),
    ]
    return [
        (label, text, report.unavailable.get(name) or report.definitions.get(name, "")) for label, name, text in rows
    ]


def _of_log(report: "CompileReport") -> str:
    """Return the sections that only a log fills."""
    frames = [
        (
            f"{one.function} ({one.location}:{one.line_number})", one.compile_id, str(one.process),
            _ms(one.time_ms), _ms(one.backend_ms), _ms(one.inductor_ms), _ms(one.backward_ms), _count(one.operators),
            one.error,
        )
        for one in sorted(report.frames, key=lambda one: -(one.time_ms or 0.0))
    ]  # fmt: skip
    phases = sorted(report.events_ms.items(), key=lambda one: -one[1])
    processes = [
        (
            one.file, str(at), _count(one.pid), _count(one.rank), one.torch_version, _count(one.frames),
            _count(one.graphs), _ms(one.compile_time_ms), f"{one.lost} {one.damage}".strip(),
        )
        for at, one in enumerate(report.processes)
    ]  # fmt: skip
    return "".join(
        (
            table(
                "Frames",
                ("frame", "compiled", "process", "time", "backend", "inductor", "backward", "operators", "error"),
                frames,
                _none(report, "frames", "None."),
            ),
            table(
                "Phases, one within the other",
                ("phase", "time"),
                ((name, _ms(ms)) for name, ms in phases),
                _none(report, "events_ms", "None."),
            ),
            table(
                "Caches",
                ("cache", "hit", "miss", "bypass"),
                ((name, *map(str, uses.values())) for name, uses in report.caches.items()),
                _none(report, "caches", "None."),
            ),
            table(
                "Processes",
                ("file", "process", "pid", "rank", "torch", "frames", "graphs", "time", "records lost"),
                processes,
            ),
        )
    )


def _none(report: "CompileReport", name: str, text: str) -> str:
    """Return what is said of a table without rows."""
    return report.unavailable.get(name, text)


def _breaks(report: "CompileReport") -> list[tuple[str, ...]]:
    return [
        (f"{one.location}:{one.line_number}", f"{one.code} {one.reason}".strip(), one.suggestion, str(one.count))
        for one in report.graph_breaks
    ]


def _recompiles(report: "CompileReport") -> list[tuple[str, ...]]:
    return [(f"{one.function} ({one.location}:{one.line_number})", one.guard) for one in report.recompiles]


def _kernels(report: "CompileReport") -> list[tuple[str, ...]]:
    return [(one.name, ", ".join(one.fused_ops), str(one.call_count)) for one in report.fused_kernels]


def _ms(value: float | None) -> str:
    return UNAVAILABLE if value is None or math.isnan(value) else duration(value)


def _count(value: int | None) -> str:
    return UNAVAILABLE if value is None else str(value)


def _times(value: float) -> str:
    return _number(value, "{:.2f} ×")


def _number(value: float, form: str) -> str:
    return UNAVAILABLE if math.isnan(value) else form.format(value)
