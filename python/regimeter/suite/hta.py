# SPDX-License-Identifier: Apache-2.0
"""Holistic trace analysis of one trace: where device time went, what stands out, and what to try.

analyzer = HTAAnalyzer()
report = analyzer.analyze_trace("trace.json")
analyzer.export_report(report, "hta_report.html")

Every figure comes from the analyses of ``regimeter.load(path)``; what cannot be known says why in
``report.unavailable`` and is nan, so that ``f"{report.gpu_idle_time_pct:.1f}%"`` prints "nan%". JSON has null for it.
"""

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from .. import _core
from ..analysis.result import Result
from ..analysis.verb import Column, Verb
from ..calibration.choice import device_names
from ..public.run import Run
from ..suggest import OptimizationSuggestion
from ..suggest.paragraphs import shown
from ..system.files import atomic_writer
from ..system.text import shorten
from ..system.torch_extra import torch_for, wait_for_devices
from .imported import run_of_profiler, run_of_trace

TOP_KERNELS = 20
NAME_WIDTH = 100  # of a kernel within a sentence
US = 1e-3  # per nanosecond
FORMAT, VERSION = "regimeter.hta", 1
NO_DEVICE_WORK = "no device work is in the trace"
NOT_ASKED = "the analysis it comes from was not among analysis_types"
_WHOLE_SPAN = ("compute_ns", "exposed_comm_ns", "exposed_mem_ns", "idle_ns")


@dataclass(slots=True)
class HTAReport:
    """What the analysis of a trace found. A figure is nan where `unavailable` says why; one of a dictionary, None.

    gpu_idle_time_pct, compute_time_pct, communication_time_pct, memory_time_pct: shares of the devices' spans, from
    first work to last, summed over devices. They add up to 100: compute is time with a compute kernel, communication
    time with communication and no compute, memory time with nothing but copies and sets.
    top_kernels: by time, {name, time_us, count, avg_us, min_us, max_us, pct}; pct is of all kernel time.
    kernel_launch_stats: kernels, launches, their mean durations and queue delays.
    comm_breakdown: communication in all, hidden by compute, exposed; collective_ops: the same by collective.
    memory_bandwidth_gbps: bytes copied by the time of the copies, in 10**9 bytes per second; a set is no copy.
    memory_efficiency_pct: bytes read and written by copies within a device, by their time, of the peak bandwidth that
    the datasheet of that device states.
    raw_analysis: the rows of the analyses by name. result: what the function of profile_and_analyze returned.
    run: what was analysed, of which the page is made.
    """

    gpu_idle_time_pct: float = math.nan
    compute_time_pct: float = math.nan
    communication_time_pct: float = math.nan
    memory_time_pct: float = math.nan
    top_kernels: list[dict[str, Any]] = field(default_factory=list)
    recommendations: list[str] = field(default_factory=list)
    bottlenecks: list[str] = field(default_factory=list)
    kernel_launch_stats: dict[str, Any] = field(default_factory=dict)
    comm_breakdown: dict[str, Any] = field(default_factory=dict)
    collective_ops: list[dict[str, Any]] = field(default_factory=list)
    memory_bandwidth_gbps: float = math.nan
    memory_efficiency_pct: float = math.nan
    raw_analysis: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    anomalies: list[dict[str, Any]] = field(default_factory=list)
    trace_path: str = ""
    result: Any = field(default=None, repr=False, compare=False)
    run: Run | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields but `result` and `run`, ready for JSON: null stands for a figure that is not there."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("result", "run")}
        found |= {name: None for name in FIGURES if math.isnan(found[name])}
        plain: dict[str, Any] = json.loads(json.dumps(found, default=str))
        return {"format": FORMAT, "version": VERSION} | plain


FIGURES = tuple(f.name for f in fields(HTAReport) if f.default is math.nan)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the rules look at."""

    idle_share: float | None
    communication_share: float | None
    kernels: int
    mean_kernel_us: float | None
    top_kernel: str
    top_kernel_share: float | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One finding: when it holds and what it is, filled with the evidence. What to try is what the suggestions say."""

    name: str
    thresholds: tuple[str, ...]
    holds: Callable[[Evidence, Mapping[str, float]], bool]
    bottleneck: str


def _over(value: float | None, limit: float) -> bool:
    return value is not None and value > limit


