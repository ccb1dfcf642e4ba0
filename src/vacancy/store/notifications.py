"""`open_event_notifications`: who is to be told of what. The queue; nothing in it is lost, nothing in it twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import and_, bindparam, delete, exists, func, insert, literal, or_, select, true, update
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.model.availability import OPEN
from vacancy.model.subscriptions import HEARING, Subscription
from vacancy.model.topics import ItemName
from vacancy.store import bells
from vacancy.store.engine import Tx
from vacancy.store.schema import availability, open_event_notifications, open_events, subscriptions

PENDING: Final = "pending"
SENT: Final = "sent"
SKIPPED: Final = "skipped"
FAILED: Final = "failed"
EXPIRED: Final = "expired"
ALERT: Final = "alert"
VERIFICATION: Final = "verification"

_n: Final = open_event_notifications.c
_e: Final = open_events.c
_s: Final = subscriptions.c
_COLUMNS: Final = ("open_event_id", "subscription_id", "dedupe_key", "channel", "contact_hash", "not_before",
                   "created_at")  # fmt: skip
# What an event is about is still so: the item is open, in this very episode.
_STILL_SO: Final = and_(
    availability.c.snapshot_id == _e.snapshot_id, availability.c.state == OPEN, availability.c.episode == _e.episode
)


@dataclass(frozen=True, slots=True)
class Lead:
    """An event to fan out, the first of its group, and how far that came."""

    open_event_id: int
    dedupe_key: str
    topic_at: int
    after: int


@dataclass(frozen=True, slots=True)
class Chunk:
    last: int
    size: int


def leads_to_fan_out(tx: Tx, at_most: int) -> Sequence[Lead]:
    """Oldest first; those that another process has in hand are left to it."""
    rows = tx.execute(
        select(_e.open_event_id, _e.dedupe_key, _e.fanout_topic, _e.fanout_after)
        .where(_e.fanned_out_at.is_(None), or_(_e.lead_event_id.is_(None), _e.lead_event_id == _e.open_event_id))
        .order_by(_e.open_event_id)
        .limit(at_most)
        .with_for_update(skip_locked=True)
    )
    return [Lead(*row) for row in rows]


def topics_of(tx: Tx, lead: Lead) -> Mapping[str, bool]:
    """Of the lead's whole group, and whether an item of each is still open in the episode that is told of. The widest
    come first, so that whoever subscribed to a section and to its course is told as of the course; their order never
    changes, since a place in it is kept."""
    rows = tx.execute(
        select(_e.topics, availability.c.snapshot_id.is_not(None))
        .outerjoin(availability, _STILL_SO)
        .where(
            _e.fanned_out_at.is_(None),
            or_(_e.open_event_id == lead.open_event_id, _e.lead_event_id == lead.open_event_id),
        )
        .order_by(_e.open_event_id)
    ).all()
    found: dict[str, bool] = {}
    for topics, still_open in rows:
        for name in reversed(topics):
            found[name] = found.get(name, False) or still_open
    return found


def next_chunk(tx: Tx, topic: str, after: int, at_most: int) -> Chunk | None:
    """The next subscriptions of the topic, whoever they are; None when it has no more."""
    ids = (
        select(_s.subscription_id)
        .where(_s.topic == topic, _s.subscription_id > after)
        .order_by(_s.subscription_id)
        .limit(at_most)
        .subquery()
    )
    last, size = tx.execute(select(func.max(ids.c.subscription_id), func.count())).one()
    return None if last is None else Chunk(last, size)


def queue_chunk(tx: Tx, now: datetime, lead: Lead, topic: str, after: int, up_to: int) -> int:
    """One row for everybody in the chunk who is to hear of it. A row that is there already is left as it is."""
    rows = _wanting(now).where(_s.topic == topic, _s.subscription_id > after, _s.subscription_id <= up_to)
    return _queue(tx, rows, lead.open_event_id, lead.dedupe_key)


def queue_one(tx: Tx, now: datetime, subscription_id: int, open_event_id: int, dedupe_key: str) -> int:
    rows = _wanting(now).where(_s.subscription_id == subscription_id)
    return _queue(tx, rows, open_event_id, dedupe_key)


def _wanting(now: datetime) -> Any:
    return select(
        bindparam("event", type_=_n.open_event_id.type),
        _s.subscription_id,
        bindparam("dedupe", type_=_n.dedupe_key.type),
        _s.contact_type,
        _s.contact_hash,
        _s.snooze_until,
        literal(now, type_=_n.created_at.type),
    ).where(
        _s.status.in_(HEARING),
        _s.since_event_id < bindparam("event", type_=_n.open_event_id.type),
        _s.notified_count < _s.max_notifications,
        _s.wants_open,
        # A topic of one item is not told of what it knows; a wider one is told of each item by itself.
        or_(_s.item_key.is_(None), _s.last_known_section_status != OPEN),
    )


def _queue(tx: Tx, rows: Any, open_event_id: int, dedupe_key: str) -> int:
    made = sqlite_insert if tx.dialect == "sqlite" else postgres_insert
    statement = made(open_event_notifications).from_select(list(_COLUMNS), rows).on_conflict_do_nothing()
    queued = tx.execute(statement, {"event": open_event_id, "dedupe": dedupe_key}).rowcount
    if queued:
        tx.ring(bells.NOTIFICATIONS)
    return queued


def note_progress(tx: Tx, lead: Lead, topic_at: int, after: int) -> None:
    tx.execute(
        update(open_events)
        .where(_e.open_event_id == lead.open_event_id)
        .values(fanout_topic=topic_at, fanout_after=after)
    )


def note_fanned_out(tx: Tx, now: datetime, leads: Sequence[int]) -> None:
    """The whole group of each."""
    tx.execute(
        update(open_events)
        .where(_e.fanned_out_at.is_(None), or_(_e.open_event_id.in_(leads), _e.lead_event_id.in_(leads)))
        .values(fanned_out_at=now)
    )


def running_openings(tx: Tx, source: str, items: Sequence[ItemName], since: int) -> Sequence[tuple[int, str]]:
    """(lead event, its dedupe key) of those of these items that are open now and opened after event `since`."""
    by_target: dict[str, list[str]] = {}
    for item in items:
        by_target.setdefault(item.target_key, []).append(item.item_key)
    leads: set[int] = set()
    for target_key, item_keys in by_target.items():
        leads |= set(
            tx.execute(
                select(func.coalesce(_e.lead_event_id, _e.open_event_id))
                .join(availability, _STILL_SO)
                .where(
                    _e.source == source, _e.target_key == target_key, _e.item_key.in_(item_keys),
                    _e.open_event_id > since, _e.status_after == OPEN,
                )
            ).scalars()
        )  # fmt: skip
    keys = tx.execute(
        select(_e.open_event_id, _e.dedupe_key).where(_e.open_event_id.in_(leads)).order_by(_e.open_event_id)
    )
    return [(row.open_event_id, row.dedupe_key) for row in keys]


def move_to_now(tx: Tx, subscription: Subscription, leads: Sequence[int]) -> int:
    """What waits for this subscription waits no longer than it asks for, and what was passed over comes back."""
    changed = tx.execute(
        update(open_event_notifications)
        .where(
            _n.subscription_id == subscription.subscription_id,
            _n.open_event_id.in_(leads),
            _n.fanout_status.in_((PENDING, SKIPPED)),
            _n.locked_by.is_(None),
        )
        .values(fanout_status=PENDING, not_before=subscription.snooze_until, error=None)
    ).rowcount
    if changed:
        tx.ring(bells.NOTIFICATIONS)
    return changed


def drop_waiting(tx: Tx, subscription_id: int, why: str) -> int:
    """A subscription that ended is told nothing more. What is being sent this moment is its sender's to finish."""
    return tx.execute(
        update(open_event_notifications)
        .where(_n.subscription_id == subscription_id, _n.fanout_status == PENDING, _n.locked_by.is_(None))
        .values(fanout_status=SKIPPED, error={"code": why, "message": "the subscription ended before it was sent"})
    ).rowcount


