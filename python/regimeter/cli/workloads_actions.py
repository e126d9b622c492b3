# SPDX-License-Identifier: Apache-2.0
"""What ``regimeter workloads SUBJECT`` does."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _core
from ..report.budgets_junit import budgets_junit
from ..report.document import TEXT, Column
from ..report.workloads import (
    Section,
    Shown,
    micro,
    render,
    shown_budgets,
    shown_limits,
    shown_report,
    shown_sweep,
    shown_trends,
)
from ..system.files import atomic_writer
from ..workloads import budgets as budget_rules
from ..workloads.alerts import TARGET
from ..workloads.backends import backends
from ..workloads.catalog import choose, workloads
from ..workloads.policy import THRESHOLDS, thresholds
from ..workloads.suite import WorkloadReport, run_workloads
from ..workloads.sweep import FACTORS, run_sweep
from ..workloads.trend import keep, trend_of
from ..workloads.versus import Variant, run_versus
from ..workloads.watch import Stop, repeat
from .ab import _teller
from .common import SIZE, next_step, print_document
from .errors import CommandError
from .files import check_writable, style_of
from .place import history_of_runs, open_place

if TYPE_CHECKING:
    from ..workloads.trend import Trend

NO_BASELINE = 5


def _emit(arguments: argparse.Namespace, document: object, shown: Shown) -> None:
    """Print or write in the format that the arguments name."""
    style = style_of(arguments, arguments.formats)
    if style == "json":
        text = json.dumps(document, ensure_ascii=False, indent=1, default=str, allow_nan=False)
    else:
        text = render(shown, style)
    _write(arguments, text)


def _write(arguments: argparse.Namespace, text: str) -> None:
    if not arguments.output:
        print(text.removesuffix("\n"))
        return
    check_writable(arguments.output)
    with atomic_writer(arguments.output) as out:
        out.write(text if text.endswith("\n") else text + "\n")


def _measuring(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "backend": arguments.backend,
        "sizes": dict(arguments.size),
        "warmup": arguments.warmup,
        "iterations": arguments.iterations,
        "device": arguments.device,
        "threads": arguments.threads,
        "policy": dict(arguments.policy),
        "tell": None if arguments.quiet or not sys.stderr.isatty() else _teller(False),
    }


# --- list, run, sweep ---------------------------------------------------------------------------------------------


def _list(arguments: argparse.Namespace) -> int:
    known = workloads()
    if arguments.json:
        rows = {name: {"doc": one.doc, "sizes": one.sizes()} for name, one in known.items()}
        limits = [{name: getattr(one, name) for name in one.__slots__} for one in THRESHOLDS]
        head = {"format": "regimeter.workload_list", "version": 1}
        print_document(head | {"workloads": rows, "backends": backends(), "thresholds": limits})
        return 0
    named = [
        Column("name", TEXT, list(known)),
        Column("documented size", TEXT, [one.describe(one.sizes()) for one in known.values()]),
        Column("sizes to set", TEXT, [", ".join(one.parameters) for one in known.values()]),
    ]
    rules = [
        Column("name", TEXT, [one.name for one in THRESHOLDS]),
        Column("default", TEXT, [f"{one.default:g} {one.unit}".rstrip() for one in THRESHOLDS]),
        Column("source", TEXT, [one.source for one in THRESHOLDS]),
    ]
    sections = [
        Section("workloads", "Workloads", named),
        Section("backends", "Backends", lines=[f"{name}: {doc}" for name, doc in backends().items()]),
        Section("thresholds", "Thresholds", rules),
    ]
    print(render(Shown("Workloads", sections), "text"))
    return 0


def _run(arguments: argparse.Namespace) -> int:
    history = open_place(arguments, create=True) if arguments.keep else None
    report = run_workloads(arguments.kernel, calls=arguments.calls, **_measuring(arguments))
    _emit(arguments, report.to_dict(), shown_report(report))
    if history is not None:
        row = keep(history, report, **{name: getattr(arguments, name) for name in ("commit", "branch", "tag")})
        print(f"regimeter: kept as run {row.id}; {next_step('workloads', 'trend', report.stats[0].name)}",
              file=sys.stderr)  # fmt: skip
    return 0


def _sweep(arguments: argparse.Namespace) -> int:
    over = arguments.over.split(",") if arguments.over else None
    sweep = run_sweep(
        arguments.kernel,
        over=over,
        factors=arguments.factors or FACTORS,
        calls=arguments.calls or 0,
        **_measuring(arguments),
    )
    _emit(arguments, sweep.to_dict(), shown_sweep(sweep))
    return 0


# --- budgets ------------------------------------------------------------------------------------------------------


def _budgets(arguments: argparse.Namespace) -> int:
    found = budget_rules.Budgets.load(arguments.file)
    if not arguments.check:
        empty = [budget_rules.BudgetResult(one, budget_rules.UNCHECKED).to_dict() for one in found.rows]
        _emit(arguments, {"file": found.path, "budgets": empty}, shown_limits(found))
        return 0
    results = []
    for one, report in _runs_for(found, arguments):
        results += budget_rules.check_budgets(one, report, force=arguments.force, policy=dict(arguments.policy))
    document = {
        "format": "regimeter.workload_budgets",
        "version": 1,
        "file": found.path,
        "exit_code": budget_rules.exit_code(results),
        "budgets": [one.to_dict() for one in results],
    }
    _emit(arguments, document, shown_budgets(results, found))
    if arguments.junit:
        with atomic_writer(arguments.junit) as out:
            out.write(budgets_junit(results))
    return budget_rules.exit_code(results)


def _runs_for(
    found: budget_rules.Budgets, arguments: argparse.Namespace
) -> Iterable[tuple[budget_rules.Budgets, WorkloadReport]]:
    """Run each kernel and size that a budget is for, once, and yield it with its budgets."""
    plans: dict[tuple[Any, ...], list[budget_rules.Budget]] = {}
    for one in found.rows:
        plans.setdefault((one.kernel, *one.sizes.items()), []).append(one)
    options = _measuring(arguments)
    given = options.pop("sizes")
    for rows in plans.values():
        kernel = rows[0].kernel
        try:
            report = run_workloads(kernel, sizes={**rows[0].sizes, **given}, calls=arguments.calls, **options)
        except _core.UnavailableError as error:
            report = WorkloadReport((), left_out={kernel: str(error)})
        yield budget_rules.Budgets(found.path, tuple(rows)), report


# --- A/B ----------------------------------------------------------------------------------------------------------


def _variant(text: str) -> Variant:
    name, _, rest = text.partition(":")
    sizes = {}
    for part in filter(None, rest.split(",")):
        match = SIZE.fullmatch(part)
        if not match:
            raise CommandError(f"ab: {text!r}: expected BACKEND or BACKEND:size=value,...")
        sizes[match[1]] = float(match[2])
    return Variant(name or "auto", sizes)


def _ab(arguments: argparse.Namespace) -> int:
    found = run_versus(
        arguments.kernel,
        _variant(arguments.base),
        _variant(arguments.current),
        pairs=arguments.pairs,
        burst=arguments.burst,
        seed=arguments.seed,
        device=arguments.device,
        threads=arguments.threads,
        policy=dict(arguments.policy),
        fail_on=arguments.fail_on,
    )
    style = style_of(arguments, arguments.formats)
    if style == "json":
        _write(arguments, json.dumps(found.to_dict(), ensure_ascii=False, indent=1, default=str))
    else:
        title = f"{found.kernel}: {found.base} compared with {found.current}"
        _write(arguments, found.comparison.render(style, **({} if style == "csv" else {"title": title})))
    if not arguments.quiet:
        print(f"regimeter: {found.pairs} pairs of bursts, order from seed {found.seed}; {found.cannot_see}",
              file=sys.stderr)  # fmt: skip
    return found.comparison.exit_code


# --- history ------------------------------------------------------------------------------------------------------


def _watch(arguments: argparse.Namespace) -> int:
    choose(arguments.kernel)
    history = open_place(arguments, create=True)
    policy = dict(arguments.policy)
    thresholds(policy)
    stated = {name: getattr(arguments, name) for name in ("commit", "branch", "tag")}

    def once(number: int) -> None:
        report = run_workloads(arguments.kernel, calls=arguments.calls, **_measuring(arguments))
        row = keep(history, report, **stated)
        alerts = [f"{alert.kind}: {alert.kernel}: {alert.text}" for alert in report.alerts if alert.kind != TARGET]
        for one in report.stats:
            trends = trend_of(history, one.name, branch=row.branch, policy=policy)
            alerts += [text for trend in trends if trend.series.points[-1].run.id == row.id for text in trend.alerts]
        _tell_run(arguments, report, row.id, f"{row.created_at:%Y-%m-%d %H:%M:%S}", alerts)

    with Stop() as stop:
        repeat(once, arguments.every, arguments.count, stop)
    return 128 + stop.signal if stop.signal and arguments.count is not None else 0


def _tell_run(arguments: argparse.Namespace, report: WorkloadReport, run: int, when: str, alerts: list[str]) -> None:
    """Print one line: a JSON document with --json."""
    values = {one.name: one.mean_us for one in report.stats}
    if arguments.json:
        line = json.dumps({"run": run, "time": when, "backend": report.stats[0].backend, "mean_us": values,
                           "alerts": alerts}, allow_nan=False)  # fmt: skip
    else:
        shown = " ".join(f"{name}={micro(value * 1e3)}" for name, value in values.items())
        line = f"{when} run {run} {report.stats[0].backend} us: {shown}; " + ("; ".join(alerts) or "no alert")
    print(line, flush=True)


def _trend(arguments: argparse.Namespace) -> int:
    choose([arguments.kernel])
    history = open_place(arguments, create=False)
    found: list[Trend] = trend_of(
        history,
        arguments.kernel,
        baseline_us=arguments.baseline,
        of=arguments.of,
        branch=arguments.branch,
        limit=arguments.limit,
        policy=dict(arguments.policy),
    )
    if not found:
        raise history_of_runs().NoBaselineError(
            f"{history.where}: no run of {arguments.kernel}; `{next_step('workloads', 'run', '--keep')}` keeps one"
        )
    document = {"format": "regimeter.workload_trend", "version": 1, "history": history.where,
                "trends": [one.to_dict() for one in found]}  # fmt: skip
    _emit(arguments, document, shown_trends(found, arguments.kernel))
    return 1 if any(one.degraded for one in found) else 0


ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "list": _list,
    "run": _run,
    "sweep": _sweep,
    "budgets": _budgets,
    "ab": _ab,
    "watch": _watch,
    "trend": _trend,
}
