# SPDX-License-Identifier: Apache-2.0
"""The history as one Parquet file: a row a run, launch, operation and metric, for any tool that reads columns."""

import os
from typing import Any

import sqlalchemy as sa

from .. import _core
from ..system.files import atomic_path
from . import schema
from .database import transaction
from .schema import unpack_floats
from .store import History

ROWS = 20_000


def export_parquet(history: History, path: str | os.PathLike[str]) -> int:
    """Write all samples with the run they belong to, atomically; return the number of rows.

    UnavailableError when pyarrow is missing.
    """
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise _core.UnavailableError("Parquet needs pyarrow; install it with: pip install 'regimeter[arrow]'") from None
    text, real = pyarrow.string(), pyarrow.float64()
    columns = pyarrow.schema(
        [
            ("run", pyarrow.int64()),
            ("uid", text),
            ("label", text),
            ("environment", text),
            ("commit", text),
            ("branch", text),
            ("tag", text),
            ("dirty", pyarrow.bool_()),
            ("state", text),
            ("created_at", pyarrow.timestamp("us", tz="UTC")),
            ("launch", pyarrow.int32()),
            ("operation", text),
            ("metric", text),
            ("median", real),
            ("total", real),
            ("calls", real),
            ("values", pyarrow.list_(real)),
        ]
    )
    count = 0
    with (
        atomic_path(path) as partial,
        parquet.ParquetWriter(partial, columns) as writer,
        transaction(history.engine) as connection,
    ):
        result = connection.execution_options(stream_results=True, yield_per=ROWS).execute(_query())
        for rows in result.partitions(ROWS):
            writer.write_table(pyarrow.Table.from_pylist([_row(row) for row in rows], schema=columns))
            count += len(rows)
    return count


def _query() -> sa.Select[Any]:
    run, sample, launch = schema.run.c, schema.sample.c, schema.launch.c
    return (
        sa.select(
            run.id.label("run"),
            run.uid,
            run.label,
            schema.environment.c.key.label("environment"),
            run.commit,
            run.branch,
            run.tag,
            run.dirty,
            run.state,
            run.created_at,
            launch.number.label("launch"),
            schema.operation.c.name.label("operation"),
            sample.metric,
            sample.median,
            sample.total,
            sample.calls,
            sample["values"],
        )
        .select_from(schema.sample.join(schema.launch).join(schema.operation).join(schema.run).join(schema.environment))
        .order_by(run.id, launch.number, sample.metric, sample.position)
    )


def _row(row: Any) -> dict[str, Any]:
    values = dict(row._mapping)
    values["values"] = unpack_floats(values["values"])
    return values
