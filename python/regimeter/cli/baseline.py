# SPDX-License-Identifier: Apache-2.0
"""``regimeter baseline``: what later runs are compared with, and what was accepted, by whom and why."""

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from ..system.text import count
from .common import next_step, print_document

if TYPE_CHECKING:
    from ..history import Baselines, History, RunRow
    from .common import Verbs

HEAD = {"format": "regimeter.baseline", "version": 1}
ACTIONS = ("save", "accept", "list", "rm", "promote")
EPILOG = """\
regimeter baseline save NAME FILE...                       keep a run (its processes) and call it NAME
regimeter baseline accept --op PATTERN --reason TEXT       operations that may be slower, [--until DATE]
regimeter baseline list [--all]                            what stands, or all that ever was done
regimeter baseline rm NAME                                 withdraw a name, or an accepted pattern
regimeter baseline promote NAME RUN --reason TEXT          NAME stands for another run: a number, last, db:BRANCH, ...
regimeter baseline promote --after-clean N [--branch B]    the branch's newest run, after N clean runs in a row

The history is where --db or REGIMETER_HISTORY says, else .regimeter/history.db. Exit code 5: no such baseline.
"""


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "baseline",
        parents=[common],
        allow_abbrev=False,
        help="save, accept, list, remove and promote baselines",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("names", metavar="NAME | FILE", nargs="*", help="the baseline's name, then files or a run")
    add_place(parser)
    add_commit(parser)
    parser.add_argument("--op", metavar="PATTERN", help="accept: name of operations, * and ? stand for any text")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why; kept with author and time")
    parser.add_argument("--until", metavar="DATE", help="accept: last day, as YYYY-MM-DD")
    parser.add_argument("--all", action="store_true", help="list: also what was withdrawn or replaced")
    parser.add_argument("--after-clean", metavar="N", type=at_least_one, help="promote: after N clean runs in a row")
    parser.set_defaults(run=run)


def refuse(message: str, code: int = 2) -> NoReturn:
    """End the command with a message. The errors come with the core, which `--help` does not wait for."""
    from .errors import CommandError

    raise CommandError(message, code)


def add_place(parser: argparse.ArgumentParser) -> None:
    """Declare where the history is."""
    parser.add_argument("--db", metavar="WHERE", help="path or URL of the history (default: REGIMETER_HISTORY)")


def add_commit(parser: argparse.ArgumentParser) -> None:
    """Declare what git, or the CI system, says otherwise."""
    parser.add_argument("--branch", metavar="NAME", help="branch (default: what git or the CI system says)")
    parser.add_argument("--commit", metavar="SHA", help="commit of a saved run, likewise")
    parser.add_argument("--tag", metavar="NAME", help="tag of a saved run, likewise")


