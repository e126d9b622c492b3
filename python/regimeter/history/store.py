# SPDX-License-Identifier: Apache-2.0
"""Runs in the database: written whole or not at all, found by commit, branch, tag and environment."""

import hashlib
import json
import math
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from ..compare.side import Side
from ..run.identity import facts_of, key_of
from ..system.git import Commit
from ..system.quantities import finite
from . import schema
from .database import connect, location, shown, transaction, url_of
from .errors import HistoryError, NoBaselineError
from .migrate import check
from .schema import json_of, pack_floats, text_of, unpack_floats

if TYPE_CHECKING:
    from ..compare import ProfilerComparison

STATES = ("recorded", "clean", "regressed", "rejected")
# Rows a statement: both databases limit the parameters of one.
CHUNK = 500


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run without its samples. `environment` is the key of where it was measured."""

    id: int
    uid: str
    label: str
    environment: str
    commit: str | None
    branch: str | None
    tag: str | None
    dirty: bool | None
    state: str
    created_at: datetime

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__} | {"created_at": self.created_at.isoformat()}


def open_history(where: str | os.PathLike[str] | None = None, *, create: bool = True) -> "History":
    """Open the history at a path or URL; by default where REGIMETER_HISTORY says, else .regimeter/history.db.

    An empty or absent database gets its tables, unless `create` is False. HistoryError for one that cannot be opened or
    has the tables of another release, NoBaselineError for a file that is absent, UnavailableError when the driver of
    PostgreSQL is missing.
    """
    engine = engine_of(where, create=create)
    check(engine)
    return History(engine)


def engine_of(where: str | os.PathLike[str] | None = None, *, create: bool = True) -> sa.Engine:
    """Return the engine of a database, whatever tables it has."""
    url = url_of(location(where))
    if url.get_backend_name() == "sqlite":
        _make_folder(Path(str(url.database)), create)
    return connect(url)


def _make_folder(path: Path, create: bool) -> None:
    if path.exists():
        return
    if not create:
        raise NoBaselineError(f"{path}: there is no history yet; `regimeter baseline save` begins one")
    made = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    if made and path.parent.name == ".regimeter":
        # A history is no source: keep it out of commits.
        (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")


class History:
    """The runs of a database. Each method is one transaction; any number of processes may call them at once."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine

    @property
    def where(self) -> str:
        """The database, for messages; without a password."""
        return shown(self.engine.url)

    # --- writing -----------------------------------------------------------------------------------------------

    def add(
        self,
        side: Side,
        commit: Commit | None = None,
        *,
        label: str | None = None,
        state: str = "recorded",
        created_at: datetime | None = None,
    ) -> RunRow:
        """Write a run with all its samples, in one transaction, and return it.

        label: what the run is called, by default the side's. state: of recorded, clean, regressed, rejected.
        ValueError for another state, HistoryError when the database refuses.
        """
        if state not in STATES:
            raise ValueError(f"unknown state {state!r}; valid are: {', '.join(STATES)}")
        commit = commit or Commit()
        facts = facts_of(side.environments)
        row: dict[str, Any] = {
            "uid": str(uuid.uuid4()),
            "label": text_of(side.label if label is None else label),
            "commit": commit.commit and text_of(commit.commit)[:64].lower(),
            "branch": _text(commit.branch),
            "tag": _text(commit.tag),
            "dirty": commit.dirty,
            "state": state,
            "details": json_of(
                {
                    "environments": side.environments,
                    "warnings": side.warnings,
                    "memory_mb": side.memory_mb,
                    "devices": side.devices,
                    "launches": side.launches,
                }
            ),
            "created_at": created_at or schema.now(),
        }
        with transaction(self.engine, writing=True) as connection:
            # In this order, and the operations in that of their digests, so that writers cannot wait in a circle.
            row["environment_id"] = _environment(connection, facts)
            operations = intern(connection, _names(side))
            key = connection.execute(sa.insert(schema.run).values(row)).inserted_primary_key
            assert key is not None
            _add_samples(connection, int(key[0]), side, operations)
            return _rows(connection, schema.run.c.id == int(key[0]))[0]

    def add_comparison(
        self,
        run: RunRow,
        comparison: "ProfilerComparison",
        baseline: str,
        baseline_run: RunRow | None = None,
    ) -> None:
        """Keep the verdicts on a run, and its state by them: regressed when a row fails the gate, else clean."""
        rule = {name: getattr(comparison, name) for name in ("significance_threshold", "alpha", "fdr", "decision")}
        with transaction(self.engine, writing=True) as connection:
            judged = [*comparison.comparisons, *comparison.wholes]
            operations = intern(connection, [row.operation for row in judged])
            key = connection.execute(
                sa.insert(schema.comparison).values(
                    run_id=run.id,
                    baseline_run_id=baseline_run.id if baseline_run else None,
                    baseline=text_of(baseline),
                    rule=json_of(rule),
                    facts=json_of(comparison.facts),
                    exit_code=comparison.exit_code,
                    created_at=schema.now(),
                )
            ).inserted_primary_key
            assert key is not None
            columns = [c.name for c in schema.verdict.c if c.name not in ("id", "comparison_id", "operation_id")]
            rows = [
                {name: getattr(row, name) for name in columns}
                | {
                    "comparison_id": int(key[0]),
                    "operation_id": operations[row.operation],
                    "change_type": row.change_type.value,
                }
                for row in judged
            ]
            _insert(connection, schema.verdict, rows)
            state = "regressed" if comparison.failures or comparison.whole_failures else "clean"
            connection.execute(sa.update(schema.run).where(schema.run.c.id == run.id).values(state=state))

    # --- reading -----------------------------------------------------------------------------------------------

    def runs(
        self,
        *,
        commit: str | None = None,
        branch: str | None = None,
        tag: str | None = None,
        environment: str | None = None,
        states: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[RunRow]:
        """Return the runs of a commit (its full name or how it begins), branch, tag, environment; newest first."""
        columns, wanted = schema.run.c, []
        if commit is not None:
            wanted.append(columns.commit.startswith(commit.lower(), autoescape=True))
        if branch is not None:
            wanted.append(columns.branch == text_of(branch))
        if tag is not None:
            wanted.append(columns.tag == text_of(tag))
        if environment is not None:
            wanted.append(schema.environment.c.key == environment)
        if states is not None:
            wanted.append(columns.state.in_(states))
        with transaction(self.engine) as connection:
            return _rows(connection, *wanted, limit=limit)

    def run(self, number: int) -> RunRow:
        """Return a run by its number. HistoryError when there is none."""
        with transaction(self.engine) as connection:
            found = _rows(connection, schema.run.c.id == number)
        if not found:
            raise HistoryError(f"{self.where}: no run {number}")
        return found[0]

    def side(self, runs: RunRow | Sequence[RunRow], label: str | None = None) -> Side:
        """Return runs as one side of a comparison: the launches of all of them, oldest first."""
        chosen = sorted([runs] if isinstance(runs, RunRow) else runs, key=lambda row: row.id)
        side = Side(label if label is not None else ", ".join(row.label for row in chosen))
        with transaction(self.engine) as connection:
            for row in chosen:
                _read(connection, row, side)
        return side

    def operations(self) -> list[str]:
        """Return the names of all operations that a run has."""
        query = sa.select(schema.operation.c.name).where(
            sa.exists().where(schema.sample.c.operation_id == schema.operation.c.id)
        )
        with transaction(self.engine) as connection:
            return sorted(connection.execute(query).scalars())

    def counts(self) -> dict[str, int]:
        """Return the number of rows by table."""
        with transaction(self.engine) as connection:
            return {
                name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
                for name, table in schema.metadata.tables.items()
            }

    def remove(self, run: RunRow) -> None:
        """Remove a run with all that belongs to it. HistoryError while a baseline stands for it."""
        table = schema.acceptance
        with transaction(self.engine, writing=True) as connection:
            held = connection.execute(
                sa.select(table.c.name).where(table.c.run_id == run.id, table.c.withdrawn_at.is_(None))
            ).scalars()
            names = sorted(set(held))
            if names:
                raise HistoryError(f"run {run.id} is the baseline {', '.join(names)}; remove that first")
            connection.execute(sa.delete(schema.run).where(schema.run.c.id == run.id))


# --- rows ---------------------------------------------------------------------------------------------------------


def _text(text: str | None) -> str | None:
    return None if text is None else text_of(text)


def insert_missing(connection: sa.Connection, table: sa.Table) -> Any:
    """Return an insert that leaves out what another writer has already put there."""
    kind = postgresql if connection.dialect.name == "postgresql" else sqlite
    return kind.insert(table).on_conflict_do_nothing()


def _environment(connection: sa.Connection, facts: Mapping[str, Any]) -> int:
    table, key = schema.environment, key_of(facts)
    connection.execute(insert_missing(connection, table).values(key=key, facts=json_of(facts), created_at=schema.now()))
    return int(connection.execute(sa.select(table.c.id).where(table.c.key == key)).scalar_one())


def _names(side: Side) -> list[str]:
    return list(dict.fromkeys(name for samples in side.metrics.values() for name in samples.launches))


def digest_of(name: str) -> str:
    """Return the key of an operation's name."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def intern(connection: sa.Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the numbers of operations, made for those that are new."""
    table = schema.operation
    digests = {digest_of(name): name for name in names}
    ordered, numbers = sorted(digests), {}
    for start in range(0, len(ordered), CHUNK):
        part = ordered[start : start + CHUNK]
        rows = [{"digest": digest, "name": text_of(digests[digest])} for digest in part]
        connection.execute(insert_missing(connection, table), rows)
        found = connection.execute(sa.select(table.c.digest, table.c.id).where(table.c.digest.in_(part)))
        numbers.update({digests[digest]: int(number) for digest, number in found})
    return numbers


def _insert(connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(sa.insert(table), rows)


def _add_samples(connection: sa.Connection, run: int, side: Side, operations: Mapping[str, int]) -> None:
    count = max((len(launches) for s in side.metrics.values() for launches in s.launches.values()), default=0)
    _insert(connection, schema.launch, [{"run_id": run, "number": number} for number in range(count)])
    query = sa.select(schema.launch.c.number, schema.launch.c.id).where(schema.launch.c.run_id == run)
    launches = {int(number): int(key) for number, key in connection.execute(query)}
    rows: list[dict[str, Any]] = []
    for row in _sample_rows(side, operations, launches):
        rows.append(row)
        if len(rows) == CHUNK:
            _insert(connection, schema.sample, rows)
            rows = []
    _insert(connection, schema.sample, rows)


def _sample_rows(side: Side, operations: Mapping[str, int], launches: Mapping[int, int]) -> Iterator[dict[str, Any]]:
    for metric, samples in side.metrics.items():
        for position, (name, parts) in enumerate(samples.launches.items()):
            for number, values in enumerate(parts):
                yield {
                    "launch_id": launches[number],
                    "operation_id": operations[name],
                    "metric": metric,
                    "position": position,
                    "count": len(values),
                    "median": schema.median_of(values),
                    "values": pack_floats(values),
                    "total": finite(samples.totals.get(name)) if number == 0 else None,
                    "calls": samples.calls.get(name) if number == 0 else None,
                }


def _rows(connection: sa.Connection, *wanted: sa.ColumnElement[bool], limit: int | None = None) -> list[RunRow]:
    columns = schema.run.c
    query = (
        sa.select(
            columns.id,
            columns.uid,
            columns.label,
            schema.environment.c.key.label("environment"),
            columns.commit,
            columns.branch,
            columns.tag,
            columns.dirty,
            columns.state,
            columns.created_at,
        )
        .select_from(schema.run.join(schema.environment))
        .where(*wanted)
        .order_by(columns.created_at.desc(), columns.id.desc())
        .limit(limit)
    )
    return [RunRow(**row._mapping) for row in connection.execute(query)]


def copies(connection: sa.Connection, runs: Iterable[int], known: Iterable[str] = ()) -> set[int]:
    """Return which of the runs are of processes that an earlier one of them has, or that are known: they count once."""
    wanted, seen, found = sorted(runs), set(known), set[int]()
    for start in range(0, len(wanted), CHUNK):
        columns = schema.run.c
        query = sa.select(columns.id, columns.details).where(columns.id.in_(wanted[start : start + CHUNK]))
        for number, details in connection.execute(query.order_by(columns.id)):
            launches = _launches(json.loads(details))
            if launches and seen.issuperset(launches):
                found.add(int(number))
            seen.update(launches)
    return found


def _launches(details: Mapping[str, Any]) -> list[str]:
    found: list[str] = details.get("launches", [])  # a run that was kept by an earlier release has none
    return found


def _read(connection: sa.Connection, run: RunRow, side: Side) -> None:
    details = json.loads(
        connection.execute(sa.select(schema.run.c.details).where(schema.run.c.id == run.id)).scalar_one()
    )
    launches = _launches(details)
    again = [launch for launch in launches if launch in side.launches]
    if again and len(again) == len(launches):
        side.warnings.append(f"{side.label}: run {run.id} is of the same process as an earlier one: it counts once")
        return
    if again:
        side.warnings.append(f"{side.label}: {len(again)} processes of run {run.id} are of an earlier one, too")
    side.launches += launches
    side.environments += details["environments"]
    side.warnings += details["warnings"]
    side.devices |= {name: (place[0], place[1]) for name, place in details.get("devices", {}).items()}
    for name, peak in details["memory_mb"].items():
        side.memory_mb[name] = max(side.memory_mb.get(name, peak), peak)
    sample = schema.sample.c
    number = schema.launch.c.number
    query = (
        sa.select(schema.operation.c.name, sample.metric, number, sample["values"], sample.total, sample.calls)
        .select_from(schema.sample.join(schema.launch).join(schema.operation))
        .where(schema.launch.c.run_id == run.id)
        .order_by(sample.metric, sample.position, number)
    )
    for name, metric, at, blob, total, calls in connection.execute(query):
        # A total that is no number is none in the database.
        whole = 0.0 if at else math.nan if total is None else total
        side.metric(metric).add(name, unpack_floats(blob), whole, calls or 0.0)
