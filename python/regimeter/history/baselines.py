# SPDX-License-Identifier: Apache-2.0
"""Baselines by name, what was accepted and why, and what a name stands for.

Nothing moves silently: each save, acceptance, promotion and automatic update is a row with author, time and reason, and
removing one marks it as withdrawn.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from ..compare.result import OperationComparison
from ..compare.side import Side
from ..run.identity import facts_of, key_of
from ..system.git import author_of
from . import schema
from .database import transaction
from .errors import HistoryError, NoBaselineError
from .schema import text_of
from .store import History, RunRow, open_history

BASELINE, OPERATION = "baseline", "operation"
SHA = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)
# What a name cannot be, because something else is called so.
TAKEN = re.compile(r"last|db:.*|.*[,\n\r\t\0].*|\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A row of the audit log: a baseline (`name` stands for run `run_id`) or an accepted pattern of operations."""

    id: int
    kind: str
    name: str
    run_id: int | None
    environment: str | None
    action: str
    author: str
    reason: str
    until: date | None
    created_at: datetime
    withdrawn_at: datetime | None
    withdrawn_by: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value.isoformat() if isinstance(value, date) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class Accepted:
    """The patterns that are accepted, as of when they were."""

    rows: tuple[Baseline, ...]

    @classmethod
    def read(cls, connection: sa.Connection) -> "Accepted":
        """Return the acceptances that were not withdrawn."""
        return cls(tuple(_rows(connection, schema.acceptance.c.kind == OPERATION, _standing())))

    def find(self, operation: str, moment: datetime) -> Baseline | None:
        """Return the newest acceptance of an operation that has not run out at a moment."""
        for row in reversed(self.rows):
            if matches(row.name, operation) and (row.until is None or moment.date() <= row.until):
                return row
        return None

    def covers(self, operation: str, run: RunRow) -> bool:
        """Whether the operation may be slower in a run: accepted, before or after it, for a time that includes it."""
        return self.find(operation, run.created_at) is not None


def matches(pattern: str, operation: str) -> bool:
    """Whether an operation is meant: * stands for any text, ? for any character; names are full of brackets."""
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), operation, re.DOTALL) is not None


