# SPDX-License-Identifier: Apache-2.0
"""What ``regimeter baseline ACTION`` does; imported when it is called, for it needs the extra ``history``."""

import argparse
from datetime import UTC, date, datetime
from typing import Any

from ..history import Baselines, NoBaselineError, RunRow
from ..history.baselines import resolve
from ..system.git import default_branch
from ..system.text import count, printable, shorten
from .common import next_step, print_document
from .errors import CommandError
from .kept import add_run
from .place import open_place

HEAD = {"format": "regimeter.baseline", "version": 1}


def _expect(arguments: argparse.Namespace, wanted: str, least: int, most: int | None) -> None:
    given = len(arguments.names)
    if given < least or (most is not None and given > most):
        raise CommandError(f"usage: regimeter baseline {wanted}")


def _save(arguments: argparse.Namespace) -> int:
    _expect(arguments, "save NAME FILE...", 2, None)
    name, *files = arguments.names
    baselines = Baselines(open_place(arguments, create=True))
    baselines.check(name)
    kept = add_run(baselines.history, files, arguments, "recorded")
    row = baselines.save(name, kept, arguments.reason)
    return _tell(arguments, row, f"{name}: run {kept.id} of {_commit(kept)}", next_step("compare", f"db:{name}", "NEW"))


def _accept(arguments: argparse.Namespace) -> int:
    _expect(arguments, "accept --op PATTERN --reason TEXT [--until DATE]", 0, 0)
    if not arguments.op or not arguments.reason.strip():
        raise CommandError("an acceptance names operations and a reason: --op PATTERN --reason TEXT")
    try:
        until = date.fromisoformat(arguments.until) if arguments.until else None
    except ValueError:
        raise CommandError(f"--until {arguments.until}: expected a day such as 2030-12-31") from None
    if until is not None and until < datetime.now(UTC).date():
        raise CommandError(f"--until {until}: that day is over; expected today or a later day")
    row = Baselines(open_place(arguments, create=True)).accept(arguments.op, arguments.reason, until)
    limit = f" until {until}" if until else ""
    return _tell(arguments, row, f"{arguments.op}: accepted{limit} by {row.author}", next_step("baseline", "list"))


def _list(arguments: argparse.Namespace) -> int:
    _expect(arguments, "list [--all]", 0, 0)
    baselines = Baselines(open_place(arguments, create=False))
    rows = baselines.rows(withdrawn=arguments.all)
    if arguments.json:
        head = {"format": "regimeter.baselines", "version": 1, "history": baselines.history.where}
        print_document(head | {"rows": [row.to_dict() for row in rows]})
        return 0
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
    number = Baselines(open_place(arguments, create=False)).remove(arguments.names[0])
    if arguments.json:
        print_document({"name": arguments.names[0], "withdrawn": number})
    elif not arguments.quiet:
        print(f"{arguments.names[0]}: withdrawn; its runs are still there")
    return 0


def _promote(arguments: argparse.Namespace) -> int:
    baselines = Baselines(open_place(arguments, create=False))
    if arguments.after_clean is not None:
        return _promote_clean(arguments, baselines)
    _expect(arguments, "promote NAME RUN --reason TEXT, or promote --after-clean N", 2, 2)
    if not arguments.reason.strip():
        raise CommandError("a baseline is moved for a reason: --reason TEXT")
    name, reference = arguments.names
    history = baselines.history
    found = [history.run(int(reference))] if reference.isdigit() and len(reference) < 7 else resolve(history, reference)
    if not found:
        raise NoBaselineError(f"{reference}: {history.where} has no such run")
    row = baselines.promote(name, found[0], arguments.reason)
    return _tell(arguments, row, f"{name}: now run {found[0].id} of {_commit(found[0])}", "")


def _promote_clean(arguments: argparse.Namespace, baselines: Baselines) -> int:
    _expect(arguments, "promote [NAME] --after-clean N [--branch B]", 0, 1)
    branch = arguments.branch or default_branch()
    if branch is None:
        raise CommandError("no default branch is known here; name one: --branch NAME")
    row = baselines.update(branch, arguments.names[0] if arguments.names else None, arguments.after_clean)
    if row is None:
        message = f"{branch}: unchanged; its last {count(arguments.after_clean, 'run')} are not all clean and new"
        if arguments.json:
            print_document(HEAD | {"row": None, "reason": message})
        elif not arguments.quiet:
            print(message)
        return 0
    return _tell(arguments, row, f"{row.name}: now run {row.run_id}; {row.reason}", "")


def _commit(run: RunRow) -> str:
    dirty = " with changes" if run.dirty else ""
    return f"commit {run.commit[:12]}{dirty}" if run.commit else "no known commit"


def _tell(arguments: argparse.Namespace, row: Any, text: str, following: str) -> int:
    if arguments.json:
        print_document(HEAD | {"row": row.to_dict()})
        return 0
    print(printable(text))
    if following and not arguments.quiet:
        print(f"Next: {following}")
    return 0


HANDLERS = {"save": _save, "accept": _accept, "list": _list, "rm": _remove, "promote": _promote}
