"""The migrations lead to the schema that the code believes in, once, and never backwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from tests.support.clock import ManualClock
from vacancy.errors import StoreError
from vacancy.store import migrate, schema, schema_base, schema_bot, schema_tasks, schema_venues
from vacancy.store.engine import Store, Tx


def differences(tx: Tx) -> list[object]:
    def ours(_object: object, name: str | None, kind: str, _reflected: bool, _compared: object) -> bool:
        # What full-text search needs is no table that SQLAlchemy could describe.
        return not (kind in ("table", "index") and name is not None and "course_search" in name)

    # One collection of tables in several modules: it has those of modules that are imported.
    known = set(schema_base.metadata.tables.values())
    assert {schema.open_events, schema_tasks.task_events, schema_venues.venues, schema_bot.bot_chats} <= known
    context = MigrationContext.configure(tx.connection, opts={"include_object": ours})
    return list(compare_metadata(context, schema_base.metadata))


def test_the_migrations_lead_to_the_schema(store: Store) -> None:
    assert store.read_now(differences) == []


def test_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", "vacancy:store/migrations")
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_heads() == [migrate.HEAD]


def test_an_upgrade_of_what_is_up_to_date_does_nothing(store: Store) -> None:
    assert migrate.upgrade(store) is False


def test_many_that_start_at_once_migrate_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/fresh.db"

    def start(_: int) -> bool:
        store = Store(url, ManualClock())
        try:
            return migrate.upgrade(store)
        finally:
            store.close()

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(start, range(4))) == [False, False, False, True]


def test_a_database_newer_than_the_code_is_refused(sqlite_store: Store) -> None:
    sqlite_store.write_now(lambda tx: tx.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    with pytest.raises(StoreError, match="newer than this version of Vacancy"):
        migrate.upgrade(sqlite_store)


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(f"sqlite:///{tmp_path}/fresh.db", ManualClock())

    run = migrate._run_alembic

    def run_and_fall_over(connection: Connection) -> None:
        run(connection)
        raise StoreError("fell over")

    with monkeypatch.context() as patched:
        patched.setattr(migrate, "_run_alembic", run_and_fall_over)
        with pytest.raises(StoreError, match="fell over"):
            migrate.upgrade(store)
    assert store.read_now(migrate.current) is None
    assert migrate.upgrade(store) is True
    store.close()
