# SPDX-License-Identifier: Apache-2.0
"""Runs of workloads as text, Markdown or one static page; every figure is taken as it is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from ..system.text import UNAVAILABLE, TextTable, percent, printable
from ..system.text import render as render_text
from ..workloads.steady import ABOUT
from .static_page import lines, page, table
from .trend_picture import STYLE as PICTURE_STYLE
from .trend_picture import trend_picture

if TYPE_CHECKING:
    from ..workloads.budgets import BudgetResult, Budgets
    from ..workloads.statistics import KernelStats, Times
    from ..workloads.suite import WorkloadReport
    from ..workloads.sweep import Sweep
    from ..workloads.trend import Trend

STYLES = ("text", "markdown", "html")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with a table, lines, or both. picture: SVG, for a page only; its texts are escaped."""

    title: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[str] = ()
    picture: str = ""


def render(sections: Iterable[Section], style: str, title: str) -> str:
    """Return the sections in a style. ValueError for one that there is not."""
    if style not in STYLES:
        raise ValueError(f"unknown style {style!r}; valid are: {', '.join(STYLES)}")
    return {"text": _text, "markdown": _markdown, "html": _html}[style](list(sections), title)


def _text(sections: list[Section], title: str) -> str:
    parts = []
    for section in sections:
        rows = [[printable(cell) for cell in row] for row in section.rows]
        shown = render_text(TextTable(section.title, section.header, rows)) if rows else section.title
        parts.append("\n".join([*([shown] if shown else []), *map(printable, section.lines)]))
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _markdown(sections: list[Section], title: str) -> str:
    parts = [f"# {_cell(title)}"]
    for section in sections:
        if section.title:
            parts.append(f"## {_cell(section.title)}")
        if section.rows:
            rule = ["---", *["---:"] * (len(section.header) - 1)]
            cells = [section.header, rule, *[[_cell(cell) for cell in row] for row in section.rows]]
            parts.append("\n".join(f"| {' | '.join(row)} |" for row in cells))
        if section.lines:
            parts.append("\n".join(f"- {_cell(line)}" for line in section.lines))
    return "\n\n".join(parts) + "\n"


def _html(sections: list[Section], title: str) -> str:
    body = [f"<h1>{escape(title)}</h1>"]
    for section in sections:
        if section.title:
            body.append(f"<h2>{escape(section.title)}</h2>")
        if section.picture:
            body.append(section.picture)
        if section.rows:
            body.append(table("", section.header, section.rows))
        if section.lines:
            body.append(lines("", section.lines, ""))
    return page(title, "\n".join(body), style=PICTURE_STYLE)


# --- what is shown ------------------------------------------------------------------------------------------------


def micro(ns: float | None) -> str:
    """Return nanoseconds as microseconds with three decimals below 100."""
    if ns is None:
        return UNAVAILABLE
    return f"{ns / 1e3:,.3f}" if abs(ns) < 1e5 else f"{ns / 1e3:,.1f}"


def rate(value: float | None) -> str:
    """Return operations a second in a readable unit."""
    if value is None:
        return UNAVAILABLE
    for size, unit in ((1e12, "T/s"), (1e9, "G/s"), (1e6, "M/s")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:,.0f} /s"


FIGURES = ("kernel (us)", "mean", "std dev", "min", "p50", "p95", "max", "CV", "calls/s", "page faults")


def _figures(name: str, times: "Times") -> list[str]:
    shown = (times.mean_ns, times.stddev_ns, times.min_ns, times.p50_ns, times.p95_ns, times.max_ns)
    calls = UNAVAILABLE if times.throughput is None else f"{times.throughput:,.0f}"
    faults = UNAVAILABLE if times.faults_per_run is None else f"{times.faults_per_run:,.1f}"
    return [name, *map(micro, shown), percent(times.cv), calls, faults]


def _table(title: str, stats: Iterable["KernelStats"], what: str, with_rate: bool) -> Section:
    rows = []
    for one in stats:
        times = one.kernel if what == "kernel" else one.host_call
        if times is not None:
            rows.append([*_figures(one.name, times), *([rate(one.rate)] if with_rate else [])])
    return Section(title, (*FIGURES, *(("operations",) if with_rate else ())), rows, () if rows else ("not timed",))


