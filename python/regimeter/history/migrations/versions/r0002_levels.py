# SPDX-License-Identifier: Apache-2.0
"""The median of each sample (a series is read without its blobs), change points, noise floors."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from regimeter.history.schema import median_of, unpack_floats

revision = "0002"
down_revision = "0001"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
CHUNK = 1000


def upgrade() -> None:
    """Add the column, fill it from the values, and add the tables."""
    with op.batch_alter_table("sample") as sample:
        sample.add_column(sa.Column("median", sa.Double()))
    _fill_medians(op.get_bind())
    op.create_table(
        "change_point",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("environment_id", NUMBER, nullable=False),
        sa.Column("operation_id", NUMBER, nullable=False),
        sa.Column("metric", sa.String(32), nullable=False),
        sa.Column("branch", sa.Text()),
        sa.Column("run_id", NUMBER, nullable=False),
        *(sa.Column(name, sa.Double(), nullable=False) for name in ("p", "before", "after")),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_change_point"),
        sa.ForeignKeyConstraint(
            ["environment_id"], ["environment.id"], name="fk_change_point_environment_id_environment"
        ),
        sa.ForeignKeyConstraint(["operation_id"], ["operation.id"], name="fk_change_point_operation_id_operation"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_change_point_run_id_run", ondelete="CASCADE"),
    )
    op.create_index("ix_change_point_operation_id", "change_point", ["operation_id"])
    op.create_table(
        "noise_floor",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("environment_id", NUMBER, nullable=False),
        sa.Column("operation_id", NUMBER),
        sa.Column("metric", sa.String(32), nullable=False),
        sa.Column("floor", sa.Double(), nullable=False),
        sa.Column("repeats", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_noise_floor"),
        sa.ForeignKeyConstraint(
            ["environment_id"], ["environment.id"], name="fk_noise_floor_environment_id_environment"
        ),
        sa.ForeignKeyConstraint(["operation_id"], ["operation.id"], name="fk_noise_floor_operation_id_operation"),
    )
    op.create_index("ix_noise_floor_environment_id", "noise_floor", ["environment_id"])


def _fill_medians(connection: sa.Connection) -> None:
    table = sa.table(
        "sample",
        *(sa.column(name) for name in ("launch_id", "operation_id", "metric", "median")),
        sa.column("values", sa.LargeBinary()),
    )
    keys = [table.c.launch_id, table.c.operation_id, table.c.metric]
    change = (
        sa.update(table)
        .where(*(column == sa.bindparam(f"of_{column.name}") for column in keys))
        .values(median=sa.bindparam("found"))
    )
    last: Any = None
    while True:
        query = sa.select(*keys, table.c["values"]).order_by(*keys).limit(CHUNK)
        if last is not None:
            query = query.where(sa.tuple_(*keys) > sa.tuple_(*(sa.literal(part) for part in last)))
        rows = connection.execute(query).all()
        if not rows:
            return
        names = ("of_launch_id", "of_operation_id", "of_metric")
        found = [dict(zip(names, row[:3], strict=True), found=median_of(unpack_floats(row[3]))) for row in rows]
        connection.execute(change, found)
        last = tuple(rows[-1][:3])
