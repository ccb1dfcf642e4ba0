"""Every test that asks for `store` runs twice: on SQLite in a temporary file, and on a real PostgreSQL."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

from tests.support.clock import ManualClock
from tests.support.databases import PostgresDatabase, postgres_database
from vacancy.store import migrate
from vacancy.store.engine import Store

settings.register_profile("thorough", max_examples=1000)

# It is only ever processes that are killed here, never the machine: in memory nobody waits for a disk.
_MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes folders of its own there
_ROOM_WANTED = 4 << 30


def _place() -> Path:
    has_room = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM_WANTED
    return _MEMORY if has_room else Path(tempfile.gettempdir())


def _own_folder(config: pytest.Config) -> Path | None:
    """Only where nobody named another. Workers are told of it by the process that started them."""
    given: str | None = config.option.basetemp
    return None if given or _place() != _MEMORY else _MEMORY / f"vacancy-tests-{os.getpid()}"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if own := _own_folder(config):
        config.option.basetemp = str(own)
        config.add_cleanup(lambda: shutil.rmtree(own, ignore_errors=True))


@pytest.fixture(autouse=True, scope="session")
def plain_tracebacks() -> None:
    """What structlog does by itself is to lay out every local variable of every frame: seconds for each."""
    *before, _ = structlog.get_config()["processors"]
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*before, plain])


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresDatabase]:
    """One server for the whole run, one database for each worker."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    # Not below pytest's own folder: its path is too long for a socket, and other runs tidy it up.
    folder = _place() / f"vacancy-postgres-{run[:12]}"
    with postgres_database(folder, f"vacancy_{worker}") as database:
        yield database


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty, migrated database of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/vacancy.db"
    database: PostgresDatabase = request.getfixturevalue("postgres")
    database.empty()
    return database.url


@pytest.fixture
def store(database_url: str, clock: ManualClock) -> Iterator[Store]:
    opened = Store(database_url, clock, database_time=False)
    migrate.upgrade(opened)
    yield opened
    opened.close()


@pytest.fixture
def sqlite_store(tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/vacancy.db", clock)
    migrate.upgrade(opened)
    yield opened
    opened.close()


@pytest.fixture
def postgres_store(postgres: PostgresDatabase, clock: ManualClock) -> Iterator[Store]:
    """Goes by the database's own clock, as in production."""
    postgres.empty()
    opened = Store(postgres.url, clock)
    yield opened
    opened.close()
