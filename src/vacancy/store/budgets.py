"""`budgets`: pace and pause of one upstream, shared by every process and machine that polls it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import bindparam, insert, select, update

from vacancy.clock import MOMENT_S, later
from vacancy.store.engine import Tx
from vacancy.store.prepared import PreparedSelect
from vacancy.store.schema import budgets

_LOCK: Final = PreparedSelect(
    select(budgets.c.paused_at, budgets.c.paused_until, budgets.c.slowed)
    .where(budgets.c.source == bindparam("name"))
    .with_for_update()
)
_SUCCEED: Final = (
    update(budgets)
    .where(budgets.c.source == bindparam("name"), budgets.c.slowed)
    .values(successes=budgets.c.successes + 1)
    .returning(budgets.c.successes)
)


@dataclass(frozen=True, slots=True)
class Budget:
    slowed: bool
    paused_until: datetime | None  # None when nothing keeps us from asking


def lock(tx: Tx, now: datetime, name: str) -> Budget:
    """Nobody else claims from this budget until the transaction ends: leases are counted, then taken."""
    rows = tx.read(_LOCK, {"name": name})
    if not rows:
        return Budget(slowed=False, paused_until=None)
    ((paused_at, paused_until, slowed),) = rows
    # A pause that begins in the future was written before the clock was set back: it cannot be trusted to end.
    paused = paused_at is not None and paused_at <= later(now, MOMENT_S) and now < paused_until
    return Budget(slowed=slowed, paused_until=paused_until if paused else None)


def ensure(tx: Tx, name: str) -> None:
    if tx.execute(select(budgets.c.source).where(budgets.c.source == name)).scalar() is None:
        tx.execute(insert(budgets).values(source=name))


def pause(tx: Tx, now: datetime, name: str, seconds: float, reason: str) -> None:
    """Never cuts short a longer pause that runs already."""
    running = lock(tx, now, name).paused_until
    until = later(now, seconds)
    values: dict[str, Any] = {"slowed": True, "successes": 0}
    if running is None or until > running:
        values |= {"paused_at": now, "paused_until": until, "reason": reason}
    tx.execute(update(budgets).where(budgets.c.source == name).values(**values))


def succeed(tx: Tx, name: str, enough: int) -> None:
    """One success on the way back to the normal pace."""
    successes = tx.execute(_SUCCEED, {"name": name}).scalar()
    if successes is not None and successes >= enough:
        recovered = {"slowed": False, "successes": 0, "paused_at": None, "paused_until": None, "reason": None}
        tx.execute(update(budgets).where(budgets.c.source == name).values(**recovered))
