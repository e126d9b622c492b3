# SPDX-License-Identifier: Apache-2.0
"""Tables of an Nsight Systems export as columns, and the columns of a Run that are made of them."""

import sqlite3
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Columns: TypeAlias = "dict[str, NDArray[Any]]"

PROCESS_BITS = 40  # ids of each process get a range of their own


class Database:
    """The tables of an export, read by the columns that are there."""

    def __init__(self, path: str, name: str) -> None:
        self.name = name
        from urllib.parse import quote

        self._link = sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)
        self._link.text_factory = lambda text: text.decode("utf-8", "replace")
        self._columns: dict[str, frozenset[str]] = {}
        self.rows_read = 0
        for (table,) in self._link.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall():
            found = self._link.execute(f'PRAGMA table_info("{_quoted(table)}")').fetchall()
            self._columns[table] = frozenset(row[1] for row in found)

    def close(self) -> None:
        self._link.close()

    def has(self, table: str, *columns: str) -> bool:
        """Tell whether a table is there, with columns."""
        return table in self._columns and self._columns[table].issuperset(columns)

    def numbers(self, table: str, defaults: dict[str, int], where: str = "") -> "Columns":
        """Return integer columns; what is NULL, and a column that this version lacks, holds its default."""
        known = self._columns.get(table, frozenset())
        if not known:
            return {column: np.zeros(0, dtype=np.int64) for column in defaults}
        cells = [f'COALESCE(CAST("{c}" AS INTEGER), {d})' if c in known else str(d) for c, d in defaults.items()]
        query = f'SELECT {", ".join(cells)} FROM "{table}" {where}'
        rows = np.fromiter(self._link.execute(query), dtype=[(column, np.int64) for column in defaults])
        self.rows_read += len(rows)
        return {column: np.ascontiguousarray(rows[column]) for column in defaults}

    def pairs(self, table: str, key: str, value: str) -> dict[Any, Any]:
        """Return two columns as a dictionary, empty where they are missing."""
        if not self.has(table, key, value):
            return {}
        return dict(self._link.execute(f'SELECT "{key}", "{value}" FROM "{table}"'))

    def rows(self, query: str) -> list[Any]:
        return self._link.execute(query).fetchall()

    def texts(self, table: str, columns: Iterable[str], where: str) -> list[Any]:
        """Return the first of some columns that has a text, row by row."""
        known = [f'"{column}"' for column in columns if self.has(table, column)]
        if not known:
            return []
        known.append("''")
        return [row[0] for row in self._link.execute(f'SELECT COALESCE({", ".join(known)}) FROM "{table}" {where}')]


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
