"""Brings a database up to date, one migrator at a time, and refuses one that is newer than this code."""

from __future__ import annotations

import importlib
from typing import Final

from sqlalchemy import Connection, inspect, text

from vacancy.errors import StoreError
from vacancy.store.engine import Store, Tx

# The newest migration; a test holds it to what lies in migrations/versions.
HEAD: Final = "0008"
_LOCK: Final = text("SELECT pg_advisory_xact_lock(7310592046)")


def upgrade(store: Store) -> bool:
    """True if something had to be done. Cheap when nothing has: one query, and Alembic is not even imported."""
    if store.read_now(current) == HEAD:
        return False
    return store.write_now(_upgrade_locked)


def current(tx: Tx) -> str | None:
    """The migration that the database is at; None for an empty one."""
    if not inspect(tx.connection).has_table("alembic_version"):
        return None
    return tx.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade_locked(tx: Tx) -> bool:
    # SQLite's writer lock is held already: the transaction began IMMEDIATE.
    if tx.dialect == "postgresql":
        tx.execute(_LOCK)
    at = current(tx)
    if at == HEAD:
        return False
    if at is not None and at > HEAD:
        raise StoreError(
            f"the database is at schema {at}, newer than this version of Vacancy knows ({HEAD}); "
            "start the newer version again, or restore the backup that was made before the upgrade"
        )
    _run_alembic(tx.connection)
    return True


def _run_alembic(connection: Connection) -> None:
    # Imported on use: it costs memory and time that only an outdated database is worth.
    alembic = importlib.import_module("alembic.command")
    config = importlib.import_module("alembic.config").Config()
    config.set_main_option("script_location", "vacancy:store/migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    alembic.upgrade(config, "head")
