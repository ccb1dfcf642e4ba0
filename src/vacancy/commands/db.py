"""`vacancy db …`"""

from __future__ import annotations

from pathlib import Path

from vacancy.clock import SystemClock
from vacancy.commands.common import ERR, OUT, as_json, opened, prepare
from vacancy.store import migrate, upkeep
from vacancy.store.engine import Store


def upgrade(config: Path | None, *, json: bool) -> int:
    store = Store(prepare(config).database_url, SystemClock())
    try:
        changed = migrate.upgrade(store)
    finally:
        store.close()
    if json:
        as_json({"schema": migrate.HEAD, "changed": changed})
    else:
        OUT.print(f"The database is {'now' if changed else 'already'} at schema {migrate.HEAD}.")
    return 0


def check(config: Path | None, *, json: bool) -> int:
    with opened(prepare(config)) as store:
        found = upkeep.check(store)
    if json:
        as_json({"sound": not found, "problems": found})
    elif found:
        for problem in found:
            ERR.print(problem, markup=False)
        ERR.print("The database is damaged: stop the service and put back the last backup (docs/operations.md).")
    else:
        OUT.print("The database is sound.")
    return 1 if found else 0


def backup(config: Path | None, to: Path, *, json: bool) -> int:
    with opened(prepare(config)) as store:
        upkeep.backup(store, to)
    if json:
        as_json({"path": str(to), "bytes": to.stat().st_size})
    else:
        OUT.print(f"Backed up to {to} ({to.stat().st_size:,} bytes).")
    return 0
