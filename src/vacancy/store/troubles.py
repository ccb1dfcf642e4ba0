"""`troubles`: what is wrong in the house, since when, and what the operator has heard of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import insert, select, update

from vacancy.store import bells
from vacancy.store.engine import Tx
from vacancy.store.schema import troubles

_t: Final = troubles.c
BEGAN: Final = "began"
OVER: Final = "over"


@dataclass(frozen=True, slots=True)
class Trouble:
    name: str
    message: str
    since: datetime
    over_at: datetime | None
    told: Mapping[str, str]
    try_after: datetime | None


def begin(tx: Tx, now: datetime, name: str, message: str) -> bool:
    """False if it is known already: a trouble begins once, however often it is seen."""
    known = tx.execute(select(_t.over_at).where(_t.name == name).with_for_update()).one_or_none()
    if known is not None and known.over_at is None:
        return False
    values = {"message": message, "since": now, "over_at": None, "told": {}, "try_after": None}
    if known is None:
        tx.execute(insert(troubles).values(name=name, **values))
    else:
        tx.execute(update(troubles).where(_t.name == name).values(**values))
    tx.ring(bells.TROUBLES)
    return True


def end(tx: Tx, now: datetime, name: str) -> bool:
    ended = tx.execute(
        update(troubles).where(_t.name == name, _t.over_at.is_(None)).values(over_at=now, try_after=None)
    ).rowcount
    if ended:
        tx.ring(bells.TROUBLES)
    return bool(ended)


def running(tx: Tx, prefix: str = "") -> Sequence[Trouble]:
    where = [_t.over_at.is_(None), *([_t.name.startswith(prefix, autoescape=True)] if prefix else [])]
    return [Trouble(*row) for row in tx.execute(select(troubles).where(*where).order_by(_t.since))]


def all_of(tx: Tx) -> Sequence[Trouble]:
    return [Trouble(*row) for row in tx.execute(select(troubles).order_by(_t.since))]


def note_told(tx: Tx, trouble: Trouble, told: Mapping[str, str], try_after: datetime | None) -> None:
    """What a channel took; if the trouble began anew meanwhile, that is another one."""
    tx.execute(
        update(troubles)
        .where(_t.name == trouble.name, _t.since == trouble.since)
        .values(told=dict(told), try_after=try_after)
    )