RULES = (
    Rule(
        "idle",
        ("hta_idle_share",),
        lambda e, limit: _over(e.idle_share, limit["hta_idle_share"]),
        "the devices are idle {idle_share:.1%} of the time (over {hta_idle_share:.0%})",
    ),
    Rule(
        "communication",
        ("hta_communication_share",),
        lambda e, limit: _over(e.communication_share, limit["hta_communication_share"]),
        "communication that compute does not hide takes {communication_share:.1%} (over {hta_communication_share:.0%})",
    ),
    Rule(
        "short kernels",
        ("hta_kernels", "hta_short_kernel_us"),
        lambda e, limit: (
            e.kernels > limit["hta_kernels"]
            and e.mean_kernel_us is not None
            and e.mean_kernel_us < limit["hta_short_kernel_us"]
        ),
        "{kernels:,} kernels of {mean_kernel_us:.1f} µs on average (over {hta_kernels:,.0f} of less than"
        " {hta_short_kernel_us:g} µs)",
    ),
    Rule(
        "one kernel",
        ("hta_top_kernel_share",),
        lambda e, limit: _over(e.top_kernel_share, limit["hta_top_kernel_share"]),
        "{top_kernel} takes {top_kernel_share:.1%} of the kernel time (over {hta_top_kernel_share:.0%})",
    ),
)


