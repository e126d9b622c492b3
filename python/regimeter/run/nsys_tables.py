# SPDX-License-Identifier: Apache-2.0
"""Tables of an Nsight Systems export as columns, and the columns of a Run that are made of them."""

import os
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

import numpy as np

from .format_error import format_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Columns: TypeAlias = "dict[str, NDArray[Any]]"

PROCESS_BITS = 40  # ids of each process get a range of their own
# Steps of SQLite's machine that reading may take. A row of the widest table takes some 150 and at least 20 bytes.
STEPS_OF_ALL, STEPS_PER_BYTE, STEPS_AT_ONCE = 50_000_000, 64, 1_000_000


@dataclass(slots=True)
class Counted:
    """How often something is wrong with the file, how many rows it cost, and where."""

    count: int = 0
    lost: int = 0
    details: list[str] = field(default_factory=list)


class Database:
    """The tables of an export, read by the columns that are there.

    Nothing of the file is run: only real tables are read, no view and no virtual table, functions in the schema are
    off, and reading ends with an error where it takes more steps than a file of that size can need.
    """

    def __init__(self, path: str, name: str) -> None:
        self.name = name
        self._link = sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)
        self._link.text_factory = lambda text: text.decode("utf-8", "replace")
        self._link.execute("PRAGMA trusted_schema = OFF")
        self._steps = STEPS_OF_ALL + STEPS_PER_BYTE * os.path.getsize(path)
        self._link.set_progress_handler(self._count_steps, STEPS_AT_ONCE)
        self._columns: dict[str, frozenset[str]] = {}
        self._views: set[str] = set()
        self.rows_read = 0
        self.anomalies: dict[str, Counted] = {}
        # A virtual table has no page of its own.
        rows = self._link.execute("SELECT name, type = 'table' AND rootpage > 0 FROM sqlite_master "
                                  "WHERE type IN ('table', 'view')").fetchall()  # fmt: skip
        for table, is_table in rows:
            if not is_table:
                self._views.add(table)
                continue
            found = self._link.execute(f'PRAGMA table_info("{_quoted(table)}")').fetchall()
            self._columns[table] = frozenset(row[1] for row in found)

    def close(self) -> None:
        self._link.close()

    def _count_steps(self) -> int:
        self._steps -= STEPS_AT_ONCE
        return self._steps < 0

    def note(self, code: str, detail: str, count: int, lost: int = 0) -> None:
        """Count what is wrong with the file; the details of one code are joined."""
        if not count:
            return
        known = self.anomalies.setdefault(code, Counted())
        known.count += count
        known.lost += lost
        if detail not in known.details:
            known.details.append(detail)

    def has(self, table: str, *columns: str) -> bool:
        """Tell whether a table is there, with columns. FormatError for a view of that name."""
        if table in self._views:
            raise format_error(f"{self.name}: {table} is a view or a virtual table; an export holds plain tables")
        return table in self._columns and self._columns[table].issuperset(columns)

    def sound(self, table: str, columns: Iterable[str]) -> str:
        """Return the condition that these columns hold no text and no bytes; the rows that do are counted."""
        known = [f"typeof(\"{column}\") NOT IN ('text', 'blob')" for column in columns if self.has(table, column)]
        if not known:
            return "1"
        condition = " AND ".join(known)
        ((bad,),) = self.rows(f'SELECT COUNT(*) FROM "{table}" WHERE NOT ({condition})')
        self.note("bad_values", f"{table} holds text or bytes where a number belongs", bad, bad)
        self.rows_read += bad
        return condition if bad else "1"

    def numbers(self, table: str, defaults: dict[str, int], where: str = "", needed: Iterable[str] = ()) -> "Columns":
        """Return integer columns; what is NULL, and a column that this version lacks, holds its default.

        needed: columns that every version writes. Where one is missing, and where a row holds something else than
        a number in one, that is noted; such rows are left out.
        """
        known = self._columns[table] if self.has(table) else frozenset()
        if not known:
            return {column: np.zeros(0, dtype=np.int64) for column in defaults}
        missing = [column for column in needed if column not in known]
        self.note("missing_columns", f"{table} has no {', '.join(missing)}", len(missing))
        where = where or f"WHERE {self.sound(table, needed)}"
        cells = [f'COALESCE(CAST("{c}" AS INTEGER), {d})' if c in known else str(d) for c, d in defaults.items()]
        query = f'SELECT {", ".join(cells)} FROM "{table}" {where}'
        rows = np.fromiter(self._link.execute(query), dtype=[(column, np.int64) for column in defaults])
        self.rows_read += len(rows)
        return {column: np.ascontiguousarray(rows[column]) for column in defaults}

    def pairs(self, table: str, key: str, value: str, keys: str = "integer") -> dict[Any, Any]:
        """Return two columns as a dictionary, empty where they are missing, without keys of another type."""
        if not self.has(table, key, value):
            return {}
        return dict(self._link.execute(f'SELECT "{key}", "{value}" FROM "{table}" WHERE typeof("{key}") = ?', (keys,)))

    def rows(self, query: str) -> list[Any]:
        return self._link.execute(query).fetchall()

    def texts(self, table: str, columns: Iterable[str], where: str) -> list[Any]:
        """Return the first of some columns that has a text, row by row."""
        known = [f'"{column}"' for column in columns if self.has(table, column)]
        if not known:
            return []
        known.append("''")
        return [row[0] for row in self._link.execute(f'SELECT COALESCE({", ".join(known)}) FROM "{table}" {where}')]


