"""How a group lived: when it opened, how long what opened stayed open. Of all its targets, also those long gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Text, bindparam, case, func, select, type_coerce

from vacancy.model.availability import CLOSED, OPEN
from vacancy.store import open_slots, venues
from vacancy.store.engine import Tx
from vacancy.store.open_slots import OpenNow, Said
from vacancy.store.schema import availability, open_events, targets
from vacancy.store.venues import Venue

_a: Final = availability.c
_e: Final = open_events.c
# Spelt so that no planner walks through the whole source.
_EVENTS: Final = (_e.group_key == bindparam("group"), _e.source + "" == bindparam("source"), _e.status_after == OPEN)
_OPENINGS: Final = (
    select(func.min(_e.event_at), func.count())
    .where(*_EVENTS, _e.event_at >= bindparam("since"))
    .group_by(func.coalesce(_e.lead_event_id, _e.open_event_id))
    .order_by(func.min(_e.open_event_id))
)
_OWN: Final = (_a.group_key == bindparam("group"), targets.c.source == bindparam("source"))
_LAST_STATE: Final = (
    select(type_coerce(_a.payload, Text))
    .join_from(availability, targets, _a.target_id == targets.c.target_id)
    .where(*_OWN)
    .order_by(_a.payload.is_(None), _a.opened_at.desc(), _a.snapshot_id.desc())
    .limit(1)
)
_LAST_EVENT: Final = (
    select(type_coerce(_e.payload, Text)).where(*_EVENTS).order_by(_e.open_event_id.desc()).limit(1)
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Opening:
    """What one poll found opened at once."""

    at: datetime
    slots: int


@dataclass(frozen=True, slots=True)
class OpenFor:
    """Of the last episodes that are over; seconds, by nearest rank."""

    episodes: int
    median_s: float | None
    p90_s: float | None


@dataclass(frozen=True, slots=True)
class History:
    words: Said | None
    listed: Venue | None
    openings: Sequence[Opening]
    open_for: OpenFor
    open_now: OpenNow


def of_group(tx: Tx, source: str, group: str, since: datetime) -> History | None:
    """None of one that was never seen, nor listed."""
    who = {"source": source, "group": group}
    last = [row[0] for query in (_LAST_STATE, _LAST_EVENT) for row in tx.execute(query, who)]
    listed = venues.find(tx, source, group)
    if not last and listed is None:
        return None
    said = (open_slots.read_payload(payload) for payload in last)
    return History(
        next((words for words in said if words), None),
        listed,
        [Opening(*row) for row in tx.execute(_OPENINGS, {**who, "since": since})],
        _open_for(tx, who, since),
        open_slots.of_group(tx, source, group),
    )


def _open_for(tx: Tx, who: dict[str, str], since: datetime) -> OpenFor:
    # A slot that lies in two buckets is one slot.
    slots = (
        select(func.max(_seconds_open(tx.dialect)).label("seconds"))
        .join_from(availability, targets, _a.target_id == targets.c.target_id)
        .where(*_OWN, _a.state == CLOSED, _a.closed_at >= bindparam("since"))
        .group_by(_a.item_key)
        .subquery()
    )
    place = func.row_number().over(order_by=slots.c.seconds).label("place")
    ranked = select(slots.c.seconds, place, func.count().over().label("of")).subquery()
    median, p90 = (
        func.max(case((ranked.c.place == (ranked.c.of * share + 99) // 100, ranked.c.seconds))) for share in (50, 90)
    )
    counted = select(func.count(), median, p90).select_from(ranked)
    episodes, *seconds = tx.execute(counted, {**who, "since": since}).one()
    # Neither database's arithmetic keeps the milliseconds whole.
    return OpenFor(episodes, *[None if value is None else round(value, 3) for value in seconds])


def _seconds_open(dialect: str) -> Any:
    if dialect == "postgresql":
        return func.date_part("epoch", _a.closed_at) - func.date_part("epoch", _a.opened_at)
    return (func.julianday(_a.closed_at) - func.julianday(_a.opened_at)) * 86_400