class HTAAnalyzer:
    """Analyses traces of torch.profiler and others.

    output_dir: where profile_and_analyze keeps its traces; made when first needed. hta_path is accepted for
    compatibility: the HTA package is not used. thresholds: of the rules and analyses, by name (docs/schema.md);
    ValueError for one that there is not.
    """

    def __init__(
        self,
        output_dir: str | os.PathLike[str] = "artifacts/runs/analysis/hta",
        hta_path: str | os.PathLike[str] | None = None,
        *,
        thresholds: Mapping[str, float] | None = None,
    ) -> None:
        self.output_dir = Path(output_dir)
        self.hta_path = hta_path
        self.thresholds = dict(thresholds or {})
        if unknown := [name for name in self.thresholds if name not in _core.policy()]:
            near = get_close_matches(unknown[0], _core.policy(), 3, 0.5)
            hint = f"; similar: {', '.join(near)}" if near else ""
            raise ValueError(f"no threshold is called {unknown[0]!r}{hint} (docs/schema.md has them all)")

    def analyze_trace(
        self, path: "str | os.PathLike[str] | Run", analysis_types: Iterable[str] | None = None
    ) -> HTAReport:
        """Return the report of a trace file, or of a directory of the ranks of one job. Of a file, only it is read.

        analysis_types: of ANALYSIS_TYPES; None for all. ValueError for an unknown one, FormatError and OSError as
        from ``regimeter.load``.
        """
        chosen = tuple(_PARTS) if analysis_types is None else tuple(analysis_types)
        unknown = [name for name in chosen if name not in ANALYSIS_TYPES]
        if unknown:
            raise ValueError(f"unknown analysis type {unknown[0]!r}; valid are: {', '.join(ANALYSIS_TYPES)}")
        name = "" if isinstance(path, Run) else os.fsdecode(os.fspath(path))
        return self._report(run_of_trace(path), name, tuple(dict.fromkeys(ANALYSIS_TYPES[part] for part in chosen)))

    def from_chrome_trace(self, path: str | os.PathLike[str]) -> HTAReport:
        """Return the report of a trace file."""
        return self.analyze_trace(path)

    def from_profiler(self, profiler: Any) -> HTAReport:
        """Return the report of a stopped ``torch.profiler.profile``, from what it exports.

        TypeError for another object, UnavailableError when torch has no trace to export.
        """
        return self._report(run_of_profiler(profiler), "", tuple(_PARTS))

    def profile_and_analyze(
        self,
        fn: Callable[..., Any],
        *args: Any,
        name: str = "profile",
        warmup: int = 0,
        iterations: int = 1,
        **kwargs: Any,
    ) -> HTAReport:
        """Call `fn` `warmup` times unprofiled and `iterations` times under torch.profiler; return the report.

        The trace is kept in output_dir, its path is in the report, and `result` is what the last call returned.
        UnavailableError without torch.
        """
        if warmup < 0 or iterations < 1:
            raise ValueError(f"warmup must be at least 0 and iterations at least 1, got {warmup} and {iterations}")
        torch = torch_for("profiling")
        for _ in range(warmup):
            fn(*args, **kwargs)
        wait_for_devices(torch)
        with torch.profiler.profile(activities=torch.profiler.supported_activities()) as profiler:
            for _ in range(iterations):
                result = fn(*args, **kwargs)
            wait_for_devices(torch)
        self.output_dir.mkdir(parents=True, exist_ok=True)
        path = self.output_dir / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{time.monotonic_ns()}.json"
        profiler.export_chrome_trace(os.fspath(path))
        report = self.analyze_trace(path)
        report.result = result
        return report

    def export_report(self, report: HTAReport, path: str | os.PathLike[str], format: str = "html") -> Path:
        """Write the report as "html" (the trace's page with what the rules found, no network) or "json", atomically;
        return the path.

        ValueError for another format, and for a page of a report that was not made by an analysis.
        """
        if format == "json":
            text = json.dumps(report.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        elif format == "html":
            # 50 ms, which a report on the terminal does without.
            from ..report.html import render_html
            from ..report.trace_data import trace_data

            if report.run is None:
                raise ValueError("the report holds no run to make a page of; analyze_trace makes one that does")
            text = render_html(trace_data(report.run, file=report.trace_path) | {"findings": report.bottlenecks})
        else:
            raise ValueError(f"unknown format {format!r}; valid are: html, json")
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_writer(target) as file:
            file.write(text)
        return target

    # --- the parts --------------------------------------------------------------------------------------------------

    def _report(self, run: Run, name: str, parts: tuple[str, ...]) -> HTAReport:
        report = HTAReport(trace_path=name, anomalies=run.anomaly_list(), run=run)
        raw = _Raw(run, {key: value for key, value in self.thresholds.items() if not key.startswith("hta_")})
        for part in parts:
            _PARTS[part](report, raw)
        report.raw_analysis = raw.found
        for figure in FIGURES:
            if math.isnan(getattr(report, figure)):
                report.unavailable.setdefault(figure, NOT_ASKED)
        self._judge(report, raw)
        return report

    def _judge(self, report: HTAReport, raw: "_Raw") -> None:
        """Apply the rules to what was analysed; what to try is what every other view of the trace says."""
        limits = {name: float(row["default"]) for name, row in _core.policy().items()} | self.thresholds
        evidence = _evidence(report)
        for rule in RULES:
            if rule.holds(evidence, limits):
                words = asdict(evidence) | {name: limits[name] for name in rule.thresholds}
                report.bottlenecks.append(rule.bottleneck.format(**words))
        if raw.run.has_start_times:
            report.recommendations += [
                _recommended(one) for one in raw.run.suggestions(shown(raw.thresholds), policy=raw.thresholds)
            ]


def _recommended(one: OptimizationSuggestion) -> str:
    return f"{one.description}. {one.implementation_hint} ({one.expected_improvement})"


# Columns of the analyses that hold codes.
_CODES = (
    Column("activity", "", "code:ACTIVITIES"),
    Column("type", "", "code:KERNEL_TYPES"),
    Column("collective", "", "code:COLLECTIVES"),
    Column("direction", "", "code:COPY_DIRECTIONS"),
)


class _Raw:
    """Rows of analyses, each computed once."""

    def __init__(self, run: Run, thresholds: Mapping[str, float]) -> None:
        self.run = run
        self.thresholds = thresholds
        self.found: dict[str, list[dict[str, Any]]] = {}

    def rows(self, analysis: str) -> list[dict[str, Any]]:
        """Return the rows of an analysis."""
        if analysis not in self.found:
            table = self.run.analyse(analysis, thresholds=self.thresholds)
            self.found[analysis] = list(Result(Verb(analysis, analysis, "", _CODES), table, self.run))
        return self.found[analysis]


def _evidence(report: HTAReport) -> Evidence:
    idle, communication = report.gpu_idle_time_pct, report.communication_time_pct
    top = report.top_kernels[0] if report.top_kernels else None
    return Evidence(
        None if math.isnan(idle) else idle / 100,
        None if math.isnan(communication) else communication / 100,
        report.kernel_launch_stats.get("kernel_count", 0),
        report.kernel_launch_stats.get("avg_kernel_us"),
        shorten(top["name"], NAME_WIDTH) if top else "",
        top["pct"] / 100 if top and top["pct"] is not None else None,
    )


def _breakdown(report: HTAReport, raw: _Raw) -> None:
    rows = raw.rows("breakdown")
    span = sum(row["span_ns"] for row in rows)
    names = ("compute_time_pct", "communication_time_pct", "memory_time_pct", "gpu_idle_time_pct")
    for name, part in zip(names, _WHOLE_SPAN, strict=True):
        if span:
            setattr(report, name, 100 * sum(row[part] for row in rows) / span)
        else:
            report.unavailable[name] = NO_DEVICE_WORK
    total, hidden, exposed = (
        sum(row[name] for row in rows) for name in ("comm_ns", "comm_overlapped_by_compute_ns", "exposed_comm_ns")
    )
    report.comm_breakdown = {
        "total_us": total * US,
        "overlapped_us": hidden * US,
        "exposed_us": exposed * US,
        "overlap_pct": 100 * hidden / total if total else None,
        "kernels": sum(row["n_comm"] for row in rows),
    }


def _kernels(report: HTAReport, raw: _Raw) -> None:
    rows = [
        row for row in raw.rows("kernel_times") if not row["others"] and row["activity"] in ("compute", "communication")
    ]
    total = sum(row["total_ns"] for row in rows)
    count = sum(row["count"] for row in rows)
    report.top_kernels = [
        {
            "name": row["name"],
            "time_us": row["total_ns"] * US,
            "count": row["count"],
            "avg_us": row["mean_ns"] * US,
            "min_us": row["min_ns"] * US,
            "max_us": row["max_ns"] * US,
            "pct": 100 * row["total_ns"] / total if total else None,
        }
        for row in rows[:TOP_KERNELS]
    ]
    report.kernel_launch_stats |= {
        "kernel_count": count,
        "total_kernel_us": total * US,
        "avg_kernel_us": total * US / count if count else None,
    }


def _launches(report: HTAReport, raw: _Raw) -> None:
    rows = raw.rows("launch_times")
    calls = sum(row["calls"] for row in rows)
    host = sum(row["host_total_ns"] for row in rows)
    delays = sum(row["delay_mean_ns"] * row["calls"] for row in rows if row["delay_mean_ns"] is not None)
    report.kernel_launch_stats |= {
        "launch_count": calls,
        "avg_launch_us": host * US / calls if calls else None,
        "avg_queue_delay_us": delays * US / calls if calls else None,
        "short_kernels": sum(row["short_work"] for row in rows),
        "launch_bound": sum(row["launch_bound_calls"] for row in rows),
    }


def _collectives(report: HTAReport, raw: _Raw) -> None:
    report.collective_ops = [
        {
            "name": row["collective"],
            "count": row["count"],
            "total_us": row["total_ns"] * US,
            "avg_us": row["mean_ns"] * US,
            "bus_bandwidth_gbps": _giga(row["bus_bandwidth"]),
            "algorithm_bandwidth_gbps": _giga(row["algorithm_bandwidth"]),
        }
        for row in raw.rows("collective_times")
    ]


def _memory(report: HTAReport, raw: _Raw) -> None:
    rows = [row for row in raw.rows("copy_times") if row["bytes"] > 0 and row["direction"] != "set"]
    moved, spent = sum(row["bytes"] for row in rows), sum(row["union_ns"] for row in rows)
    if spent:
        report.memory_bandwidth_gbps = moved / spent
    else:
        report.unavailable["memory_bandwidth_gbps"] = "no copy with a recorded size is in the trace"
    within = [row for row in rows if row["direction"] == "device_to_device" and row["union_ns"] > 0]
    devices = device_names(raw.run)
    sheet = _core.datasheets().get(devices[0]) if len(devices) == 1 else None
    if not within:
        why = "no copy within a device is in the trace; others are bound by the link, not by the memory"
    elif sheet is None:
        why = f"no datasheet here states the peak bandwidth of {', '.join(devices) or 'a device without a name'}"
    else:  # each byte is read and written
        rate = 2e9 * sum(row["bytes"] for row in within) / sum(row["union_ns"] for row in within)
        report.memory_efficiency_pct = 100 * rate / sheet["bytes_per_s"]
        return
    report.unavailable["memory_efficiency_pct"] = why


def _giga(value: float | None) -> float | None:
    return None if value is None else value / 1e9


_PARTS: dict[str, Callable[[HTAReport, _Raw], None]] = {
    "breakdown": _breakdown,
    "kernels": _kernels,
    "launches": _launches,
    "collectives": _collectives,
    "memory": _memory,
}
# What analyze_trace takes: our names, and those of HTA's own functions.
ANALYSIS_TYPES = {name: name for name in _PARTS} | {
    "temporal_breakdown": "breakdown",
    "idle_time": "breakdown",
    "comm_comp_overlap": "breakdown",
    "kernel_breakdown": "kernels",
    "gpu_kernel_breakdown": "kernels",
    "cuda_kernel_launch_stats": "launches",
    "memory_bw": "memory",
}
