# SPDX-License-Identifier: Apache-2.0
"""``regimeter history``: how an operation went over the runs, where it changed its level, and the database itself."""

import argparse
from typing import TYPE_CHECKING

from ..system.text import count
from .baseline import add_commit, add_place, add_run, at_least_one, open_place, refuse
from .common import next_step, print_document

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ..history import HistoryComparison, Series
    from .common import Verbs

ACTIONS = ("add", "judge", "list", "export", "page", "migrate", "info")
EPILOG = """\
regimeter history OP [--branch B] [--limit N]       the series of an operation with its changes of level
regimeter history add FILE... [--state clean]       keep a run (its processes)
regimeter history judge FILE... [--confirm FILE]    one run against at least 8 accepted ones before it
regimeter history list                              the runs
regimeter history export --parquet FILE             all samples for other tools
regimeter history page --html FILE                  all operations and runs as one page
regimeter history migrate, regimeter history info   bring the database up to date; say what it holds

An operation that is called like one of these words is given with --op. Exit codes of judge: 1 confirmed regression,
3 suspected, so run it once more and pass that run with --confirm, 0 otherwise.
"""


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "history",
        parents=[common],
        allow_abbrev=False,
        help="show how an operation went over the runs, and where it changed",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", metavar="OP | ACTION", nargs="*", help="an operation, or what to do with which files")
    add_place(parser)
    add_commit(parser)
    parser.add_argument("--op", metavar="NAME", help="the operation")
    parser.add_argument("--metric", metavar="NAME", default="time", help="what of it (default: time)")
    parser.add_argument("--environment", metavar="KEY", help="only runs of this environment")
    parser.add_argument("--limit", metavar="N", type=at_least_one, default=None, help="newest runs only")
    parser.add_argument("--state", choices=("recorded", "clean"), default="recorded", help="add: the run was judged")
    parser.add_argument("--confirm", metavar="FILE", action="append", help="judge: the confirming run; repeatable")
    parser.add_argument("--threshold", metavar="PERCENT", type=float, default=5.0, help="judge: change that matters")
    parser.add_argument("--parquet", metavar="FILE", help="export: the file to write")
    parser.add_argument("--html", metavar="FILE", help="page: the file to write")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the series, or do what the first word says."""
    words = arguments.words
    if arguments.op is None and words and words[0] in ACTIONS:
        handlers = (_add, _judge, _list, _export, _page, _migrate, _info)
        return dict(zip(ACTIONS, handlers, strict=True))[words[0]](arguments, words[1:])
    name = arguments.op if arguments.op is not None else " ".join(words)
    if not name or (arguments.op is not None and words):
        refuse("name an operation, or one of: " + ", ".join(ACTIONS))
    return _series(arguments, name)


# --- series -------------------------------------------------------------------------------------------------------


def _series(arguments: argparse.Namespace, name: str) -> int:
    history = open_place(arguments, create=False)
    from ..history import NoBaselineError
    from ..history.series import series_of

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


def _text(series: "Series") -> str:
    from ..compare.side import UNITS
    from ..system.text import duration, printable

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
        refuse("usage: regimeter history add FILE...")
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
        refuse("usage: regimeter history judge FILE... [--confirm FILE]")
    history = open_place(arguments, create=False)
    from ..compare.sources import side_of
    from ..history import judge_against_history

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


def _judged_text(judged: "HistoryComparison", files: list[str]) -> str:
    from ..system.text import duration, printable, shorten

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
    from ..system.text import printable

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
    _nothing_more(rest)
    if not arguments.parquet:
        refuse("usage: regimeter history export --parquet FILE")
    from ..run.formats import choose
    from .files import check_writable

    choose(arguments.parquet, {".parquet": "parquet"}, default="parquet")
    check_writable(arguments.parquet)
    history = open_place(arguments, create=False)
    from ..history.parquet import export_parquet

    rows = export_parquet(history, arguments.parquet)
    if arguments.json:
        print_document({"file": arguments.parquet, "rows": rows})
    elif not arguments.quiet:
        print(f"{arguments.parquet}: {count(rows, 'row')}")
    return 0


def _page(arguments: argparse.Namespace, rest: list[str]) -> int:
    _nothing_more(rest)
    if not arguments.html:
        refuse("usage: regimeter history page --html FILE")
    from .files import check_writable

    check_writable(arguments.html)
    history = open_place(arguments, create=False)
    from ..report.history_page import history_data
    from ..report.html import write_html

    data = history_data(history, metric=arguments.metric, limit=arguments.limit)
    write_html(data, arguments.html)
    if arguments.json:
        print_document({"file": arguments.html, "operations": data["trends_in_all"], "runs": data["runs_in_all"]})
    elif not arguments.quiet:
        print(f"{arguments.html}: {data['sentence']}")
    return 0


def _migrate(arguments: argparse.Namespace, rest: list[str]) -> int:
    _nothing_more(rest)
    engine = _engine(arguments)
    from ..history import migrate

    before, after = migrate(engine)
    if arguments.json:
        print_document({"before": before, "after": after})
    else:
        print(f"schema {after}, " + ("nothing to do" if before == after else f"was {before or 'empty'}"))
    return 0


def _info(arguments: argparse.Namespace, rest: list[str]) -> int:
    _nothing_more(rest)
    engine = _engine(arguments)
    from ..history import History, state_of

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
    try:
        from ..history.store import engine_of
    except ImportError as error:
        refuse(str(error), 1)
    return engine_of(arguments.db, create=False)


def _nothing_more(rest: list[str]) -> None:
    if rest:
        refuse(f"{rest[0]!r}: not expected here")
