# SPDX-License-Identifier: Apache-2.0
"""Which schema a database has, and how it gets the present one. A migration is one transaction on both databases."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from .database import shown, transaction
from .errors import HistoryError
from .schema import HEAD, metadata

if TYPE_CHECKING:
    from alembic.config import Config

# Of an advisory lock in PostgreSQL: two processes that migrate wait for each other.
LOCK = 0x72676D
REVISIONS = "alembic_version"  # the table that names the schema


@dataclass(frozen=True, slots=True)
class State:
    """The revision of a database, None when it is empty, and that of this release."""

    revision: str | None
    head: str
    foreign: tuple[str, ...] = ()  # tables of something else, called like ours

    @property
    def current(self) -> bool:
        """Whether the database can be read and written."""
        return self.revision == self.head

    @property
    def older(self) -> bool:
        """Whether a migration brings it up to date."""
        return not self.current and self.revision in known_revisions()

    def refusal(self, where: str) -> str:
        """Say why neither this release nor a migration can use the database, '' where one can."""
        if self.foreign:
            return f"{where}: a database of something else: its table {self.foreign[0]!r} is not ours; name another"
        if self.revision is None or self.current or self.older:
            return ""
        if self.revision.isdigit() and self.revision > self.head:
            return (
                f"{where}: made by a newer release (schema {self.revision}, this one has {self.head}); update regimeter"
            )
        return f"{where}: schema {self.revision!r} is none of regimeter's; name another database"


def state_of(engine: sa.Engine) -> State:
    """Return which schema the database has."""
    with transaction(engine) as connection:
        return _state(connection)


def _state(connection: sa.Connection) -> State:
    # The names are of one moment, so that tables which another process is making are seen all, with their revision,
    # or none.
    names = set(sa.inspect(connection).get_table_names())
    revision = _revision(connection) if REVISIONS in names else None
    return State(revision, HEAD, () if revision is not None else tuple(sorted(names & set(metadata.tables))))


@functools.cache
def known_revisions() -> frozenset[str]:
    """Return the schemas that this release knows."""
    from alembic.script import ScriptDirectory

    return frozenset(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions())


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def _revision(connection: sa.Connection) -> str | None:
    row = connection.execute(sa.text(f"SELECT version_num FROM {REVISIONS}")).first()
    return str(row[0]) if row else None


def migrate(engine: sa.Engine, revision: str = HEAD) -> tuple[str | None, str]:
    """Bring the database to a revision, all or nothing; return the revisions before and after.

    HistoryError when a newer release, or something else, has made the database.
    """
    from alembic import command

    config = _config()
    with transaction(engine, migrating=True) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        state = _state(connection)
        before, reason = state.revision, state.refusal(shown(engine.url))
        if reason:
            raise HistoryError(reason)
        if before != revision:
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    return before, revision


def check(engine: sa.Engine) -> None:
    """Make the tables of an empty database; HistoryError when it has other ones than this release uses."""
    state = state_of(engine)
    if state.current:
        return
    if state.older:
        raise HistoryError(
            f"{shown(engine.url)}: made by an older release (schema {state.revision}, now {HEAD});"
            " `regimeter history migrate` brings it up to date"
        )
    reason = state.refusal(shown(engine.url))
    if reason:
        raise HistoryError(reason)
    migrate(engine)
