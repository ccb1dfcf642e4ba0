"""The database, behind two verbs: `write` runs a function in one transaction, `read` in a snapshot.

Functions take the transaction first and are plain and synchronous; async code awaits them here, off the event loop.
SQLite has one writer thread; PostgreSQL has a pool. Nothing else in the house opens a connection.
"""

from __future__ import annotations

import importlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import (
    Connection,
    CursorResult,
    Engine,
    Executable,
    Text,
    bindparam,
    create_engine,
    event,
    func,
    literal_column,
    select,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DatabaseError, InvalidatePoolError, OperationalError
from sqlalchemy.pool import QueuePool

from vacancy.clock import Clock
from vacancy.errors import StoreError
from vacancy.store import bells
from vacancy.store.bells import Bell
from vacancy.store.prepared import Prepared, PreparedSelect
from vacancy.store.threads import Threads

P = ParamSpec("P")
T = TypeVar("T")

_BUSY_TIMEOUT_S: Final = 10.0
_READERS: Final = 4
_POSTGRES_CONNECTIONS: Final = 8
_TRUSTED_FOR_S: Final = 1.0
_DATABASE_TIME: Final = "SELECT clock_timestamp()"
_NOTIFY: Final = Prepared(select(func.pg_notify(literal_column("'vacancy'"), bindparam("notice", type_=Text))))


class Tx:
    """One transaction. `now()` is the time by which leases, pauses and events go."""

    __slots__ = ("_clock", "_name", "_now", "_pipeline", "_unanswered", "connection", "dialect", "rung")

    def __init__(self, connection: Connection, clock: Clock | None, name: str) -> None:
        self.connection = connection
        self.dialect = connection.dialect.name
        self.rung: set[str] = set()
        self._clock = clock
        self._name = name
        self._now: datetime | None = None
        self._pipeline: Any = None
        self._unanswered = False

    def execute(
        self, statement: Executable, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> CursorResult[*tuple[Any, ...]]:
        if self._pipeline is not None:
            raise RuntimeError("SQLAlchemy waits for each answer: within `together` there are only prepared statements")
        return self.connection.execute(statement, parameters)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Prepared statements in here do not wait for each other's answers: on PostgreSQL most of what small statements
        cost is the way there and back. On SQLite there is no way to go."""
        if self.dialect != "postgresql" or self._pipeline is not None:
            yield
            return
        driver: Any = self.connection.connection.driver_connection
        with driver.pipeline() as self._pipeline:
            try:
                yield
            finally:
                self._pipeline = None

    def post(self, statement: Prepared, rows: Sequence[Mapping[str, Any]]) -> None:
        """The hot path's way, for what nobody counts."""
        if rows:
            self._run(statement, rows)

    def write(self, statement: Prepared, rows: Sequence[Mapping[str, Any]]) -> int:
        """The hot path's way: how many rows were written, all rows' counts together."""
        return self.count(statement, rows)()

    def count(self, statement: Prepared, rows: Sequence[Mapping[str, Any]]) -> Callable[[], int]:
        """A write whose count is looked at later."""
        if not rows:
            return lambda: 0
        cursor = self._run(statement, rows)
        return lambda: self._counted(cursor)

    def _counted(self, cursor: Any) -> int:
        if self._pipeline is not None and self._unanswered:
            self._pipeline.sync()
            self._unanswered = False
        return int(cursor.rowcount)

    def read(self, statement: PreparedSelect, row: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The hot path's way: the rows as plain tuples."""
        return self.ask(statement, row)()

    def ask(self, statement: PreparedSelect, row: Mapping[str, Any]) -> Callable[[], list[tuple[Any, ...]]]:
        """A question whose answer is looked at later, once, so that others may be asked meanwhile."""
        cursor = self._run(statement, (row,))
        return lambda: statement.rows(self.connection.dialect, cursor.fetchall())

    def _run(self, statement: Prepared, rows: Sequence[Mapping[str, Any]]) -> Any:
        cursor = self.connection.connection.cursor()
        statement.run(cursor, self.connection.dialect, rows)
        self._unanswered = True
        return cursor

    def now(self) -> datetime:
        """The same moment through the whole transaction; on PostgreSQL the database's, which all machines share."""
        if self._now is None:
            self._now = self._clock.now() if self._clock else self._database_time()
        return self._now

    def ring(self, name: str) -> None:
        """Ring this bell when the transaction commits, and not if it does not."""
        if self.dialect == "postgresql" and name not in self.rung:
            self.post(_NOTIFY, ({"notice": f"{name} {self._name}"},))
        self.rung.add(name)

    def _database_time(self) -> datetime:
        cursor = self.connection.connection.cursor()
        cursor.execute(_DATABASE_TIME)
        moment: datetime = cursor.fetchall()[0][0].astimezone(UTC)
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


class Store:
    def __init__(self, url: str, clock: Clock, *, database_time: bool = True) -> None:
        """`database_time=False` makes a PostgreSQL store go by `clock`, as SQLite always does."""
        self.url = url
        self.clock = clock
        self.is_sqlite = url.startswith("sqlite")
        # What our own transactions rang, we have heard already when its notice comes back to us.
        self._name = secrets.token_hex(8)
        self.bells: dict[str, Bell] = {name: Bell() for name in bells.NAMES}
        self._tx_clock = clock if self.is_sqlite or not database_time else None
        self._writer, self._reader = _sqlite_engines(url) if self.is_sqlite else _postgres_engines(url)
        self._driver_trouble: type[Exception] = self._writer.dialect.loaded_dbapi.OperationalError
        self._one_writer = threading.Lock()
        self._kept: Connection | None = None
        writers = 1 if self.is_sqlite else _POSTGRES_CONNECTIONS
        self._write_threads = Threads(writers, "vacancy-write")
        self._read_threads = Threads(_READERS, "vacancy-read")

    @property
    def path(self) -> Path | None:
        """Where the SQLite database lies."""
        return sqlite_path(self.url) if self.is_sqlite else None

    def write(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return self._write_threads.run(lambda: self.write_now(fn, *args, **kwargs))

    def read(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return self._read_threads.run(lambda: self.read_now(fn, *args, **kwargs))

    def write_now(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self._speaking_plainly(), self._writing() as connection:
            tx = Tx(connection, self._tx_clock, self._name)
            result = fn(tx, *args, **kwargs)
        for name in tx.rung:
            self.bells[name].ring()
        return result

    def read_now(self, fn: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self._speaking_plainly(), self._reader.begin() as connection:
            return fn(Tx(connection, self._tx_clock, self._name), *args, **kwargs)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """SQLite's writer keeps its one connection: to check it out anew costs more than a small transaction does."""
        if not self.is_sqlite:
            with self._writer.begin() as connection:
                yield connection
            return
        with self._one_writer:
            if self._kept is None:
                self._kept = self._writer.connect()
            with self._kept.begin():
                yield self._kept

    @contextmanager
    def _speaking_plainly(self) -> Iterator[None]:
        try:
            yield
        except (OperationalError, self._driver_trouble) as error:
            said = error.orig if isinstance(error, OperationalError) else error
            raise StoreError(f"the database does not answer: {str(said).strip().splitlines()[0]}") from error
        except (DatabaseError, sqlite3.DatabaseError) as error:
            said = error.orig if isinstance(error, DatabaseError) else error
            # Of this very type is what SQLite says of a file; its heirs are faults of ours.
            if type(said) is not sqlite3.DatabaseError:
                raise
            raise StoreError(f"cannot read {self.path}: {said}; name another file, or put back a backup") from error

    async def listen(self) -> None:
        """Ring our bells for what other processes committed, until cancelled. Polling stays the truth beneath."""
        name = "vacancy.store.sqlite_listener" if self.is_sqlite else "vacancy.store.postgres_listener"
        module = importlib.import_module(name)
        with self._speaking_plainly():
            await module.listen(self.url, self.clock, lambda bell: self.bells[bell].ring(), self._name)

    def close(self) -> None:
        self._write_threads.close()
        self._read_threads.close()
        if self._kept is not None:
            self._kept.close()
        self._writer.dispose()
        self._reader.dispose()


def sqlite_path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def connect_sqlite(path: Path, *, read_only: bool) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    except sqlite3.OperationalError as error:
        raise StoreError(f"cannot open {path}: {error}; does its folder exist, and may we write to it?") from error
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "temp_store = MEMORY",
        "journal_size_limit = 67108864",
        f"query_only = {int(read_only)}",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _sqlite_engines(url: str) -> tuple[Engine, Engine]:
    path = sqlite_path(url)
    # Named, for without a file in the URL SQLAlchemy would take a pool that closes connections which others still use.
    pool = {"poolclass": QueuePool, "max_overflow": 0, "hide_parameters": True}
    writer = create_engine("sqlite://", creator=lambda: connect_sqlite(path, read_only=False), pool_size=1, **pool)
    reader = create_engine(
        "sqlite://", creator=lambda: connect_sqlite(path, read_only=True), pool_size=_READERS, **pool
    )
    # A deferred BEGIN that turns into a write fails with "database is locked"; IMMEDIATE waits its turn instead.
    event.listen(writer, "begin", lambda connection: connection.connection.execute("BEGIN IMMEDIATE"))
    event.listen(reader, "begin", lambda connection: connection.connection.execute("BEGIN"))
    return writer, reader


def _postgres_engines(url: str) -> tuple[Engine, Engine]:
    size = _POSTGRES_CONNECTIONS
    # The one used last is taken first: it has our statements prepared.
    options = {"pool_size": size, "max_overflow": _READERS, "pool_use_lifo": True, "hide_parameters": True}
    try:
        engine = create_engine(make_url(url), **options)
    except ModuleNotFoundError as error:
        raise StoreError("PostgreSQL needs the extra `postgres`: pip install '.[postgres]', in the checkout") from error
    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", lambda connection, record, _: _ping_the_rested(engine, connection, record))
    # A reader that asks twice in one read sees one moment, as it does on SQLite.
    return engine, engine.execution_options(isolation_level="REPEATABLE READ")


def _note_use(_connection: Any, record: Any) -> None:
    record.info["used_at"] = time.monotonic()


def _ping_the_rested(engine: Engine, connection: Any, record: Any) -> None:
    """Whether it is still there. One that was used a moment ago is not asked: the way there and back costs as much as
    a small transaction, and one that broke since then is an error like any other."""
    if time.monotonic() - record.info.get("used_at", 0.0) < _TRUSTED_FOR_S:
        return
    try:
        engine.dialect.do_ping(connection)
    except engine.dialect.loaded_dbapi.Error as trouble:
        raise InvalidatePoolError from trouble
