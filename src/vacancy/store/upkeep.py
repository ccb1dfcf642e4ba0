"""What keeps a database small and sound while it is in use: the write-ahead log, backups, and what a restore needs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import text

from vacancy.clock import iso
from vacancy.errors import StoreError
from vacancy.store import house, notifications
from vacancy.store.engine import Store, Tx, connect_sqlite

_BACKUP_MARK: Final = "backup_taken_at"
# More than was ever handed out between a backup and its restore; and, so that a second restore of the same backup
# jumps past what the first one handed out, more the later it is.
_JUMP: Final = 1_000_000
_JUMP_PER_SECOND: Final = 1_000
_TRUNCATE_ABOVE: Final = 64 * 1024 * 1024
_PAGES_AT_ONCE: Final = 256
_MARK: Final = "INSERT INTO house (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_JUMP_SQLITE: Final = text("UPDATE sqlite_sequence SET seq = seq + :jump")


def checkpoint(store: Store) -> int:
    """Fold the write-ahead log into the database; the size that is left, in bytes. Readers may keep some of it."""
    if store.path is None:
        return 0
    wal = store.path.with_name(store.path.name + "-wal")
    mode = "TRUNCATE" if wal.exists() and wal.stat().st_size > _TRUNCATE_ABOVE else "PASSIVE"
    with closing(connect_sqlite(store.path, read_only=False)) as connection:
        connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    return wal.stat().st_size if wal.exists() else 0


def backup(store: Store, to: Path) -> None:
    """A whole copy while everything runs. It is marked, so that a service started on it knows that it went back."""
    if store.path is None:
        raise StoreError("a PostgreSQL database is backed up with pg_dump; see docs/operations.md")
    if to.exists():
        raise StoreError(f"{to} exists already; a backup never overwrites a file")
    unfinished = to.with_name(to.name + ".part")
    unfinished.unlink(missing_ok=True)
    try:
        _copy(store.path, unfinished, iso(store.clock.now()))
    except sqlite3.Error as error:
        unfinished.unlink(missing_ok=True)
        raise StoreError(f"cannot write the backup {to}: {error}") from error
    unfinished.rename(to)


def _copy(source: Path, target: Path, taken_at: str) -> None:
    with closing(connect_sqlite(source, read_only=True)) as live, closing(sqlite3.connect(target)) as copy:
        live.backup(copy, pages=_PAGES_AT_ONCE)
        # The mark lies in the copy alone: the database that goes on knows nothing of it.
        with copy:
            copy.execute(_MARK, (_BACKUP_MARK, taken_at))
        copy.execute("PRAGMA journal_mode = DELETE")


def wake_restored(tx: Tx) -> str | None:
    """If this database is a backup that was put in place, make its numbers jump ahead of any handed out since it was
    taken, or cursors of readers would point past events to come; and put away what waited, for it may have been sent
    since. Answers when the backup was taken."""
    taken_at = house.recall(tx, _BACKUP_MARK)
    if taken_at is None:
        return None
    if tx.dialect == "sqlite":
        age = max(0, (tx.now() - datetime.fromisoformat(taken_at)) // timedelta(seconds=1))
        tx.execute(_JUMP_SQLITE, {"jump": _JUMP + age * _JUMP_PER_SECOND})
    notifications.expire_all_waiting(tx, tx.now())
    house.forget(tx, _BACKUP_MARK)
    return taken_at


def check(store: Store) -> list[str]:
    """What the database itself finds wrong with it; nothing when it is sound."""
    if store.path is None:
        return []
    with closing(connect_sqlite(store.path, read_only=True)) as connection:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    found += [f"broken reference in {row[0]}, row {row[1]}" for row in broken]
    return found
