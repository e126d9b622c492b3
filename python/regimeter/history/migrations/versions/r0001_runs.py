# SPDX-License-Identifier: Apache-2.0
"""Runs with their samples, comparisons with their verdicts, and what was accepted."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _key() -> sa.Column[int]:
    return sa.Column("id", NUMBER, autoincrement=True, nullable=False)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "environment",
        _key(),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_environment"),
        sa.UniqueConstraint("key", name="uq_environment_key"),
    )
    op.create_table(
        "run",
        _key(),
        sa.Column("uid", sa.String(36), nullable=False),
        sa.Column("environment_id", NUMBER, nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("commit", sa.String(64)),
        sa.Column("branch", sa.Text()),
        sa.Column("tag", sa.Text()),
        sa.Column("dirty", sa.Boolean()),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
        sa.UniqueConstraint("uid", name="uq_run_uid"),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name="fk_run_environment_id_environment"),
    )
    for column in ("environment_id", "commit", "branch", "tag", "created_at"):
        op.create_index(f"ix_run_{column}", "run", [column])
    op.create_table(
        "launch",
        _key(),
        sa.Column("run_id", NUMBER, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_launch"),
        sa.UniqueConstraint("run_id", "number", name="uq_launch_run_id_number"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_launch_run_id_run", ondelete="CASCADE"),
    )
    op.create_table(
        "operation",
        _key(),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_operation"),
        sa.UniqueConstraint("digest", name="uq_operation_digest"),
    )
    op.create_table(
        "sample",
        sa.Column("launch_id", NUMBER, nullable=False),
        sa.Column("operation_id", NUMBER, nullable=False),
        sa.Column("metric", sa.String(32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("values", sa.LargeBinary(), nullable=False),
        sa.Column("total", sa.Double()),
        sa.Column("calls", sa.Double()),
        sa.PrimaryKeyConstraint("launch_id", "operation_id", "metric", name="pk_sample"),
        sa.ForeignKeyConstraint(["launch_id"], ["launch.id"], name="fk_sample_launch_id_launch", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["operation_id"], ["operation.id"], name="fk_sample_operation_id_operation"),
    )
    op.create_index("ix_sample_operation_id", "sample", ["operation_id"])
    _comparisons()


def _comparisons() -> None:
    op.create_table(
        "comparison",
        _key(),
        sa.Column("run_id", NUMBER, nullable=False),
        sa.Column("baseline_run_id", NUMBER),
        sa.Column("baseline", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_comparison"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_comparison_run_id_run", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["baseline_run_id"], ["run.id"], name="fk_comparison_baseline_run_id_run", ondelete="SET NULL"
        ),
    )
    op.create_index("ix_comparison_run_id", "comparison", ["run_id"])
    op.create_table(
        "verdict",
        _key(),
        sa.Column("comparison_id", NUMBER, nullable=False),
        sa.Column("operation_id", NUMBER, nullable=False),
        sa.Column("metric", sa.String(32), nullable=False),
        sa.Column("change_type", sa.String(32), nullable=False),
        *(sa.Column(name, sa.Double()) for name in ("change_percent", "low_percent", "high_percent", "p", "q")),
        sa.Column("conclusive", sa.Boolean(), nullable=False),
        sa.Column("gates", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.String(32), nullable=False),
        sa.Column("tier", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_verdict"),
        sa.ForeignKeyConstraint(
            ["comparison_id"], ["comparison.id"], name="fk_verdict_comparison_id_comparison", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["operation_id"], ["operation.id"], name="fk_verdict_operation_id_operation"),
    )
    op.create_index("ix_verdict_comparison_id", "verdict", ["comparison_id"])
    op.create_index("ix_verdict_operation_id", "verdict", ["operation_id"])
    op.create_table(
        "acceptance",
        _key(),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("run_id", NUMBER),
        sa.Column("environment_id", NUMBER),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("until", sa.Date()),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime()),
        sa.Column("withdrawn_by", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_acceptance"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_acceptance_run_id_run", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["environment_id"], ["environment.id"], name="fk_acceptance_environment_id_environment"
        ),
    )
    op.create_index("ix_acceptance_run_id", "acceptance", ["run_id"])
    op.create_index("ix_acceptance_kind_name", "acceptance", ["kind", "name"])
