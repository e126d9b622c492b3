# SPDX-License-Identifier: Apache-2.0
"""Where the history is, and connections to it that bear many writers.

SQLite: write-ahead log, a writer takes its lock at the beginning and waits for others up to BUSY_S. A transaction is
either whole or absent, also when its process is killed.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from .. import _core
from .errors import HistoryError

VARIABLE = "REGIMETER_HISTORY"
DEFAULT = Path(".regimeter") / "history.db"
BUSY_S = 120.0


def location(given: str | os.PathLike[str] | None = None) -> str:
    """Return where the history is: as given, as REGIMETER_HISTORY says, or .regimeter/history.db.

    The last is looked for from the working directory upward as far as the repository, and made in the former.
    """
    text = os.fspath(given) if given is not None else os.environ.get(VARIABLE, "")
    if text:
        return text
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / DEFAULT).exists():
            return str(folder / DEFAULT)
        if (folder / ".git").exists():
            break
    return str(here / DEFAULT)


def url_of(text: str) -> sa.URL:
    """Return the address of a database from a URL or a path. HistoryError for another kind of database."""
    if "://" not in text:
        return sa.URL.create("sqlite", database=os.path.abspath(text))
    if text.startswith("file://"):
        return sa.URL.create("sqlite", database=os.path.abspath(text.removeprefix("file://")))
    try:
        url = make_url(text)
    except sa.exc.ArgumentError:
        raise HistoryError(
            "the history's address cannot be read; valid are a path, sqlite:///PATH and postgresql://..."
        ) from None
    kind = url.get_backend_name()
    if kind == "sqlite":
        if not url.database or url.database == ":memory:":
            raise HistoryError("a history in memory would be lost at once; name a file: sqlite:///PATH")
        return url.set(database=os.path.abspath(url.database))
    if kind in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise HistoryError(f"{kind}: no database of a history; valid are a path, sqlite:///PATH and postgresql://...")


def shown(url: sa.URL) -> str:
    """Return the address for messages: a path, or the URL without its password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


def connect(url: sa.URL) -> sa.Engine:
    """Return the engine of a database. UnavailableError when its driver is missing."""
    if url.get_backend_name() == "sqlite":
        return _connect_sqlite(url)
    try:
        # A process of ours is short and may be forked; connections are not kept.
        return sa.create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": 10})
    except ModuleNotFoundError as error:
        raise _core.UnavailableError(
            f"PostgreSQL needs {error.name}; install it with: pip install 'regimeter[postgres]'"
        ) from None


def _connect_sqlite(url: sa.URL) -> sa.Engine:
    path = str(url.database)
    engine = sa.create_engine(url, poolclass=NullPool, creator=lambda: _open_sqlite(path))

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin where we say
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1000)}")
        if not _read_only(path):
            _use_log(connection)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        options = connection.get_execution_options()
        # Batch migrations drop and rename tables, which must not cascade; the switch works outside transactions only.
        keys = "OFF" if options.get("migrating") else "ON"
        connection.exec_driver_sql(f"PRAGMA foreign_keys = {keys}")
        # A transaction that reads first and writes later cannot wait for another writer: it would have read old rows.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writing") else "BEGIN")

    return engine


def _open_sqlite(path: str) -> sqlite3.Connection:
    """Open a file; where this user may not write it, as it lies there: a log beside it could not be made."""
    if not _read_only(path):
        return sqlite3.connect(path, timeout=BUSY_S)
    still = "" if os.path.exists(f"{path}-wal") else "&immutable=1"
    return sqlite3.connect(f"file:{quote(path)}?mode=ro{still}", timeout=BUSY_S, uri=True)


def _read_only(path: str) -> bool:
    return os.path.exists(path) and not (os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK))


def _use_log(connection: sqlite3.Connection) -> None:
    """Turn the write-ahead log on; where two processes do so at once, one is refused without waiting."""
    end = time.monotonic() + BUSY_S
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)


@contextlib.contextmanager
def transaction(engine: sa.Engine, *, writing: bool = False, migrating: bool = False) -> Iterator[sa.Connection]:
    """Run a block in one transaction. HistoryError, in a line, for what the database refuses."""
    writing = writing or migrating
    options = {"writing": writing, "migrating": migrating}
    try:
        with engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection
    except sa.exc.DBAPIError as error:
        reason = str(error.orig).strip().split("\n")[0]
        raise HistoryError(f"{shown(engine.url)}: {reason}{_advice(engine.url, error.orig, writing)}") from error


def _advice(url: sa.URL, error: object, writing: bool) -> str:
    """Return what to do where a database can be read and not changed, or where its file cannot be opened."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF if isinstance(error, sqlite3.Error) else 0
    another = f"name another with --db or {VARIABLE}"
    # insufficient_privilege, and read_only_sql_transaction of a copy for readers
    if writing and (code == sqlite3.SQLITE_READONLY or getattr(error, "sqlstate", "") in ("42501", "25006")):
        return f"; this user may read the history but not change it: ask who keeps it, or {another}"
    if code != sqlite3.SQLITE_CANTOPEN:
        return ""
    if os.path.exists(f"{url.database}-wal"):
        return "; a writer that was killed left a log, which is read where this user may write: copy the folder there"
    return f"; make its folder one that this user may write in, or {another}"
