# SPDX-License-Identifier: Apache-2.0
"""Which schema a database has, and how it gets the present one. A migration is one transaction on both databases."""

from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from .database import shown, transaction
from .errors import HistoryError
from .schema import HEAD

# Of an advisory lock in PostgreSQL: two processes that migrate wait for each other.
LOCK = 0x72676D


@dataclass(frozen=True, slots=True)
class State:
    """The revision of a database, None when it is empty, and that of this release."""

    revision: str | None
    head: str

    @property
    def current(self) -> bool:
        """Whether the database can be read and written."""
        return self.revision == self.head


def state_of(engine: sa.Engine) -> State:
    """Return which schema the database has."""
    with transaction(engine) as connection:
        return State(_revision(connection), HEAD)


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    row = connection.execute(sa.text("SELECT version_num FROM alembic_version")).first()
    return str(row[0]) if row else None


def migrate(engine: sa.Engine, revision: str = HEAD) -> tuple[str | None, str]:
    """Bring the database to a revision, all or nothing; return the revisions before and after.

    HistoryError when a newer release has made the database.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    with transaction(engine, migrating=True) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        before = _revision(connection)
        if before is not None and before not in known:
            raise HistoryError(_newer(engine, before))
        if before != revision:
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    return before, revision


def check(engine: sa.Engine) -> None:
    """Make the tables of an empty database; HistoryError when it has other ones than this release uses."""
    state = state_of(engine)
    if state.current:
        return
    if state.revision is None:
        migrate(engine)
    elif state.revision < HEAD:
        raise HistoryError(
            f"{shown(engine.url)}: made by an older release (schema {state.revision}, now {HEAD});"
            " `regimeter history migrate` brings it up to date"
        )
    else:
        raise HistoryError(_newer(engine, state.revision))


def _newer(engine: sa.Engine, revision: str) -> str:
    return f"{shown(engine.url)}: made by a newer release (schema {revision}, this one has {HEAD}); update regimeter"
