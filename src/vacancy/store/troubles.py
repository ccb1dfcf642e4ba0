"""`troubles`: what is wrong in the house, since when, and what the operator has heard of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import delete, or_, select, update
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.store import bells
from vacancy.store.engine import Tx
from vacancy.store.schema import troubles

_t: Final = troubles.c
BEGAN: Final = "began"
OVER: Final = "over"
# A source that cannot be read for so long that those who wait hear of it: the operator has heard of it long before.
OUTAGE: Final = "outage "


@dataclass(frozen=True, slots=True)
class Trouble:
    name: str
    message: str
    since: datetime
    over_at: datetime | None
    told: Mapping[str, str]
    try_after: datetime | None

    def owes(self, channel: str) -> str | None:
        """What this channel of the operator's has yet to hear. Of what ended before it was told, nothing."""
        if self.name.startswith(OUTAGE):
            return None
        heard = self.told.get(channel)
        if self.over_at is None:
            return BEGAN if heard is None else None
        return OVER if heard == BEGAN else None


def begin(tx: Tx, now: datetime, name: str, message: str) -> bool:
    """False if it is known already: a trouble begins once, however often it is seen."""
    values = {"message": message, "since": now, "over_at": None, "told": {}, "try_after": None}
    made = sqlite_insert if tx.dialect == "sqlite" else postgres_insert
    row = made(troubles).values(name=name, **values)
    began = tx.execute(
        row.on_conflict_do_update(index_elements=["name"], set_=values, where=_t.over_at.is_not(None)).returning(
            _t.name
        )
    ).one_or_none()
    if began is None:
        return False
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


def untold(tx: Tx, channels: Sequence[str]) -> Sequence[Trouble]:
    return [each for each in all_of(tx) if any(each.owes(channel) for channel in channels)]


def take_untold(tx: Tx, now: datetime, channels: Sequence[str], again_at: datetime) -> Sequence[Trouble]:
    """Those to be told of now, each ours until `again_at`: no other process tells of them meanwhile."""
    free = or_(_t.try_after.is_(None), _t.try_after <= now)
    return [
        each
        for each in untold(tx, channels)
        if tx.execute(
            update(troubles).where(_t.name == each.name, _t.since == each.since, free).values(try_after=again_at)
        ).rowcount
    ]


def prune(tx: Tx, before: datetime) -> int:
    return tx.execute(delete(troubles).where(_t.over_at < before)).rowcount


def note_told(tx: Tx, trouble: Trouble, told: Mapping[str, str], try_after: datetime | None) -> None:
    """What a channel took; if the trouble began anew meanwhile, that is another one."""
    tx.execute(
        update(troubles)
        .where(_t.name == trouble.name, _t.since == trouble.since)
        .values(told=dict(told), try_after=try_after)
    )
