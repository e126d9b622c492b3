# SPDX-License-Identifier: Apache-2.0
"""Columns of result tables for the page: whole numbers by their bytes, compressed, with names numbered anew."""

import base64
import gzip
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..system.arrays import np

if TYPE_CHECKING:
    from ..public.run import Run

MOST_BYTES = 7  # of a whole number: a double holds 2**53 exactly, and no time is longer


def packed(values: Any, *, steps: bool = False) -> dict[str, Any]:
    """Return a column as {type, data}; with `steps`, differences to the value before, which compress better.

    Whole numbers (`u` or `i` with their bits) are kept in as few bytes as hold them all, all lowest bytes first, then
    the next: high bytes are alike, so they take next to nothing. `f64` is a little-endian double. A column of one whole
    number is {type: "same", value}. The data are compressed, as text.
    """
    made = bare(values, steps=steps)
    return made | {"data": _compressed(made["data"])} if "data" in made else made


def bare(values: Any, *, steps: bool = False) -> dict[str, Any]:
    """Return a column as `packed` does, its data as they are: bytes."""
    column = np.asarray(values)
    if column.dtype.kind in "iu" and len(column) and (column == column[0]).all():
        return {"type": "same", "value": int(column[0])}
    if steps:
        column = np.diff(column, prepend=column.dtype.type(0))
    made = _doubles(column) if column.dtype.kind == "f" else _integers(column)
    return made | {"steps": True} if steps else made


def _doubles(column: Any) -> dict[str, Any]:
    return {"type": "f64", "data": column.astype("<f8").tobytes()}


def _integers(column: Any) -> dict[str, Any]:
    low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    signed = low < 0
    needed = max(1, (max(high, -low - 1).bit_length() + signed + 7) // 8)
    if needed > MOST_BYTES:
        return _doubles(column)
    planes = column.astype("<i8" if signed else "<u8").view("u1").reshape(-1, 8)[:, :needed].T
    return {"type": f"{'i' if signed else 'u'}{8 * needed}", "data": planes.tobytes()}


def _compressed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode("ascii")


def binary(document: Any) -> bytes:
    """Return a document with `bare` columns as bytes: the length of its JSON (4 bytes, lowest first), the JSON, the
    columns' data one after the other. In the JSON, `data` is the place of the first byte and their number.
    """
    parts: list[bytes] = []
    at = 0

    def placed(data: object) -> list[int]:
        nonlocal at
        if not isinstance(data, bytes):
            raise TypeError(f"a document holds {type(data).__name__}, which JSON has no form for")
        parts.append(data)
        at += len(data)
        return [at - len(data), len(data)]

    text = json.dumps(document, separators=(",", ":"), default=placed).encode()
    return len(text).to_bytes(4, "little") + text + b"".join(parts)


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
