"""The database as every process begins with it: brought up to date, whatever state it was found in."""

from __future__ import annotations

import structlog

from vacancy.clock import Clock
from vacancy.store import migrate, upkeep
from vacancy.store.engine import Store

_log = structlog.stdlib.get_logger(__name__)


def open_store(url: str, clock: Clock) -> Store:
    store = Store(url, clock)
    if migrate.upgrade(store):
        _log.info("database brought up to date", schema=migrate.HEAD)
    if taken_at := store.write_now(upkeep.wake_restored):
        _log.warning("this database was restored from a backup; numbers jumped ahead", backup_taken_at=taken_at)
    return store
