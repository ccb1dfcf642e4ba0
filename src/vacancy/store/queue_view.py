"""The queue as its operator looks at it: what waits and why, what failed, how many of each. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, func, or_, select, type_coerce

from vacancy.store import sending, troubles
from vacancy.store.engine import Tx
from vacancy.store.notifications import EXPIRED, FAILED, IS_PENDING, PENDING, SENT, SKIPPED
from vacancy.store.requeue import IS_DEAD
from vacancy.store.schema import open_event_notifications, open_events, subscription_events, subscriptions
from vacancy.store.sending import Halt

STATUSES: Final = (PENDING, SENT, SKIPPED, FAILED, EXPIRED)
_n: Final = open_event_notifications.c
_e: Final = open_events.c
_s: Final = subscriptions.c
_COLUMNS: Final = (
    _n.notification_id, _n.kind, _n.channel, _n.fanout_status, _n.fanout_attempts, _n.created_at, _n.last_attempt_at,
    _n.not_before, _n.locked_by, _n.locked_at, _n.provider_message_id, _n.error, _n.dedupe_key, _n.open_event_id,
    _e.event_at, _e.source, _e.item_key, _e.episode, _e.payload.label("about"), _s.subscription_id, _s.topic, _s.status,
    _s.contact_value, _s.snooze_until,
)  # fmt: skip
_CHANNEL_TROUBLE: Final = "channel:"


@dataclass(frozen=True, slots=True)
class Message:
    """A row, with what it is about and whom it is for. The order is that of the query."""

    notification_id: int
    kind: str
    channel: str
    status: str
    attempts: int
    created_at: datetime
    last_attempt_at: datetime | None
    not_before: datetime | None
    locked_by: str | None
    locked_at: datetime | None
    provider_message_id: str | None
    error: Mapping[str, Any] | None
    dedupe_key: str
    open_event_id: int | None
    event_at: datetime | None
    source: str | None
    item_key: str | None
    episode: int | None
    about: Mapping[str, Any] | None
    subscription_id: int
    topic: str
    subscription_status: str
    contact_value: str | None  # in clear: whoever shows it masks it
    snooze_until: datetime | None


@dataclass(frozen=True, slots=True)
class Share:
    """How many rows of a channel are in a state, and since when the oldest of them is."""

    channel: str
    status: str
    count: int
    oldest: datetime


@dataclass(frozen=True, slots=True)
class Note:
    """A line of a subscription's audit."""

    at: datetime
    event: str
    status: str | None  # of what it waits for, as it was known then
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outside:
    """What keeps a row from going that is not in the row: sending is stopped, its channel does not work."""

    now: datetime
    halt: Halt | None
    broken: Mapping[str, str]  # channel -> what is wrong with it


def messages(
    tx: Tx, statuses: Sequence[str], channel: str | None, at_most: int, after: int = 0, *, newest_first: bool = False
) -> Sequence[Message]:
    where = [_is_one_of(statuses), _n.notification_id > after]
    if channel is not None:
        where.append(_n.channel == channel)
    order = _n.notification_id.desc() if newest_first else _n.notification_id
    return _messages(tx, and_(*where), order, at_most)


def message(tx: Tx, notification_id: int) -> Message | None:
    found = _messages(tx, _n.notification_id == notification_id, _n.notification_id, 1)
    return found[0] if found else None


def messages_of(tx: Tx, subscription_id: int) -> Sequence[Message]:
    return _messages(tx, _n.subscription_id == subscription_id, _n.notification_id, None)


def message_about(tx: Tx, open_event_id: int, channel: str, contact_hash: str) -> Message | None:
    """There is one for a contact and an opening, whichever of its subscriptions it belongs to."""
    which = and_(_n.open_event_id == open_event_id, _n.channel == channel, _n.contact_hash == contact_hash)
    found = _messages(tx, which, _n.notification_id, 1)
    return found[0] if found else None


def _messages(tx: Tx, which: ColumnElement[bool], order: Any, at_most: int | None) -> Sequence[Message]:
    rows = tx.execute(
        select(*_COLUMNS)
        .select_from(open_event_notifications)
        .join(subscriptions, _n.subscription_id == _s.subscription_id)
        .outerjoin(open_events, _n.open_event_id == _e.open_event_id)
        .where(which)
        .order_by(order)
        .limit(at_most)
    )
    return [Message(*row) for row in rows]


def _is_one_of(statuses: Sequence[str]) -> ColumnElement[bool]:
    """Each spelt out: SQLite looks into an index over some of the rows only where it can read which they are."""
    spelt = {PENDING: IS_PENDING, FAILED: IS_DEAD}
    return or_(*(spelt.get(status, _n.fanout_status == status) for status in statuses))


def shares(tx: Tx) -> Sequence[Share]:
    rows = tx.execute(
        select(_n.channel, _n.fanout_status, func.count(), func.min(_n.created_at))
        .group_by(_n.channel, _n.fanout_status)
        .order_by(_n.channel, _n.fanout_status)
    )
    return [Share(*row) for row in rows]


def count_dead(tx: Tx) -> int:
    return int(tx.execute(select(func.count()).where(IS_DEAD)).scalar_one())


def overdue(tx: Tx, before: datetime) -> Mapping[str, int]:
    """Channel -> how many might have gone since before then, and nobody has taken."""
    since = func.coalesce(_n.not_before, _n.created_at)
    rows = tx.execute(
        select(_n.channel, func.count().label("how_many"))
        .where(IS_PENDING, _n.locked_by.is_(None), type_coerce(since, _n.created_at.type) < before)
        .group_by(_n.channel)
    )
    return {row.channel: row.how_many for row in rows}


def audit_of(tx: Tx, subscription_id: int) -> Sequence[Note]:
    a = subscription_events.c
    rows = tx.execute(
        select(a.created_at, a.event_type, a.section_status_snapshot, a.payload)
        .where(a.subscription_id == subscription_id)
        .order_by(a.event_id)
    )
    return [Note(at, event, status, payload or {}) for at, event, status, payload in rows]


def outside(tx: Tx) -> Outside:
    broken = {each.name.removeprefix(_CHANNEL_TROUBLE): each.message for each in troubles.running(tx, _CHANNEL_TROUBLE)}
    return Outside(tx.now(), sending.halt(tx), broken)
