# SPDX-License-Identifier: Apache-2.0
"""What ``regimeter history`` shows and does; imported when it is called, for it needs the extra ``history``."""

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..compare.side import UNITS
from ..compare.sources import side_of
from ..history import (
    History,
    HistoryComparison,
    NoBaselineError,
    Series,
    judge_against_history,
    migrate,
    state_of,
)
from ..history.parquet import export_parquet
from ..history.series import series_of
from ..history.store import engine_of
from ..report.history_page import history_data
from ..report.html import write_html
from ..run.formats import choose
from ..system.text import count, duration, printable, shorten
from .common import next_step, print_document
from .errors import CommandError
from .files import check_writable
from .kept import add_run
from .place import open_place

if TYPE_CHECKING:
    from sqlalchemy import Engine

# --- series -------------------------------------------------------------------------------------------------------


def show_series(arguments: argparse.Namespace, name: str) -> int:
    history = open_place(arguments, create=False)

    options = {"metric": arguments.metric, "branch": arguments.branch, "environment": arguments.environment}
    found = series_of(history, name, limit=arguments.limit, **options)
    if not found:
        known = [one for one in history.operations() if name.lower() in one.lower()][:5]
        near = f"; did you mean {', '.join(known)}?" if known else ""
        raise NoBaselineError(f"{history.where}: no run has {arguments.metric} of {name!r}{near}")
    if arguments.json:
        head = {"format": "regimeter.history_series", "version": 1, "history": history.where}
        print_document(head | {"series": [series.to_dict() for series in found]})
    else:
        print("\n\n".join(_text(series) for series in found))
    return 0


def _text(series: Series) -> str:

    time = UNITS.get(series.metric, "") == "s"

    def value(number: float) -> str:
        return duration(number * 1e3) if time else f"{number:,.0f}"

    branch = f", branch {series.branch}" if series.branch else ""
    lines = [f"{series.operation}: {series.metric} in environment {series.environment}{branch}"]
    changes = {change.at: change for change in series.changes}
    width = max(len(value(point.value)) for point in series.points)
    for at, point in enumerate(series.points):
        if at in changes:
            change = changes[at]
            by = "" if change.percent is None else f" ({change.percent:+.1f} %)"
            lines.append(f"  --- {value(change.before)} -> {value(change.after)}{by}, p = {change.p:.2g}")
        commit = (point.run.commit or "")[:12] or "no commit"
        state = "" if point.accepted else "  regressed, not accepted"
        processes = count(point.launches, "launch").replace("launchs", "launches")
        when = f"{point.run.created_at:%Y-%m-%d %H:%M}"
        lines.append(f"  run {point.run.id:<5} {when}  {commit:12}  {value(point.value):>{width}}  {processes}{state}")
    if len(series.points) < 8:
        lines.append("  fewer than 8 runs: no change of level can be told from noise")
    return "\n".join(printable(line) for line in lines)


# --- runs ---------------------------------------------------------------------------------------------------------


def _add(arguments: argparse.Namespace, files: list[str]) -> int:
    if not files:
        raise CommandError("usage: regimeter history add FILE...")
    history = open_place(arguments, create=True)
    kept = add_run(history, files, arguments, arguments.state)
    if arguments.json:
        head = {"format": "regimeter.history_run", "version": 1, "history": history.where}
        print_document(head | {"run": kept.to_dict()})
    else:
        print(f"run {kept.id}: {kept.label}")
        if not arguments.quiet:
            print(f"Next: {next_step('history', 'OPERATION')}")
    return 0


def _judge(arguments: argparse.Namespace, files: list[str]) -> int:
    if not files:
        raise CommandError("usage: regimeter history judge FILE... [--confirm FILE]")
    for again in arguments.confirm or ():
        if any(os.path.exists(one) and os.path.exists(again) and os.path.samefile(one, again) for one in files):
            raise CommandError(f"--confirm {again}: is the run itself; run the program once more and give that run")
    history = open_place(arguments, create=False)

    judged = judge_against_history(
        history,
        side_of(files, files[0]),
        confirm=side_of(arguments.confirm, "confirming run") if arguments.confirm else None,
        branch=arguments.branch,
        metric=arguments.metric,
        significance_threshold=arguments.threshold,
    )
    if arguments.json:
        print_document(judged.to_dict())
    else:
        print(_judged_text(judged, files))
    return judged.exit_code


