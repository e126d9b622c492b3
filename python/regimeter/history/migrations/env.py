# SPDX-License-Identifier: Apache-2.0
"""What Alembic calls: run the scripts on the connection, and in the transaction, that ``migrate`` holds."""

from alembic import context

from regimeter.history.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
