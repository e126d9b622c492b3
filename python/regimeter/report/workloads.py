# SPDX-License-Identifier: Apache-2.0
"""Runs of workloads as text, Markdown or the data of a page; every figure is taken as it is."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..system.text import UNAVAILABLE, TextTable, count, duration, percent, printable
from ..system.text import render as render_text
from ..workloads.budgets import OVER, UNCHECKED
from ..workloads.steady import ABOUT
from . import document
from .document import TEXT, Column
from .html import render_html

if TYPE_CHECKING:
    from ..workloads.budgets import BudgetResult, Budgets
    from ..workloads.statistics import KernelStats, Times
    from ..workloads.suite import WorkloadReport
    from ..workloads.sweep import Sweep
    from ..workloads.trend import Trend

STYLES = ("text", "markdown", "html")
ADVICE = "advice"  # on the first screen of a page, where it has room


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with a table, lines, or both. id: what a page calls it. chart: of a trend, what a page draws beside the
    runs of the columns."""

    id: str
    title: str
    columns: Sequence[Column] = ()
    lines: Sequence[str] = ()
    chart: document.Section | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown: a title, for a page the sentence that it begins with, and the sections."""

    title: str
    sections: Sequence[Section]
    first: document.Section = field(default_factory=lambda: document.first("", ""))


def render(shown: Shown, style: str) -> str:
    """Return it in a style. ValueError for one that there is not."""
    if style not in STYLES:
        raise ValueError(f"unknown style {style!r}; valid are: {', '.join(STYLES)}")
    return {"text": _text, "markdown": _markdown, "html": _html}[style](shown)


def _text(shown: Shown) -> str:
    parts = []
    for section in shown.sections:
        header, rows = _texts(section)
        table = TextTable(section.title, header, [[printable(cell) for cell in row] for row in rows])
        head = render_text(table) if rows else section.title
        parts.append("\n".join([*([head] if head else []), *map(printable, section.lines)]))
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _markdown(shown: Shown) -> str:
    parts = [f"# {_cell(shown.title)}"]
    for section in shown.sections:
        header, rows = _texts(section)
        if section.title:
            parts.append(f"## {_cell(section.title)}")
        if rows:
            rule = ["---", *["---:"] * (len(header) - 1)]
            cells = [header, rule, *[[_cell(cell) for cell in row] for row in rows]]
            parts.append("\n".join(f"| {' | '.join(row)} |" for row in cells))
        if section.lines:
            parts.append("\n".join(f"- {_cell(line)}" for line in section.lines))
    return "\n\n".join(parts) + "\n"


def page_data(shown: Shown) -> document.Section:
    """Return what its page shows."""
    few = len(shown.first["actions"]) <= document.MOST_ACTIONS
    first = shown.first | {"actions": shown.first["actions"][: document.MOST_ACTIONS]}
    made = [_on_page(section) for section in shown.sections if section.id != ADVICE or not few]
    return document.document("workloads", shown.title, limit=first, sections=made)


def _html(shown: Shown) -> str:
    return render_html(page_data(shown))


def _on_page(section: Section) -> document.Section:
    title = section.title or "About these figures"
    if section.chart is not None:
        runs = document.table(section.id, title, section.columns, "")
        named = {"id": section.id, "title": title, "form": "trend", "lines": section.lines}
        return named | {"runs": runs} | section.chart
    if section.columns and section.columns[0].values:
        return document.table(section.id, title, section.columns, "") | {"lines": section.lines}
    return document.sentences(section.id, title, section.lines, "Nothing.")


def _texts(section: Section) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of the table as texts."""
    header = [f"{one.heading} (us)" if one.unit == "ns" else one.heading for one in section.columns]
    columns = [[_said(one, value) for value in one.values] for one in section.columns]
    return header, [list(row) for row in zip(*columns, strict=True)]


def _said(column: Column, value: str | float | None) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "" if column.blank else UNAVAILABLE
    if column.unit in SAID:
        return SAID[column.unit](value)
    return f"{value:,.0f}" if value == 0 or abs(value) >= 100 else f"{value:,.2f}"


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


