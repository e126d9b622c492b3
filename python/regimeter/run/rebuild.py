# SPDX-License-Identifier: Apache-2.0
"""Runs with something changed: a copy of all columns, for what is only known after an import."""

from array import array
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _core

if TYPE_CHECKING:
    from ..public.run import Run

    Tables: TypeAlias = "dict[str, dict[str, Any]]"


def with_rank(run: "Run", rank: int) -> "Run":
    """Return a copy of a run whose lanes and files have a rank."""
    tables = tables_of(run)
    for name in ("lanes", "files"):
        tables.setdefault(name, {})["rank"] = array("i", [rank]) * len(run.table(name))
    return build(run, run.strings, tables)


def with_anomaly(run: "Run", code: str, count: int, detail: str) -> "Run":
    """Return a copy of a run with one anomaly more."""
    import numpy as np

    tables, strings = tables_of(run), run.strings
    row = {"code": _core.ANOMALY_CODES.index(code), "count": count, "detail": len(strings)}
    row |= {"first_ns": -1, "first_offset": -1, "lost": 0}
    described = _core.schema()["run"]["anomalies"]["columns"]
    tables["anomalies"] = {
        column["name"]: np.append(getattr(run.tables.anomalies, column["name"]), row[column["name"]]).astype(
            column["dtype"]
        )
        for column in described
    }
    return build(run, [*strings, detail.encode("utf-8", "replace").decode()], tables)


def tables_of(run: "Run") -> "Tables":
    """Return the columns of all tables that have rows."""
    tables: Tables = {}
    for name in _core.schema()["run"]:
        table = run.table(name)
        if len(table):
            tables[name] = {column: getattr(table, column) for column in table.columns}
    return tables


def build(run: "Run", strings: list[str] | tuple[str, ...], tables: "Tables", *, complete: bool | None = None) -> "Run":
    """Return a run of these tables that is the given one else."""
    unix = -1 if run.start_unix_ns is None else run.start_unix_ns
    built: Run = type(run)._build(
        strings,
        tables,
        run.environment_json,
        run.source,
        run.start_ns,
        run.end_ns,
        unix,
        run.complete if complete is None else complete,
    )
    return built