def at_least_one(text: str) -> int:
    """Read a number of things; ArgumentTypeError for none."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, got {text!r}")
    return int(text)


def open_place(arguments: argparse.Namespace, *, create: bool) -> "History":
    """Open the history that the arguments name. CommandError when the extra is not installed."""
    try:
        from ..history import open_history
    except ImportError as error:
        refuse(str(error), 1)
    return open_history(arguments.db, create=create)


def add_run(history: "History", files: list[str], arguments: argparse.Namespace, state: str) -> "RunRow":
    """Read files as the processes of one run and keep it, with the commit it belongs to."""
    from dataclasses import replace

    from ..compare.sources import side_of
    from ..history import commit_of

    commit = commit_of()
    stated = {name: getattr(arguments, name) for name in ("commit", "branch", "tag") if getattr(arguments, name)}
    side = side_of(list(files), files[0])
    if not any(samples.launches for samples in side.metrics.values()):
        refuse(f"{', '.join(files)}: without an operation; nothing to keep")
    return history.add(side, replace(commit, **stated), label=", ".join(files), state=state)


def run(arguments: argparse.Namespace) -> int:
    """Do what the action says and tell what was written."""
    handler = {"save": _save, "accept": _accept, "list": _list, "rm": _remove, "promote": _promote}
    return handler[arguments.action](arguments)


def _baselines(arguments: argparse.Namespace, *, create: bool = False) -> "Baselines":
    history = open_place(arguments, create=create)
    from ..history import Baselines

    return Baselines(history)


def _expect(arguments: argparse.Namespace, wanted: str, least: int, most: int | None) -> None:
    given = len(arguments.names)
    if given < least or (most is not None and given > most):
        refuse(f"usage: regimeter baseline {wanted}")


def _save(arguments: argparse.Namespace) -> int:
    _expect(arguments, "save NAME FILE...", 2, None)
    name, *files = arguments.names
    baselines = _baselines(arguments, create=True)
    baselines.check(name)
    kept = add_run(baselines.history, files, arguments, "recorded")
    row = baselines.save(name, kept, arguments.reason)
    return _tell(arguments, row, f"{name}: run {kept.id} of {_commit(kept)}", next_step("compare", f"db:{name}", "NEW"))


def _accept(arguments: argparse.Namespace) -> int:
    from datetime import date

    _expect(arguments, "accept --op PATTERN --reason TEXT [--until DATE]", 0, 0)
    if not arguments.op or not arguments.reason.strip():
        refuse("an acceptance names operations and a reason: --op PATTERN --reason TEXT")
    try:
        until = date.fromisoformat(arguments.until) if arguments.until else None
    except ValueError:
        refuse(f"--until {arguments.until}: expected a day such as 2030-12-31")
    row = _baselines(arguments, create=True).accept(arguments.op, arguments.reason, until)
    limit = f" until {until}" if until else ""
    return _tell(arguments, row, f"{arguments.op}: accepted{limit} by {row.author}", next_step("baseline", "list"))


def _list(arguments: argparse.Namespace) -> int:
    _expect(arguments, "list [--all]", 0, 0)
    baselines = _baselines(arguments)
    rows = baselines.rows(withdrawn=arguments.all)
    if arguments.json:
        head = {"format": "regimeter.baselines", "version": 1, "history": baselines.history.where}
        print_document(head | {"rows": [row.to_dict() for row in rows]})
        return 0
    from ..system.text import printable, shorten

    for row in rows:
        what = f"run {row.run_id}" if row.run_id else "accepted"
        limit = f" until {row.until}" if row.until else ""
        gone = f"; withdrawn by {row.withdrawn_by}" if row.withdrawn_at else ""
        who = f"{row.action} by {row.author} on {row.created_at:%Y-%m-%d}"
        print(printable(f"{shorten(row.name)}: {what}{limit} ({who}: {row.reason}{gone})"))
    if not rows:
        print(f"{baselines.history.where}: no baselines")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    _expect(arguments, "rm NAME", 1, 1)
    number = _baselines(arguments).remove(arguments.names[0])
    if arguments.json:
        print_document({"name": arguments.names[0], "withdrawn": number})
    elif not arguments.quiet:
        print(f"{arguments.names[0]}: withdrawn; its runs are still there")
    return 0


def _promote(arguments: argparse.Namespace) -> int:
    baselines = _baselines(arguments)
    if arguments.after_clean is not None:
        return _promote_clean(arguments, baselines)
    _expect(arguments, "promote NAME RUN --reason TEXT, or promote --after-clean N", 2, 2)
    if not arguments.reason.strip():
        refuse("a baseline is moved for a reason: --reason TEXT")
    from ..history import NoBaselineError
    from ..history.baselines import resolve

    name, reference = arguments.names
    history = baselines.history
    found = [history.run(int(reference))] if reference.isdigit() and len(reference) < 7 else resolve(history, reference)
    if not found:
        raise NoBaselineError(f"{reference}: {history.where} has no such run")
    row = baselines.promote(name, found[0], arguments.reason)
    return _tell(arguments, row, f"{name}: now run {found[0].id} of {_commit(found[0])}", "")


def _promote_clean(arguments: argparse.Namespace, baselines: "Baselines") -> int:
    from ..system.git import default_branch

    _expect(arguments, "promote [NAME] --after-clean N [--branch B]", 0, 1)
    branch = arguments.branch or default_branch()
    if branch is None:
        refuse("no default branch is known here; name one: --branch NAME")
    row = baselines.update(branch, arguments.names[0] if arguments.names else None, arguments.after_clean)
    if row is None:
        message = f"{branch}: unchanged; its last {count(arguments.after_clean, 'run')} are not all clean and new"
        if arguments.json:
            print_document(HEAD | {"row": None, "reason": message})
        elif not arguments.quiet:
            print(message)
        return 0
    return _tell(arguments, row, f"{row.name}: now run {row.run_id}; {row.reason}", "")


def _commit(run: "RunRow") -> str:
    dirty = " with changes" if run.dirty else ""
    return f"commit {run.commit[:12]}{dirty}" if run.commit else "no known commit"


def _tell(arguments: argparse.Namespace, row: Any, text: str, following: str) -> int:
    from ..system.text import printable

    if arguments.json:
        print_document(HEAD | {"row": row.to_dict()})
        return 0
    print(printable(text))
    if following and not arguments.quiet:
        print(f"Next: {following}")
    return 0