SAID: dict[str, Callable[[float], str]] = {"ns": micro, "%": lambda value: percent(value / 100), "op/s": rate}


def _percents(shares: Iterable[float | None]) -> list[float | None]:
    return [None if share is None else 100 * share for share in shares]


def _timed(stats: Iterable["KernelStats"], what: str) -> list[tuple["KernelStats", "Times"]]:
    timed = ((one, one.kernel if what == "kernel" else one.host_call) for one in stats)
    return [(one, times) for one, times in timed if times is not None]


def _table(id: str, title: str, stats: Iterable["KernelStats"], what: str, with_rate: bool) -> Section:
    rows = _timed(stats, what)

    def times(heading: str, name: str, doc: str) -> Column:
        return Column(heading, "ns", [getattr(one, name) for _, one in rows], doc)

    columns = [
        Column("kernel", TEXT, [one.name for one, _ in rows], "The workload"),
        times("mean", "mean_ns", "Of all runs"),
        times("std dev", "stddev_ns", "Of the population"),
        times("min", "min_ns", "The shortest"),
        times("p50", "p50_ns", "The median"),
        times("p95", "p95_ns", "95 % took no longer"),
        times("max", "max_ns", "The longest"),
        Column("CV", "%", _percents(one.cv for _, one in rows), "Standard deviation by the mean"),
        Column("calls/s", "", [one.throughput for _, one in rows], "At the mean"),
        Column("page faults", "", [one.faults_per_run for _, one in rows], "Of one run"),
    ]
    if with_rate:
        columns.append(Column("operations", "op/s", [one.rate for one, _ in rows], "By definition, at the median"))
    return Section(id, title, columns, () if rows else ("not timed",))


def shown_report(report: "WorkloadReport") -> Shown:
    """Return what is shown of a run."""
    first = report.stats[0]
    facts = ", ".join(
        f"{key} {value}" for key, value in first.facts.items() if key in ("set", "arch", "numpy", "torch")
    )
    backend = f"backend {first.backend} ({facts})" if facts else f"backend {first.backend}"
    about = [
        f"{backend} on {first.device}; {first.iterations} times after {report.warmup} runs of warm-up",
        "standard deviation of the population; page faults of one run",
        *([ABOUT] if any(one.times.faults is not None for one in report.stats) else []),
        *([report.note] if report.note else []),
        *(f"{name}: left out: {reason}" for name, reason in report.left_out.items()),
    ]
    slow = [f"{one.name} ({one.workload_description}): {duration(one.times.mean_ns / 1e6)}" for one in report.slowest]
    varying = [f"{one.name}: {percent(one.cv)}" for one in report.most_variable]
    alerts = [f"{alert.kind}: {alert.kernel}: {alert.text}" for alert in report.alerts]
    unknown = {f"throttling is not known: {one.unavailable['slowed_by']}" for one in report.stats
               if "slowed_by" in one.unavailable}  # fmt: skip
    basis = first.basis.replace("_", " ")
    advice = [one.sentence for one in report.recommendations]
    sections = [
        Section("about", "", lines=about),
        _table("host-calls", "Host calls, with copies and allocation", report.stats, "host_call", False),
        _table("kernels", "Kernels alone; operations by definition, at the median", report.stats, "kernel", True),
        Section("slowest", f"Slowest {basis}s", lines=slow),
        Section("variable", f"Most variable {basis}s", lines=varying),
        Section("alerts", "Alerts", lines=[*(alerts or ["none"]), *sorted(unknown)]),
        Section(ADVICE, "What to try", lines=advice or ["nothing stands out"]),
    ]
    return Shown("Workloads", sections, _first_of_report(report, basis, len(alerts), advice))


