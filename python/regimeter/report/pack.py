# SPDX-License-Identifier: Apache-2.0
"""Columns of result tables for the page: little-endian typed arrays, compressed, with names numbered anew."""

import base64
import gzip
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..trace import Run

# The narrowest type that holds all values; numbers beyond 32 bits travel as doubles, exact up to 2**53.
_INTEGERS = (("u8", "<u1"), ("u16", "<u2"), ("u32", "<u4"), ("i32", "<i4"))


def packed(values: Any, *, steps: bool = False) -> dict[str, Any]:
    """Return a column as {type, data}; with `steps`, differences to the value before, which compress better."""
    column = np.asarray(values)
    if steps:
        column = np.diff(column, prepend=column.dtype.type(0))
    if column.dtype.kind == "f":
        return _encoded("f64", column.astype("<f8"), steps)
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    for label, dtype in _INTEGERS:
        limits = np.iinfo(dtype)
        if limits.min <= low and high <= limits.max:
            return _encoded(label, column.astype(dtype), steps)
    return _encoded("f64", column.astype("<f8"), steps)


def _encoded(label: str, column: Any, steps: bool) -> dict[str, Any]:
    made = {"type": label, "data": _compressed(column.tobytes())}
    return made | {"steps": True} if steps else made


def _compressed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode("ascii")


class Names:
    """Texts that the page needs, numbered in the order of their first use; 0 is ''."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.texts: list[str] = [""]
        self._numbers: dict[int, int] = {0: 0}

    def number(self, ids: Any) -> Any:
        """Return the page's numbers for an array of the run's name ids."""
        used, places = np.unique(np.asarray(ids), return_inverse=True)
        return np.array([self._one(name) for name in used.tolist()], dtype="uint32")[places]

    def _one(self, name: int) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.texts)
            self.texts.append(self.run.string(name))
        return self._numbers[name]

    def packed(self) -> dict[str, Any]:
        """Return the texts as one compressed JSON list."""
        return {"encoding": "gzip+base64", "data": _compressed(json.dumps(self.texts).encode())}


def packed_table(table: Any, columns: Iterable[str], types: dict[str, str], names: Names, rows: Any) -> dict[str, Any]:
    """Return the columns of a result table, `rows` of them (a slice or an array of row numbers)."""
    made = {}
    count = 0
    for name in columns:
        values = getattr(table, name)[rows]
        count = len(values)
        made[name] = packed(names.number(values) if types[name] == "name" else values)
    return {"count": count, "columns": made}