def _judged_text(judged: HistoryComparison, files: list[str]) -> str:

    changed = [row for row in judged.comparisons if row.is_significant or row.operation in judged.suspected]
    lines = [f"{len(judged.comparisons):,} operations; {judged.rule}"]
    for row in sorted(changed, key=lambda row: -abs(row.change_percent or 0)):
        word = row.change_type.value if row.is_significant else "suspected"
        levels = f"{duration(row.baseline_time_ms)} -> {duration(row.current_time_ms)}"
        interval = "" if row.ci_percent is None else f" [{row.ci_percent[0]:+.1f}, {row.ci_percent[1]:+.1f}]"
        why = f"  accepted: {row.accepted}" if row.accepted else "" if row.gates else "  too small to gate"
        lines.append(
            f"  {shorten(row.operation)}  {word}  {levels}  {row.change_percent or 0:+.1f} %{interval}"
            f"  {row.baseline_launches} runs{why}"
        )
    detectable = sorted(row.detectable_percent for row in judged.comparisons if row.detectable_percent is not None)
    if detectable:
        median, worst = detectable[len(detectable) // 2], detectable[-1]
        lines.append(f"Could have missed: below {median:.1f} % (median operation), {worst:.1f} % (worst)")
    if judged.raised:
        lines.append(f"{len(judged.raised):,} rose to a new level within the last runs, which confirm each other")
    if judged.too_few:
        lines.append(f"{len(judged.too_few):,} operations have fewer than {judged.least} accepted runs in their level")
    if judged.suspected and not judged.confirmed:
        lines.append(f"Next: run it once more, then {next_step('history', 'judge', *files, '--confirm', 'AGAIN')}")
    return "\n".join(printable(line) for line in lines)


def _list(arguments: argparse.Namespace, rest: list[str]) -> int:
    _nothing_more(rest)
    history = open_place(arguments, create=False)
    runs = history.runs(
        branch=arguments.branch,
        commit=arguments.commit,
        tag=arguments.tag,
        environment=arguments.environment,
        limit=arguments.limit,
    )
    if arguments.json:
        head = {"format": "regimeter.history_runs", "version": 1, "history": history.where}
        print_document(head | {"runs": [row.to_dict() for row in runs]})
        return 0

    for row in runs:
        commit = (row.commit or "")[:12] or "no commit"
        place = f"{row.branch or 'no branch'} {commit}{'+' if row.dirty else ''}"
        when = f"{row.created_at:%Y-%m-%d %H:%M}"
        print(printable(f"run {row.id:<5} {when}  {row.state:9}  {row.environment}  {place}  {row.label}"))
    if not runs:
        print(f"{history.where}: no such runs")
    return 0


# --- the database -------------------------------------------------------------------------------------------------


def _export(arguments: argparse.Namespace, rest: list[str]) -> int:
    def write(history: History, file: str) -> tuple[dict[str, Any], str]:
        rows = export_parquet(history, file)
        return {"rows": rows}, count(rows, "row")

    if arguments.parquet:
        choose(arguments.parquet, {".parquet": "parquet"}, default="parquet")
    return _written(arguments, rest, arguments.parquet, "export --parquet", write)


def _page(arguments: argparse.Namespace, rest: list[str]) -> int:
    def write(history: History, file: str) -> tuple[dict[str, Any], str]:
        data = history_data(history, metric=arguments.metric, limit=arguments.limit)
        write_html(data, file)
        return {"operations": data["trends_in_all"], "runs": data["runs_in_all"]}, str(data["sentence"])

    return _written(arguments, rest, arguments.html, "page --html", write)


def _written(
    arguments: argparse.Namespace,
    rest: list[str],
    file: str | None,
    how: str,
    write: Callable[[History, str], tuple[dict[str, Any], str]],
) -> int:
    """Have the history written into the file that an option names, and say what is in it."""
    _nothing_more(rest)
    if not file:
        raise CommandError(f"usage: regimeter history {how} FILE")
    check_writable(file)
    facts, said = write(open_place(arguments, create=False), file)
    if arguments.json:
        print_document({"file": file} | facts)
    elif not arguments.quiet:
        print(f"{file}: {said}")
    return 0


def _migrate(arguments: argparse.Namespace, rest: list[str]) -> int:
    _nothing_more(rest)
    engine = _engine(arguments)

    before, after = migrate(engine)
    if arguments.json:
        print_document({"before": before, "after": after})
    else:
        print(f"schema {after}, " + ("nothing to do" if before == after else f"was {before or 'empty'}"))
    return 0


def _info(arguments: argparse.Namespace, rest: list[str]) -> int:
    _nothing_more(rest)
    engine = _engine(arguments)

    history, state = History(engine), state_of(engine)
    rows = history.counts() if state.current else {}
    if arguments.json:
        print_document({"history": history.where, "schema": state.revision, "head": state.head, "rows": rows})
        return 0
    print(f"{history.where}: schema {state.revision or 'none'} (this release: {state.head})")
    for name, number in rows.items():
        print(f"  {name:12} {number:,}")
    reason = state.refusal(history.where)
    if reason:
        print(reason)
    elif not state.current and not arguments.quiet:
        print(f"Next: {next_step('history', 'migrate')}")
    return 0


def _engine(arguments: argparse.Namespace) -> "Engine":
    """Return a database of any schema."""
    return engine_of(arguments.db, create=False)


def _nothing_more(rest: list[str]) -> None:
    if rest:
        raise CommandError(f"{rest[0]!r}: not expected here")


HANDLERS = {
    "add": _add,
    "judge": _judge,
    "list": _list,
    "export": _export,
    "page": _page,
    "migrate": _migrate,
    "info": _info,
}
