"""Who listens to a bot, and how far it was heard: two rows of `house`, so that all processes of one database agree.

`bot` tells one bot from another; it is no part of its token.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import update
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.clock import iso
from vacancy.store.engine import Tx
from vacancy.store.house import recall
from vacancy.store.schema import house

# Telegram numbers updates upwards, and begins anew anywhere after a week without one.
_BEGINS_ANEW_AFTER: Final = timedelta(days=7)
_NOBODY: Final = "-"


def take(tx: Tx, bot: str, listener: str, for_s: float, is_dead: Callable[[str], bool]) -> bool:
    """Ours from now on: it was nobody's, or ours, or its lease ended, or its holder surely did."""
    now, lease = tx.now(), _lease_of(bot)
    before = recall(tx, lease)
    wanted = f"{iso(now + timedelta(seconds=for_s))} {listener}"
    if before is None:
        return _add(tx, lease, wanted)
    until, _, holder = before.partition(" ")
    if holder != listener and datetime.fromisoformat(until) > now and not is_dead(holder):
        return False
    return _swap(tx, lease, before, wanted)


def renew(tx: Tx, bot: str, listener: str, for_s: float) -> bool:
    """False if another one has it: whoever was late must not take it back."""
    before = _held(tx, bot, listener)
    until = iso(tx.now() + timedelta(seconds=for_s))
    return before is not None and _swap(tx, _lease_of(bot), before, f"{until} {listener}")


def give_up(tx: Tx, bot: str, listener: str) -> None:
    before = _held(tx, bot, listener)
    if before is not None:
        _swap(tx, _lease_of(bot), before, f"{iso(tx.now())} {_NOBODY}")


def holder(tx: Tx, bot: str) -> str | None:
    """Who has the lease this moment, as far as anybody does."""
    until, _, who = (recall(tx, _lease_of(bot)) or "").partition(" ")
    return who if who not in ("", _NOBODY) and datetime.fromisoformat(until) > tx.now() else None


def heard(tx: Tx, bot: str) -> int:
    """The number of the first update that was not handled; 0 at first."""
    kept = recall(tx, _offset_of(bot))
    return int(kept.partition(" ")[0]) if kept else 0


def note_heard(tx: Tx, bot: str, listener: str, offset: int) -> bool:
    """False if another one listens by now. It never moves backwards but when Telegram itself begins anew."""
    now, name = tx.now(), _offset_of(bot)
    held = _held(tx, bot, listener)
    # Written back as it is: whoever takes the lease meanwhile waits for us, or we find that it did.
    if held is None or not _swap(tx, _lease_of(bot), held, held):
        return False
    kept, wanted = recall(tx, name), f"{offset} {iso(now)}"
    if kept is None:
        return _add(tx, name, wanted)
    before, _, at = kept.partition(" ")
    if offset < int(before) and now - datetime.fromisoformat(at) < _BEGINS_ANEW_AFTER:
        return True
    return _swap(tx, name, kept, wanted)


def _held(tx: Tx, bot: str, listener: str) -> str | None:
    kept = recall(tx, _lease_of(bot))
    return kept if kept is not None and kept.partition(" ")[2] == listener else None


def _add(tx: Tx, name: str, value: str) -> bool:
    made = sqlite_insert if tx.dialect == "sqlite" else postgres_insert
    statement = made(house).values(name=name, value=value).on_conflict_do_nothing()
    return tx.execute(statement.execution_options(preserve_rowcount=True)).rowcount == 1


def _swap(tx: Tx, name: str, before: str, after: str) -> bool:
    statement = update(house).where(house.c.name == name, house.c.value == before).values(value=after)
    return tx.execute(statement).rowcount == 1


def _lease_of(bot: str) -> str:
    return f"listener:{bot}"


def _offset_of(bot: str) -> str:
    return f"heard:{bot}"