def without_doubles(database: Database, table: str, rows: "Columns") -> "Columns":
    """Return the rows without those that say the same as another one in every column, which are counted."""
    if len(next(iter(rows.values()))) < 2:
        return rows
    order = np.lexsort([rows[name] for name in reversed(rows)])
    same = np.ones(len(order) - 1, dtype=bool)
    for values in rows.values():
        ordered = values[order]
        same &= ordered[1:] == ordered[:-1]
    doubles = int(same.sum())
    if not doubles:
        return rows
    database.note("duplicate_rows", f"{table} holds rows twice, the same in every column; one of each is kept", doubles,
                  doubles)  # fmt: skip
    kept = np.sort(order[np.concatenate(([True], ~same))])
    return {name: values[kept] for name, values in rows.items()}


def _quoted(name: str) -> str:
    return name.replace('"', '""')


class Builder:
    """Collects the columns of spans, and the names and lanes that they refer to."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {"": 0}
        self.lanes: dict[tuple[int, ...], int] = {}
        self.parts: list[Columns] = []
        self.tables: dict[str, list[Columns]] = {}
        self.count = 0
        self.processes: dict[int, int] = {}
        self.backward = 0  # rows that end before they start

    def string(self, text: str) -> int:
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()
        return self.strings.setdefault(text, len(self.strings))

    def named(self, ids: "NDArray[Any]", text_of: Callable[[int], str]) -> "NDArray[Any]":
        """Return string numbers for ids; the text of each id is asked for once."""
        unique, inverse = np.unique(ids, return_inverse=True)
        return np.array([self.string(text_of(int(i))) for i in unique], dtype=np.uint32)[inverse]

    def lane(self, *columns: "NDArray[Any]") -> "NDArray[Any]":
        """Return lane numbers for rows of keys."""
        keys, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        numbers = [self.lanes.setdefault(tuple(key), len(self.lanes)) for key in keys.tolist()]
        return np.array(numbers, dtype=np.uint32)[inverse.reshape(-1)]

    def unique_ids(self, ids: "NDArray[Any]", process: "NDArray[Any]") -> "NDArray[Any]":
        """Return correlations that are unique over processes; 0 stands for none."""
        keys, inverse = np.unique(process, return_inverse=True)
        places = [self.processes.setdefault(int(key), len(self.processes)) for key in keys]
        return np.where(ids > 0, ids + (np.array(places, dtype=np.int64)[inverse] << PROCESS_BITS), -1)

    def add(self, columns: "Columns", **others: "Columns") -> None:
        """Add spans, and rows of sparse tables that stand for the same spans, in the same order."""
        rows = len(columns["start_ns"])
        if not rows:
            return
        for table, values in others.items():
            self.tables.setdefault(table, []).append({"span": np.arange(self.count, self.count + rows), **values})
        self.parts.append(columns)
        self.count += rows
