# SPDX-License-Identifier: Apache-2.0
"""An HTA report as one static page: no script, no network, every name escaped."""

import base64
import hashlib
import math
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from .text import amount, duration

if TYPE_CHECKING:
    from ..hta import HTAReport

STYLE = """
:root { color-scheme: light dark; --line: #8884; --compute: #2a78d6; --communication: #d9822b; --memory: #7a5bc2;
 --idle: #9aa0a6; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: right; padding: .25rem .5rem;
 border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; vertical-align: top; }
th, td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 12rem; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .5em; }
.scroll { overflow-x: auto; }
svg { width: 100%; height: 2rem; display: block; }
.compute { fill: var(--compute); } .communication { fill: var(--communication); } .memory { fill: var(--memory); }
.idle { fill: var(--idle); }
.key.compute { background: var(--compute); } .key.communication { background: var(--communication); }
.key.memory { background: var(--memory); } .key.idle { background: var(--idle); } .note { opacity: .75; }
@media print { body { max-width: none; margin: 0; } }
"""
PARTS = (
    ("compute", "compute_time_pct", "compute"),
    ("communication", "communication_time_pct", "exposed communication"),
    ("memory", "memory_time_pct", "exposed memory"),
    ("idle", "gpu_idle_time_pct", "idle"),
)
UNAVAILABLE = "unavailable"


def render_hta(report: "HTAReport") -> str:
    """Return the page."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = f"{report.trace_path or 'trace'} - holistic trace analysis"
    body = "\n".join(
        (
            f"<h1>{escape(title)}</h1>",
            _time(report),
            _list("Bottlenecks", report.bottlenecks, "No rule of the analysis found any."),
            _list("What to try", report.recommendations, "Nothing stands out."),
            _kernels(report),
            _facts("Launches", report.kernel_launch_stats),
            _facts("Communication", report.comm_breakdown),
            _collectives(report),
            _memory(report),
            _list("Anomalies", [f"{a['count']:,} {a['code']}: {a['detail']}" for a in report.anomalies], "None."),
        )
    )
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
    return text.encode("utf-8", "replace").decode("utf-8")


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


def _list(title: str, lines: Iterable[str], nothing: str) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h2>{title}</h2>" + (f"<ul>{items}</ul>" if items else f'<p class="note">{nothing}</p>')


def _table(title: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    if not lines:
        return f'<h2>{title}</h2><p class="note">None in the trace.</p>'
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<h2>{title}</h2><div class="scroll">{table}</div>'


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
    return _table("Kernels with most time", ("kernel", "time", "count", "mean", "of kernel time"), rows)


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
    return _table("Collectives", ("collective", "count", "time", "mean", "algorithm bandwidth", "bus bandwidth"), rows)


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
    return _table(title, ("", ""), ((label, shown(name, facts[name])) for label, name in labels))


def _memory(report: "HTAReport") -> str:
    rows = [("bandwidth of copies", _rate(report.memory_bandwidth_gbps))]
    efficiency = report.memory_efficiency_pct
    rows.append(("of the peak", UNAVAILABLE if math.isnan(efficiency) else f"{efficiency:.1f} %"))
    notes = [reason for name, reason in report.unavailable.items() if name.startswith("memory_") and reason]
    return _table("Memory", ("", ""), rows) + "".join(
        f'<p class="note">{escape(note)}</p>' for note in dict.fromkeys(notes)
    )
