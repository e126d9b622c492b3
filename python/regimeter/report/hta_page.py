# SPDX-License-Identifier: Apache-2.0
"""An HTA report as one static page: no script, no network, every name escaped."""

import math
from html import escape
from typing import TYPE_CHECKING, Any

from ..system.text import amount, duration
from .static_page import UNAVAILABLE, lines, page, table

if TYPE_CHECKING:
    from ..suite.hta import HTAReport

PARTS = (
    ("compute", "compute_time_pct", "compute"),
    ("communication", "communication_time_pct", "exposed communication"),
    ("memory", "memory_time_pct", "exposed memory"),
    ("idle", "gpu_idle_time_pct", "idle"),
)


def render_hta(report: "HTAReport") -> str:
    """Return the page."""
    title = f"{report.trace_path or 'trace'} - holistic trace analysis"
    body = "\n".join(
        (
            f"<h1>{escape(title)}</h1>",
            _time(report),
            lines("Bottlenecks", report.bottlenecks, "No rule of the analysis found any."),
            lines("What to try", report.recommendations, "Nothing stands out."),
            _kernels(report),
            _facts("Launches", report.kernel_launch_stats),
            _facts("Communication", report.comm_breakdown),
            _collectives(report),
            _memory(report),
            lines("Anomalies", [f"{a['count']:,} {a['code']}: {a['detail']}" for a in report.anomalies], "None."),
        )
    )
    return page(title, body)


def _time(report: "HTAReport") -> str:
    shares = [(kind, label, getattr(report, name)) for kind, name, label in PARTS]
    if any(math.isnan(share) for _, _, share in shares):
        reason = report.unavailable.get("gpu_idle_time_pct", "not analysed")
        return f"<h2>Device time</h2><p>{UNAVAILABLE}: {escape(reason)}</p>"
    bars, at = [], 0.0
    for kind, label, share in shares:
        bars.append(
            f'<rect class="{kind}" x="{at:.4f}" y="0" width="{share:.4f}" height="10">'
            f"<title>{label} {share:.2f} %</title></rect>"
        )
        at += share
    rows = "".join(
        f'<tr><td><span class="key {kind}"></span>{label}</td><td>{share:.2f} %</td></tr>'
        for kind, label, share in shares
    )
    label = ", ".join(f"{label} {share:.1f} per cent" for _, label, share in shares)
    return (
        "<h2>Device time</h2>"
        f'<svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{label}">{"".join(bars)}</svg>'
        f'<div class="scroll"><table><tbody>{rows}</tbody></table></div>'
    )


def _us(value: float | None) -> str:
    return UNAVAILABLE if value is None else duration(value / 1e3)


def _kernels(report: "HTAReport") -> str:
    rows = (
        (
            row["name"],
            _us(row["time_us"]),
            f"{row['count']:,}",
            _us(row["avg_us"]),
            UNAVAILABLE if row["pct"] is None else f"{row['pct']:.1f} %",
        )
        for row in report.top_kernels
    )
    return table("Kernels with most time", ("kernel", "time", "count", "mean", "of kernel time"), rows)


def _collectives(report: "HTAReport") -> str:
    rows = (
        (
            str(row["name"]),
            f"{row['count']:,}",
            _us(row["total_us"]),
            _us(row["avg_us"]),
            _rate(row["algorithm_bandwidth_gbps"]),
            _rate(row["bus_bandwidth_gbps"]),
        )
        for row in report.collective_ops
    )
    return table("Collectives", ("collective", "count", "time", "mean", "algorithm bandwidth", "bus bandwidth"), rows)


def _rate(value: float | None) -> str:
    return UNAVAILABLE if value is None or math.isnan(value) else f"{amount(value * 1e9)}/s"


def _facts(title: str, facts: dict[str, Any]) -> str:
    def shown(name: str, value: Any) -> str:
        if value is None:
            return UNAVAILABLE
        if name.endswith("_us"):
            return _us(value)
        return f"{value:.1f} %" if name.endswith("_pct") else f"{value:,}"

    labels = ((name.removesuffix("_us").removesuffix("_pct").replace("_", " "), name) for name in facts)
    return table(title, ("", ""), ((label, shown(name, facts[name])) for label, name in labels))


def _memory(report: "HTAReport") -> str:
    rows = [("bandwidth of copies", _rate(report.memory_bandwidth_gbps))]
    efficiency = report.memory_efficiency_pct
    rows.append(("of the peak", UNAVAILABLE if math.isnan(efficiency) else f"{efficiency:.1f} %"))
    notes = [reason for name, reason in report.unavailable.items() if name.startswith("memory_") and reason]
    return table("Memory", ("", ""), rows) + "".join(
        f'<p class="note">{escape(note)}</p>' for note in dict.fromkeys(notes)
    )