class Baselines:
    """The baselines of a history. author: who acts; by default git's user."""

    def __init__(self, history: History, author: str | None = None) -> None:
        self.history = history
        self.author = author or author_of()

    # --- names -----------------------------------------------------------------------------------------------

    @staticmethod
    def check(name: str) -> None:
        """ValueError for what cannot be the name of a baseline."""
        if TAKEN.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of a baseline")

    def save(self, name: str, run: RunRow, reason: str = "") -> Baseline:
        """Let a name stand for a run from now on. ValueError for a name that stands for something else."""
        return self._set(name, run, "save", reason or "saved")

    def promote(self, name: str, run: RunRow, reason: str) -> Baseline:
        """Let a name that exists stand for another run. NoBaselineError when there is no such name."""
        self.find(name)
        return self._set(name, run, "promote", reason)

    def update(self, branch: str, name: str | None = None, after: int = 5) -> Baseline | None:
        """Let the baseline of a branch (called as the branch) stand for its newest run, after N clean runs in a row.

        The runs are those of one environment since the run that the baseline stands for now. Nothing happens, and
        None is returned, while there are fewer, or one of the last N was not judged clean. ValueError for N below 1.
        """
        if after < 1:
            raise ValueError(f"a baseline moves after at least 1 clean run, not {after}")
        name = branch if name is None else name
        with transaction(self.history.engine, writing=True) as connection:
            standing = self._standing(connection, name)
            newest = self.history.runs(branch=branch, limit=1)
            if not newest:
                return None
            runs = self.history.runs(branch=branch, environment=newest[0].environment, limit=after)
            since = standing.run_id if standing else None
            if len(runs) < after or any(run.state != "clean" or (since and run.id <= since) for run in runs):
                return None
            reason = f"{after} clean runs in a row on {branch}: {', '.join(str(run.id) for run in reversed(runs))}"
            return self._write(connection, name, runs[0], "update", reason, "automatic")

    def find(self, name: str) -> Baseline:
        """Return what a name stands for now. NoBaselineError when it stands for nothing."""
        with transaction(self.history.engine) as connection:
            found = self._standing(connection, name)
        if found is None:
            raise NoBaselineError(f"{self.history.where}: no baseline {name!r}; see `regimeter baseline list`")
        return found

    def remove(self, name: str) -> int:
        """Withdraw a name, or an accepted pattern; return how many rows. NoBaselineError when there is none."""
        table = schema.acceptance
        with transaction(self.history.engine, writing=True) as connection:
            done = connection.execute(
                sa.update(table)
                .where(table.c.name == text_of(name), _standing())
                .values(withdrawn_at=schema.now(), withdrawn_by=text_of(self.author))
            )
            if not done.rowcount:
                raise NoBaselineError(f"{self.history.where}: neither a baseline nor an acceptance is called {name!r}")
            return int(done.rowcount)

    def rows(self, *, withdrawn: bool = False) -> list[Baseline]:
        """Return the rows in order: what each name stands for now and what is accepted, or all there ever were."""
        with transaction(self.history.engine) as connection:
            rows = _rows(connection, *([] if withdrawn else [_standing()]))
        if withdrawn:
            return rows
        newest = {row.name: row.id for row in rows if row.kind == BASELINE}
        return [row for row in rows if row.kind == OPERATION or newest[row.name] == row.id]

    # --- acceptances -------------------------------------------------------------------------------------------

    def accept(self, pattern: str, reason: str, until: date | None = None) -> Baseline:
        """Accept that operations of a name or pattern (* and ?) are slower. ValueError without a reason."""
        if not reason.strip():
            raise ValueError("an acceptance needs a reason")
        if not pattern.strip():
            raise ValueError("an acceptance needs a pattern of operations")
        with transaction(self.history.engine, writing=True) as connection:
            return self._add(connection, OPERATION, pattern, None, None, "accept", reason, self.author, until)

    def mark_accepted(self, rows: list[OperationComparison]) -> list[OperationComparison]:
        """Return the rows of a comparison, those that are accepted today with who accepted them and why."""
        with transaction(self.history.engine) as connection:
            accepted = Accepted.read(connection)
        today, marked = schema.now(), []
        for row in rows:
            found = accepted.find(text_of(row.operation), today)
            if found:
                limit = f", until {found.until.isoformat()}" if found.until else ""
                row = replace(row, accepted=f"{found.reason} ({found.author}{limit})")
            marked.append(row)
        return marked

    # --- rows ------------------------------------------------------------------------------------------------

    def _set(self, name: str, run: RunRow, action: str, reason: str) -> Baseline:
        self.check(name)
        if not reason.strip():
            raise ValueError("a baseline is moved for a reason")
        with transaction(self.history.engine, writing=True) as connection:
            return self._write(connection, name, run, action, reason, self.author)

    def _standing(self, connection: sa.Connection, name: str) -> Baseline | None:
        table = schema.acceptance.c
        rows = _rows(connection, table.kind == BASELINE, table.name == text_of(name), _standing())
        return rows[-1] if rows else None

    def _write(
        self, connection: sa.Connection, name: str, run: RunRow, action: str, reason: str, author: str
    ) -> Baseline:
        number = connection.execute(
            sa.select(schema.run.c.environment_id).where(schema.run.c.id == run.id)
        ).scalar_one_or_none()
        if number is None:
            raise HistoryError(f"{self.history.where}: no run {run.id}")
        return self._add(connection, BASELINE, name, run.id, int(number), action, reason, author, None)

    def _add(
        self,
        connection: sa.Connection,
        kind: str,
        name: str,
        run: int | None,
        environment: int | None,
        action: str,
        reason: str,
        author: str,
        until: date | None,
    ) -> Baseline:
        key = connection.execute(
            sa.insert(schema.acceptance).values(
                kind=kind,
                name=text_of(name),
                run_id=run,
                environment_id=environment,
                action=action,
                author=text_of(author),
                reason=text_of(reason),
                until=until,
                created_at=schema.now(),
            )
        ).inserted_primary_key
        assert key is not None
        return _rows(connection, schema.acceptance.c.id == int(key[0]))[0]


