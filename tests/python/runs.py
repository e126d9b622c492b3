# SPDX-License-Identifier: Apache-2.0
"""Small runs for tests, from plain dictionaries: texts are interned, kinds are given by their names."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from regimeter import Run, _core

Rows = Sequence[dict[str, Any]]


def build_run(spans: Rows, lanes: Rows = ({},), **tables: Rows) -> Run:
    """Return a run; rows of one table have the same keys, and what no row names keeps its default."""
    strings: dict[str, int] = {"": 0}
    schema = _core.schema()["run"]

    def column(name: str, key: str, values: list[Any]) -> np.ndarray:
        if key == "kind" and name == "spans":
            values = [_core.SPAN_KINDS.index(v) for v in values]
        values = [strings.setdefault(v, len(strings)) if isinstance(v, str) else v for v in values]
        dtype = next(c["dtype"] for c in schema[name]["columns"] if c["name"] == key)
        return np.array(values, dtype=dtype)

    def table(name: str, rows: Rows) -> dict[str, np.ndarray]:
        rows = [dict(row) or {"process": 0} for row in rows] if name == "lanes" else rows
        return {key: column(name, key, [row[key] for row in rows]) for key in rows[0]} if rows else {}

    filled = {name: table(name, rows) for name, rows in {"spans": spans, "lanes": lanes, **tables}.items()}
    starts = [row["start_ns"] for row in spans]
    ends = [row["start_ns"] + row["duration_ns"] for row in spans]
    built: Run = Run._build(
        list(strings), filled, "{}", "kineto", min(starts, default=0), max(ends, default=0), -1, True
    )
    return built


def kernel(name: str, start: int, duration: int, **more: Any) -> dict[str, Any]:
    """Return the row of a kernel on lane 0."""
    return {"kind": "kernel", "name": name, "start_ns": start, "duration_ns": duration, "lane": 0, **more}
