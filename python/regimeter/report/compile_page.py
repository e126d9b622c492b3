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
    title = f"torch.compile, {report.backend}, {report.mode}"
    body = "\n".join(
        (
            f"<h1>{escape(title)}</h1>",
            f"<p>Compiling failed: {escape(report.error)}</p>" if report.error else "",
            table("Figures", ("", "", ""), _figures(report)),
            lines("What to try", report.recommendations, "Nothing stands out."),
            table("Graph breaks", ("place", "reason", "hint", "times"), _breaks(report), "None."),
            table("Compiled again", ("place", "guard that failed"), _recompiles(report), "Nothing."),
            table("Kernels", ("kernel", "operators", "calls"), _kernels(report), "None is known."),
            lines("Logged", report.logs, "Nothing."),
        )
    )
    return page(title, body)


def _figures(report: "CompileReport") -> list[tuple[str, str, str]]:
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
        ("of the size", "max_rel_difference", _number(report.max_rel_difference, "{:.3g}")),
    ]
    return [
        (label, text, report.unavailable.get(name) or report.definitions.get(name, "")) for label, name, text in rows
    ]


def _breaks(report: "CompileReport") -> list[tuple[str, ...]]:
    return [
        (f"{one.location}:{one.line_number}", f"{one.code} {one.reason}".strip(), one.suggestion, str(one.count))
        for one in report.graph_breaks
    ]


def _recompiles(report: "CompileReport") -> list[tuple[str, ...]]:
    return [(f"{one.function} ({one.location}:{one.line_number})", one.guard) for one in report.recompiles]


def _kernels(report: "CompileReport") -> list[tuple[str, ...]]:
    return [(one.name, ", ".join(one.fused_ops), str(one.call_count)) for one in report.fused_kernels]


def _ms(value: float) -> str:
    return UNAVAILABLE if math.isnan(value) else duration(value)


def _times(value: float) -> str:
    return _number(value, "{:.2f} ×")


def _number(value: float, form: str) -> str:
    return UNAVAILABLE if math.isnan(value) else form.format(value)