def _standing() -> sa.ColumnElement[bool]:
    return schema.acceptance.c.withdrawn_at.is_(None)


def _rows(connection: sa.Connection, *wanted: sa.ColumnElement[bool]) -> list[Baseline]:
    table = schema.acceptance
    columns = [table.c.id, table.c.kind, table.c.name, table.c.run_id, schema.environment.c.key]
    rest = ("action", "author", "reason", "until", "created_at", "withdrawn_at", "withdrawn_by")
    query = (
        sa.select(*columns, *(table.c[name] for name in rest))
        .select_from(table.outerjoin(schema.environment))
        .where(*wanted)
        .order_by(table.c.id)
    )
    return [Baseline(*row) for row in connection.execute(query)]


# --- what a name stands for -------------------------------------------------------------------------------------


def resolve_baseline(
    text: str,
    where: str | os.PathLike[str] | History | None = None,
    environments: list[Mapping[str, Any]] | None = None,
) -> Side:
    """Return the side that a name stands for.

    text: `last` (the newest run), `db:BRANCH` (the baseline of that name, else the newest run of the branch that is not
    regressed), `db:tag:NAME` and `db:commit:SHA` (all their runs together), a commit, or the name of a baseline. where:
    a history, or where it is. environments: those of the other side: only runs of the same environment are taken.
    NoBaselineError when there is none.
    """
    history = where if isinstance(where, History) else open_history(where, create=False)
    key = key_of(facts_of(environments)) if environments is not None else None
    runs = resolve(history, text, key)
    if not runs:
        known = f" of the environment {key}" if key else ""
        raise NoBaselineError(f"{text}: {history.where} has no such run{known}; see `regimeter baseline list`")
    return history.side(runs, f"{text} ({', '.join(f'run {run.id}' for run in reversed(runs))})")


def resolve(history: History, text: str, environment: str | None = None) -> list[RunRow]:
    """Return the runs that a name stands for, newest first; all of one environment."""
    usable = ("recorded", "clean")
    if text == "last":
        return history.runs(environment=environment, states=(*usable, "regressed"), limit=1)
    name = text.removeprefix("db:")
    kind, _, rest = name.partition(":")
    if text.startswith("db:") and kind in ("tag", "commit") and rest:
        found = history.runs(
            tag=rest if kind == "tag" else None,
            commit=rest if kind == "commit" else None,
            environment=environment,
            states=(*usable, "regressed"),
        )
        return _of_one(found, text)
    named = _named(history, name, environment)
    if named is not None:
        return [named]
    if text.startswith("db:"):
        return history.runs(branch=name, environment=environment, states=usable, limit=1)
    if SHA.fullmatch(text):
        return _of_one(history.runs(commit=text, environment=environment, states=(*usable, "regressed")), text)
    return []


def _named(history: History, name: str, environment: str | None) -> RunRow | None:
    try:
        found = Baselines(history, "reader").find(name)
    except NoBaselineError:
        return None
    if found.run_id is None or (environment is not None and found.environment != environment):
        return None
    return history.run(found.run_id)


def _of_one(runs: list[RunRow], text: str) -> list[RunRow]:
    """Keep the runs of the newest one's environment. HistoryError when the text begins several commits."""
    commits = {run.commit for run in runs}
    if ":tag:" not in text and len(commits) > 1:
        raise HistoryError(f"{text}: begins {len(commits)} commits; name more digits")
    return [run for run in runs if run.environment == runs[0].environment]
