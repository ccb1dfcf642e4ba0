"""SQLite has no NOTIFY, but it counts what other connections commit: a look at the count costs microseconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from vacancy.clock import Clock
from vacancy.store import bells
from vacancy.store.engine import connect_sqlite, sqlite_path

_LOOK_EVERY_S: Final = 0.25


async def listen(url: str, clock: Clock, ring: Callable[[str], None], _own_name: str) -> None:
    connection = connect_sqlite(sqlite_path(url), read_only=True)
    try:
        seen = None
        while True:
            (count,) = connection.execute("PRAGMA data_version").fetchone()
            if seen is not None and count != seen:
                for name in bells.NAMES:
                    ring(name)
            seen = count
            await clock.sleep(_LOOK_EVERY_S)
    finally:
        connection.close()
