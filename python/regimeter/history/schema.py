# SPDX-License-Identifier: Apache-2.0
"""The tables of a history. Migrations own the database; these descriptions are what the last one leads to.

Every name of a constraint follows from the convention, so that a migration can name it on both databases. Texts that
come from outside (names, JSON) hold no NUL and no lone surrogate, which PostgreSQL refuses: see ``text_of``.
"""

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

# The revision that this release reads and writes.
HEAD = "0003"

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite counts up only in a column of its own type INTEGER.
Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class Utc(sa.types.TypeDecorator[datetime]):
    """A moment, stored in UTC without a zone: SQLite has none, and PostgreSQL would convert to the session's."""

    impl = sa.DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Drop the zone after converting to UTC."""
        return value.astimezone(UTC).replace(tzinfo=None) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Say that it is UTC."""
        return value.replace(tzinfo=UTC) if value is not None else None


def _key() -> sa.Column[int]:
    return sa.Column("id", Number, primary_key=True, autoincrement=True)


def _to(column: str, *, nullable: bool = False, index: bool = False) -> sa.Column[int]:
    table = column.split(".")[0]
    # What belongs to a run goes with it; what is shared cannot go while it is used.
    gone = "CASCADE" if table in ("run", "launch", "comparison") else None
    reference = sa.ForeignKey(column, ondelete=gone)
    return sa.Column(f"{table}_id", Number, reference, nullable=nullable, index=index)


environment = sa.Table(
    "environment",
    metadata,
    _key(),
    sa.Column("key", sa.String(64), nullable=False, unique=True),
    sa.Column("facts", sa.Text, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
)

run = sa.Table(
    "run",
    metadata,
    _key(),
    sa.Column("uid", sa.String(36), nullable=False, unique=True),
    _to("environment.id", index=True),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("commit", sa.String(64), index=True),
    sa.Column("branch", sa.Text, index=True),
    sa.Column("tag", sa.Text, index=True),
    sa.Column("dirty", sa.Boolean),
    # recorded: not judged; clean: judged, nothing got slower; regressed: judged, something did; rejected: unfit
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("details", sa.Text, nullable=False),
    sa.Column("created_at", Utc, nullable=False, index=True),
)

launch = sa.Table(
    "launch",
    metadata,
    _key(),
    _to("run.id"),
    sa.Column("number", sa.Integer, nullable=False),
    sa.UniqueConstraint("run_id", "number"),
)

operation = sa.Table(
    "operation",
    metadata,
    _key(),
    # Names can be longer than what an index takes.
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("name", sa.Text, nullable=False),
)

sample = sa.Table(
    "sample",
    metadata,
    sa.Column("launch_id", Number, sa.ForeignKey("launch.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("operation_id", Number, sa.ForeignKey("operation.id"), primary_key=True, index=True),
    sa.Column("metric", sa.String(32), primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),  # of the operation in its run
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("median", sa.Double),  # of the finite values; none when there is none
    sa.Column("values", sa.LargeBinary, nullable=False),  # float64, little-endian
    # Of the operation in its whole run, on its first launch only.
    sa.Column("total", sa.Double),
    sa.Column("calls", sa.Double),
)

comparison = sa.Table(
    "comparison",
    metadata,
    _key(),
    _to("run.id", index=True),
    sa.Column("baseline_run_id", Number, sa.ForeignKey("run.id", ondelete="SET NULL")),
    sa.Column("baseline", sa.Text, nullable=False),
    sa.Column("rule", sa.Text, nullable=False),
    sa.Column("facts", sa.Text, nullable=False),
    sa.Column("exit_code", sa.Integer, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
)

verdict = sa.Table(
    "verdict",
    metadata,
    _key(),
    _to("comparison.id", index=True),
    _to("operation.id", index=True),
    sa.Column("metric", sa.String(32), nullable=False),
    sa.Column("change_type", sa.String(32), nullable=False),
    sa.Column("change_percent", sa.Double),
    sa.Column("low_percent", sa.Double),
    sa.Column("high_percent", sa.Double),
    sa.Column("p", sa.Double),
    sa.Column("q", sa.Double),
    sa.Column("conclusive", sa.Boolean, nullable=False),
    sa.Column("gates", sa.Boolean, nullable=False),
    sa.Column("reason", sa.String(32), nullable=False),
    sa.Column("tier", sa.String(32), nullable=False),
)

# The audit log: rows are added, and marked as withdrawn, never changed otherwise.
acceptance = sa.Table(
    "acceptance",
    metadata,
    _key(),
    sa.Column("kind", sa.String(16), nullable=False),  # baseline: name -> run; operation: pattern that may be slower
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("run_id", Number, sa.ForeignKey("run.id", ondelete="CASCADE"), index=True),
    _to("environment.id", nullable=True),
    sa.Column("action", sa.String(16), nullable=False),  # save, accept, promote, update
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("until", sa.Date),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("withdrawn_at", Utc),
    sa.Column("withdrawn_by", sa.Text),
    sa.Index("ix_acceptance_kind_name", "kind", "name"),
)


def now() -> datetime:
    """Return the moment, in UTC."""
    return datetime.now(UTC)


def text_of(text: str) -> str:
    """Return a text that both databases store: NUL and lone surrogates become their escapes."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def json_of(value: Any) -> str:
    """Return JSON in ASCII; what JSON cannot hold becomes text."""
    return json.dumps(value, sort_keys=True, default=str)


def pack_floats(values: NDArray[np.float64]) -> bytes:
    """Return the values as a blob."""
    return np.ascontiguousarray(values, dtype="<f8").tobytes()


def unpack_floats(blob: bytes) -> NDArray[np.float64]:
    """Return the values of a blob."""
    return np.frombuffer(blob, dtype="<f8").astype(np.float64)


def median_of(values: NDArray[np.float64]) -> float | None:
    """Return the median of what is finite, None when nothing is."""
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else None