def expire_ended(tx: Tx) -> int:
    """Alerts whose opening is over: nobody is told of a seat that is gone."""
    opening = open_events.alias("opening")
    still = exists().where(
        or_(opening.c.open_event_id == _n.open_event_id, opening.c.lead_event_id == _n.open_event_id),
        availability.c.snapshot_id == opening.c.snapshot_id,
        availability.c.state == OPEN,
        availability.c.episode == opening.c.episode,
    )
    return tx.execute(
        update(open_event_notifications)
        .where(_n.fanout_status == PENDING, _n.kind == ALERT, _n.locked_by.is_(None), ~still)
        .values(fanout_status=EXPIRED, error={"code": "closed", "message": "it closed before the message was sent"})
    ).rowcount


def queue_verification(tx: Tx, now: datetime, subscription: Subscription, since: datetime) -> bool:
    """One mail to a contact in the time since; False if it has had one."""
    recent = exists().where(
        _n.kind == VERIFICATION, _n.contact_hash == subscription.contact_hash,
        _n.channel == subscription.contact_type, _n.created_at > since, _n.fanout_status != SKIPPED,
    )  # fmt: skip
    if tx.execute(select(true()).where(recent)).scalar():
        return False
    tx.execute(
        insert(open_event_notifications).values(
            kind=VERIFICATION, subscription_id=subscription.subscription_id, channel=subscription.contact_type,
            contact_hash=subscription.contact_hash, created_at=now,
            dedupe_key=f"verification:{subscription.subscription_id}:{int(now.timestamp())}",
        )
    )  # fmt: skip
    tx.ring(bells.NOTIFICATIONS)
    return True


def drop_verification(tx: Tx, subscription_id: int) -> None:
    """Nobody is asked to confirm what is confirmed."""
    tx.execute(
        update(open_event_notifications)
        .where(
            _n.subscription_id == subscription_id,
            _n.kind == VERIFICATION,
            _n.fanout_status == PENDING,
            _n.locked_by.is_(None),
        )
        .values(fanout_status=SKIPPED, error={"code": "verified", "message": "it was confirmed already"})
    )


def prune(tx: Tx, before: datetime, at_most: int) -> int:
    """Rows are numbered as they came: the oldest that are finished go first."""
    old = (
        select(_n.notification_id)
        .where(_n.created_at < before, _n.fanout_status != PENDING)
        .order_by(_n.notification_id)
        .limit(at_most)
    )
    return tx.execute(delete(open_event_notifications).where(_n.notification_id.in_(old))).rowcount