def _first_of_report(report: "WorkloadReport", basis: str, alerts: int, advice: list[str]) -> document.Section:
    slowest = report.slowest[0] if report.slowest else report.stats[0]
    why = f"{count(alerts, 'alert')}: the list below says which." if alerts else "Nothing of them stands out."
    several = len(report.stats) > 1
    takes = f"takes {duration(slowest.times.mean_ns / 1e6)} on average"
    evidence = "host-calls" if _timed(report.stats, "host_call") else "kernels"
    return document.first(
        "How long they take",
        f"{slowest.name} {takes}{f', the longest of {len(report.stats)} {basis}s' if several else ''}.",
        why=why,
        of=f"One {basis} of each, by its median",
        parts={one.name: one.times.p50_ns for one in report.stats} if several else None,
        actions=[document.action(text, evidence) for text in advice],
    )


def render_report(report: "WorkloadReport", style: str) -> str:
    """Return the report of the workloads as text, markdown or html. ValueError for another style."""
    return render(shown_report(report), style)


def shown_sweep(sweep: "Sweep") -> Shown:
    """Return what is shown of a sweep."""
    what = sweep.what.replace("_", " ")
    times = [one.kernel if sweep.what == "kernel" else one.host_call for one in sweep.stats]
    columns = [
        Column("size", TEXT, [one.workload_description for one in sweep.stats], "Of the work"),
        Column(f"{what} p50", "ns", sweep.medians_ns(sweep.what), "The median"),
        Column("CV", "%", _percents(one.cv if one else None for one in times), "Standard deviation by the mean"),
        Column("operations", "op/s", sweep.rates, "By definition, at the median"),
        Column("exponent from the size before", "", [None, *sweep.exponents],
               "Of the time over the work: 1 where it grows as the work does", blank=True),
    ]  # fmt: skip
    title = f"{sweep.name} over {', '.join(sweep.over)}"
    sections = [Section("sweep", title, columns, [sweep.verdict, *([sweep.note] if sweep.note else [])])]
    return Shown(f"Scaling of {sweep.name}", sections, document.first("How it scales", _sentence(sweep.verdict)))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def shown_limits(budgets: "Budgets") -> Shown:
    """Return what is shown of budgets that are not checked."""
    rows = budgets.rows
    columns = [
        Column("kernel", TEXT, [one.kernel for one in rows], "The workload"),
        Column("of", TEXT, [one.quantity.replace("_", " ") for one in rows], "What the budget is for"),
        Column("budget", TEXT, [one.text for one in rows], "The limit"),
        Column("backend", TEXT, [one.backend or "any" for one in rows], "Whose times it is for"),
        Column("device", TEXT, [one.device or "any" for one in rows], "Where it is for"),
    ]
    about = "host call: with copies and allocation; kernel: alone; --check holds a run to them"
    first = document.first("Which budgets there are", f"{count(len(rows), 'budget')}, none of them checked.", why=about)
    return Shown("Budgets", [Section("budgets", f"Budgets: {budgets.path}", columns, [about])], first)


def shown_budgets(results: "Sequence[BudgetResult]", budgets: "Budgets") -> Shown:
    """Return what is shown of checked budgets."""

    def values(quantity: bool) -> list[float | None]:
        return [one.value if (one.budget.quantity == "cv") == quantity else None for one in results]

    columns = [
        Column("kernel", TEXT, [one.budget.kernel for one in results], "The workload"),
        Column("of", TEXT, [one.budget.quantity.replace("_", " ") for one in results], "What the budget is for"),
        Column("budget", TEXT, [one.budget.text for one in results], "The limit"),
        Column("median", "ns", values(False), "Of the times", blank=True),
        Column("CV", "%", _percents(values(True)), "Standard deviation by the mean", blank=True),
        Column("interval", TEXT, [_interval(one) for one in results], "Of the median or the CV"),
        Column("state", TEXT, [one.state for one in results], "within, near limit, over or not checked"),
    ]
    if any(one.reason for one in results):
        columns.append(Column("why", TEXT, [one.reason or "" for one in results], "It was not checked", prose=True))
    sections = [Section("budgets", f"Budgets: {budgets.path}", columns)]
    return Shown("Budgets", sections, _first_of_budgets(results))