def report_sections(report: "WorkloadReport") -> list[Section]:
    """Return the sections of a run."""
    first = report.stats[0]
    facts = ", ".join(
        f"{key} {value}" for key, value in first.facts.items() if key in ("set", "arch", "numpy", "torch")
    )
    backend = f"backend {first.backend} ({facts})" if facts else f"backend {first.backend}"
    about = [
        f"{backend} on {first.device}; {first.iterations} times after {report.warmup} runs of warm-up",
        "times in microseconds; standard deviation of the population; page faults of one run",
        *([ABOUT] if any(one.times.faults is not None for one in report.stats) else []),
        *([report.note] if report.note else []),
        *(f"{name}: left out: {reason}" for name, reason in report.left_out.items()),
    ]
    slow = [f"{one.name} ({one.workload_description}): {micro(one.times.mean_ns)} us" for one in report.slowest]
    varying = [f"{one.name}: {percent(one.cv)}" for one in report.most_variable]
    alerts = [f"{alert.kind}: {alert.kernel}: {alert.text}" for alert in report.alerts]
    unknown = {f"throttling is not known: {one.unavailable['slowed_by']}" for one in report.stats
               if "slowed_by" in one.unavailable}  # fmt: skip
    basis = first.basis.replace("_", " ")
    return [
        Section("", lines=about),
        _table("Host calls, with copies and allocation", report.stats, "host_call", False),
        _table("Kernels alone; operations by definition, at the median", report.stats, "kernel", True),
        Section(f"Slowest {basis}s", lines=slow),
        Section(f"Most variable {basis}s", lines=varying),
        Section("Alerts", lines=[*(alerts or ["none"]), *sorted(unknown)]),
        Section("What to try", lines=[one.sentence for one in report.recommendations] or ["nothing stands out"]),
    ]


def render_report(report: "WorkloadReport", style: str) -> str:
    """Return the report of the workloads as text, markdown or html. ValueError for another style."""
    return render(report_sections(report), style, "Workloads")


def sweep_sections(sweep: "Sweep") -> list[Section]:
    """Return the sections of a sweep."""
    what = sweep.what.replace("_", " ")
    rows = []
    for at, (one, value, speed) in enumerate(zip(sweep.stats, sweep.medians_ns(sweep.what), sweep.rates, strict=True)):
        step = sweep.exponents[at - 1] if at else None
        times = one.kernel if sweep.what == "kernel" else one.host_call
        cv = percent(times.cv) if times else UNAVAILABLE
        rows.append([one.workload_description, micro(value), cv, rate(speed), "" if step is None else f"{step:.2f}"])
    header = ("size", f"{what} p50 (us)", "CV", "operations", "exponent from the size before")
    note = [sweep.note] if sweep.note else []
    return [Section(f"{sweep.name} over {', '.join(sweep.over)}", header, rows, [sweep.verdict, *note])]


def budget_sections(results: "Sequence[BudgetResult]", budgets: "Budgets") -> list[Section]:
    """Return the sections of checked budgets."""
    rows = []
    for one in results:
        values = (one.value, one.low, one.high)
        cv = one.budget.quantity == "cv"
        shown = [percent(value) if cv else micro(value) for value in values]
        interval = f"{shown[1]} to {shown[2]}" if one.low is not None else UNAVAILABLE
        name = one.budget.quantity.replace("_", " ")
        rows.append([one.budget.kernel, name, one.budget.text, shown[0], interval, one.state])
    reasons = [f"{one.budget.kernel}: {one.reason}" for one in results if one.reason]
    header = ("kernel", "of", "budget", "median, or CV (us)", "interval", "state")
    return [Section(f"Budgets of {budgets.path}", header, rows, reasons)]


def trend_sections(trends: "Sequence[Trend]") -> list[Section]:
    """Return the sections of trends."""
    sections = []
    for trend in trends:
        changes = {change.at: change for change in trend.series.changes}
        lines = []
        for at, point in enumerate(trend.series.points):
            if at in changes:
                change = changes[at]
                lines.append(f"--- {change.before * 1e6:,.3f} -> {change.after * 1e6:,.3f} us, p = {change.p:.2g}")
            when, commit = f"{point.run.created_at:%Y-%m-%d %H:%M}", (point.run.commit or "")[:12] or "no commit"
            lines.append(f"run {point.run.id}  {when}  {commit}  {point.value * 1e6:,.3f} us")
        baseline = UNAVAILABLE if trend.baseline is None else f"{trend.baseline * 1e6:,.3f} us"
        said = trend.alerts or ["no alert"] if trend.judged else ["shown, not judged: copies and allocation are in it"]
        lines += [f"baseline {baseline} ({trend.baseline_source})", *trend.reasons, *said]
        title = f"{trend.series.operation}, environment {trend.series.environment}"
        sections.append(Section(title, lines=lines, picture=trend_picture(trend)))
    return sections
