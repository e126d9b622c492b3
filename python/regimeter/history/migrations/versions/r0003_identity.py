# SPDX-License-Identifier: Apache-2.0
"""Runs by what they were measured on, as `regimeter.run.identity` has it; two tables go that nothing reads.

Keys of before left out the GPU of a recording, so runs of two models could share one. Each run brings its environments
along, and gets the key of those. Noise floors are kept in a file beside calibrations, changes of level are found anew
with each question.
"""

import json

import sqlalchemy as sa
from alembic import op

from regimeter.history.schema import Utc, json_of, now
from regimeter.run.identity import facts_of, key_of

revision = "0003"
down_revision = "0002"

ENVIRONMENT = sa.table(
    "environment", *(sa.column(name) for name in ("id", "key", "facts")), sa.column("created_at", Utc)
)
RUN = sa.table("run", *(sa.column(name) for name in ("id", "environment_id", "details")))
ACCEPTANCE = sa.table("acceptance", *(sa.column(name) for name in ("id", "environment_id", "run_id")))


def upgrade() -> None:
    """Drop the tables and give runs, and what was accepted of them, their environments."""
    op.drop_table("change_point")
    op.drop_table("noise_floor")
    connection = op.get_bind()
    follows = _rekey_runs(connection)
    for old, new in follows.items():
        change = sa.update(ACCEPTANCE).where(ACCEPTANCE.c.environment_id == old, ACCEPTANCE.c.run_id.is_(None))
        connection.execute(change.values(environment_id=new))
    of_run = sa.select(RUN.c.environment_id).where(RUN.c.id == ACCEPTANCE.c.run_id).scalar_subquery()
    kept = sa.update(ACCEPTANCE).where(ACCEPTANCE.c.run_id.is_not(None), ACCEPTANCE.c.environment_id.is_not(None))
    connection.execute(kept.values(environment_id=of_run))
    used = sa.union(
        sa.select(RUN.c.environment_id), sa.select(ACCEPTANCE.c.environment_id).where(ACCEPTANCE.c.environment_id > 0)
    )
    connection.execute(sa.delete(ENVIRONMENT).where(ENVIRONMENT.c.id.not_in(used)))


def _rekey_runs(connection: sa.Connection) -> dict[int, int]:
    """Return, by the environment of before, that of its newest run."""
    old_facts = {row.id: json.loads(row.facts) for row in connection.execute(sa.select(ENVIRONMENT))}
    numbers = {row.key: row.id for row in connection.execute(sa.select(ENVIRONMENT))}
    follows = {}
    for run in connection.execute(sa.select(RUN).order_by(RUN.c.id)).all():
        facts = facts_of(json.loads(run.details)["environments"])
        runner = old_facts[run.environment_id].get("runner")
        facts = {**facts, "runner": runner} if runner else {k: v for k, v in facts.items() if k != "runner"}
        key = key_of(facts)
        if key not in numbers:
            connection.execute(sa.insert(ENVIRONMENT).values(key=key, facts=json_of(facts), created_at=now()))
            query = sa.select(ENVIRONMENT.c.id).where(ENVIRONMENT.c.key == key)
            numbers[key] = connection.execute(query).scalar_one()
        follows[run.environment_id] = numbers[key]
        connection.execute(sa.update(RUN).where(RUN.c.id == run.id).values(environment_id=numbers[key]))
    return follows