def _interval(one: "BudgetResult") -> str:
    if one.low is None or one.high is None:
        return UNAVAILABLE
    if one.budget.quantity == "cv":
        return f"{percent(one.low)} to {percent(one.high)}"
    return f"{duration(one.low / 1e6)} to {duration(one.high / 1e6)}"


def _first_of_budgets(results: "Sequence[BudgetResult]") -> document.Section:
    states = Counter(one.state for one in results)
    over = [one.budget.kernel for one in results if one.state == OVER]
    named = ", ".join(dict.fromkeys(over))
    checked = len(results) - states[UNCHECKED]
    sentence = f"None of {count(checked, 'budget')} that could be checked is exceeded."
    if over:
        sentence = f"{len(over)} of {count(checked, 'budget')} exceeded: {named}."
    elif not checked:
        sentence = f"None of {count(len(results), 'budget')} could be checked: the table says why."
    parts = {state: float(number) for state, number in states.items()} if len(states) > 1 else None
    said = ", ".join(f"{number} {state}" for state, number in states.items()) + "." if parts else ""
    return document.first("Whether budgets hold", sentence, why=said, of="Budgets by state", parts=parts)


def shown_trends(trends: "Sequence[Trend]", kernel: str) -> Shown:
    """Return what is shown of trends."""
    sections = [_trend(trend, at + 1) for at, trend in enumerate(trends)]
    alerts = [text for trend in trends for text in trend.alerts]
    runs = max(len(trend.series.points) for trend in trends)
    sentence = f"{alerts[0]}." if alerts else f"No alert for {kernel} in {count(runs, 'run')}."
    more = f"{count(len(alerts) - 1, 'more alert')}; the charts below say which." if len(alerts) > 1 else ""
    if not alerts:
        more = " ".join(_sentence(reason) for reason in dict.fromkeys(one for trend in trends for one in trend.reasons))
    return Shown(f"Trend of {kernel}", sections, document.first("What changed", sentence, why=more))


def _trend(trend: "Trend", number: int) -> Section:
    points = trend.series.points
    changes = {change.at: change for change in trend.series.changes}
    told = {
        at: f"{duration(one.before * 1e3)} to {duration(one.after * 1e3)}, p = {one.p:.2g}"
        for at, one in changes.items()
    }
    columns = [
        Column("run", TEXT, [f"run {point.run.id}" for point in points], "Its number in the history"),
        Column("when", TEXT, [f"{point.run.created_at:%Y-%m-%d %H:%M}" for point in points], "When it was measured"),
        Column("commit", TEXT, [(point.run.commit or "")[:12] or "no commit" for point in points], "Of the repository"),
        Column("median", "ns", [point.value * 1e9 for point in points], "Of the run"),
        Column("level changed", TEXT, [told.get(at, "") for at in range(len(points))], "From the run before to this"),
    ]
    baseline = UNAVAILABLE if trend.baseline is None else duration(trend.baseline * 1e3)
    said = trend.alerts or ["no alert"] if trend.judged else ["shown, not judged: copies and allocation are in it"]
    lines = [f"baseline {baseline} ({trend.baseline_source})", *trend.reasons, *said]
    title = f"{trend.series.operation}, environment {trend.series.environment}"
    return Section(f"trend-{number}", title, columns, lines, chart=_chart(trend))


def _chart(trend: "Trend") -> document.Section:
    """Return what a page draws beside the runs of the table: changes of the level, and what runs are held against."""
    limit = trend.factor * trend.baseline if trend.baseline is not None and trend.judged else None
    levels = {"baseline": trend.baseline, "limit": limit}
    return {
        "changes": [
            {"at": one.at, "p": one.p, "before": one.before, "after": one.after} for one in trend.series.changes
        ],
        "levels": [{"label": label, "value": value} for label, value in levels.items() if value is not None],
    }
