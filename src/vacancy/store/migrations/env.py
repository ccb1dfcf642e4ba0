"""Alembic's entry: it runs on the connection, and in the transaction, that `migrate` hands it."""

from __future__ import annotations

from alembic import context

from vacancy.store.schema_base import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transaction_per_migration=False,
)
context.run_migrations()
