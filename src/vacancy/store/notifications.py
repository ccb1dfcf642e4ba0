"""`open_event_notifications`: who is to be told of what. The queue; nothing in it is lost, nothing in it twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    Select,
    Text,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    true,
    type_coerce,
    update,
)
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.model.availability import OPEN
from vacancy.model.delivery import NOT_WANTED
from vacancy.model.subscriptions import HEARING, Subscription
from vacancy.model.topics import ItemName
from vacancy.store import bells
from vacancy.store.addressees import WAKES, WHOM, hears, is_of, is_of_one_alone, wakes
from vacancy.store.engine import Tx
from vacancy.store.events import of_group
from vacancy.store.prepared import Prepared, PreparedSelect
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
_BEYOND_ALL: Final = 2**63 - 1
_MANY: Final = 100
# Spelt out: SQLite takes an index over some of the rows only where it can read that these are among them.
IS_PENDING: Final = _n.fanout_status == literal_column("'pending'")
# What an event is about is still so: the item is open, in this very episode.
STILL_SO: Final = and_(
    availability.c.snapshot_id == _e.snapshot_id, availability.c.state == OPEN, availability.c.episode == _e.episode
)
# In nobody's hand; and if it was passed over, then for its owner's sake, not because a channel gave it up.
UNTRIED: Final = and_(
    _n.locked_by.is_(None),
    or_(_n.fanout_status == PENDING, and_(_n.fanout_status == SKIPPED, _n.last_attempt_at.is_(None))),
)
# By the text that was written: the column is text in both databases, and its code comes first.
WAS_NOT_WANTED: Final = and_(
    _n.fanout_status == SKIPPED, UNTRIED, type_coerce(_n.error, Text).startswith(f'{{"code":"{NOT_WANTED}"')
)
_BEGUN_ANEW: Final = case((_n.fanout_status == SKIPPED, 0), else_=_n.fanout_attempts)
_OWNER_HEARS: Final = exists().where(
    _s.subscription_id == _n.subscription_id, _s.status.in_(HEARING), _s.notified_count < _s.max_notifications
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


_LEADS: Final = PreparedSelect(
    select(_e.open_event_id, _e.dedupe_key, _e.fanout_topic, _e.fanout_after)
    .where(_e.fanned_out_at.is_(None), or_(_e.lead_event_id.is_(None), _e.lead_event_id == _e.open_event_id))
    .order_by(_e.open_event_id)
    .limit(bindparam("room"))
    .with_for_update(skip_locked=True)
)
_TOPICS: Final = PreparedSelect(
    select(_e.topics, availability.c.snapshot_id.is_not(None))
    .outerjoin(availability, STILL_SO)
    .where(_e.fanned_out_at.is_(None), of_group(_e, bindparam("lead")))
    .order_by(_e.open_event_id)
)
_NEXT_IDS: Final = (
    select(_s.subscription_id)
    .where(_s.topic == bindparam("topic"), _s.subscription_id > bindparam("after"))
    .order_by(_s.subscription_id)
    .limit(bindparam("room"))
    .subquery()
)
_NEXT_CHUNK: Final = PreparedSelect(select(func.max(_NEXT_IDS.c.subscription_id), func.count()))
_WANTING: Final = select(
    bindparam("event", type_=_n.open_event_id.type),
    _s.subscription_id,
    bindparam("dedupe", type_=_n.dedupe_key.type),
    _s.contact_type,
    WHOM,
    WAKES,
    bindparam("now", type_=_n.created_at.type),
).where(
    hears(_s),
    _s.since_event_id < bindparam("event", type_=_n.open_event_id.type),
    _s.notified_count < _s.max_notifications,
    _s.wants_open,
    # A topic of one item is not told of what it knows; a wider one is told of each item by itself.
    or_(_s.item_key.is_(None), _s.last_known_section_status != OPEN),
)
_OF_CHUNK: Final = _WANTING.where(
    _s.topic == bindparam("topic"), _s.subscription_id > bindparam("after"), _s.subscription_id <= bindparam("last")
)
_OF_ONE: Final = _WANTING.where(_s.subscription_id == bindparam("who"))
_PROGRESS: Final = Prepared(
    update(open_events)
    .where(_e.open_event_id == bindparam("lead"))
    .values(fanout_topic=bindparam("topic_at"), fanout_after=bindparam("after"))
)
_FANNED_OUT: Final = Prepared(
    update(open_events)
    .where(_e.fanned_out_at.is_(None), of_group(_e, bindparam("lead")))
    .values(fanned_out_at=bindparam("at"))
)


class _Queue:
    """One row for each that a question finds. A row that is there already is left as it is."""

    def __init__(self, rows: Any) -> None:
        self._plain = Prepared(insert(open_event_notifications).from_select(_COLUMNS, rows))
        self._minding = {
            name: Prepared(made(open_event_notifications).from_select(_COLUMNS, rows).on_conflict_do_nothing())
            for name, made in (("sqlite", sqlite_insert), ("postgresql", postgres_insert))
        }

    def run(self, tx: Tx, row: Mapping[str, Any], size: int) -> int:
        # On PostgreSQL the readiness for it costs a quarter more, and a point to go back to three round trips.
        queued = self._try_plain(tx, row) if tx.dialect == "postgresql" and size > _MANY else None
        if queued is None:
            queued = tx.write(self._minding[tx.dialect], [row])
        if queued:
            tx.ring(bells.NOTIFICATIONS)
        return queued

    def _try_plain(self, tx: Tx, row: Mapping[str, Any]) -> int | None:
        """None if some are queued already, which is rare."""
        try:
            with tx.connection.begin_nested():
                return tx.write(self._plain, [row])
        except tx.connection.dialect.loaded_dbapi.IntegrityError:
            return None


_QUEUE_CHUNK: Final = _Queue(_OF_CHUNK)
_QUEUE_ONE: Final = _Queue(_OF_ONE)


def leads_to_fan_out(tx: Tx, at_most: int) -> Sequence[Lead]:
    """Oldest first; those that another process has in hand are left to it."""
    return [Lead(*row) for row in tx.read(_LEADS, {"room": at_most})]


def topics_of(tx: Tx, lead: Lead) -> Mapping[str, bool]:
    """Of the lead's whole group, and whether an item of each is still open in the episode that is told of. The widest
    come first, so that whoever subscribed to a section and to its course is told as of the course; their order never
    changes, since a place in it is kept."""
    found: dict[str, bool] = {}
    for topics, still_open in tx.read(_TOPICS, {"lead": lead.open_event_id}):
        for name in reversed(topics):
            found[name] = found.get(name, False) or bool(still_open)
    return found


def next_chunk(tx: Tx, topic: str, after: int, at_most: int) -> Chunk | None:
    """The next subscriptions of the topic, whoever they are; None when it has no more."""
    ((last, size),) = tx.read(_NEXT_CHUNK, {"topic": topic, "after": after, "room": at_most})
    return None if last is None else Chunk(last, size)


def queue_chunk(tx: Tx, now: datetime, lead: Lead, topic: str, after: int, chunk: Chunk) -> int:
    """One row for everybody in the chunk who is to hear of it. A row that is there already is left as it is."""
    given = {"event": lead.open_event_id, "dedupe": lead.dedupe_key, "now": now}
    return _QUEUE_CHUNK.run(tx, {**given, "topic": topic, "after": after, "last": chunk.last}, chunk.size)


def queue_one(tx: Tx, now: datetime, subscription_id: int, open_event_id: int, dedupe_key: str) -> int:
    given = {"event": open_event_id, "dedupe": dedupe_key, "now": now}
    return _QUEUE_ONE.run(tx, {**given, "who": subscription_id}, 1)


def note_progress(tx: Tx, lead: Lead, topic_at: int, after: int) -> None:
    tx.post(_PROGRESS, [{"lead": lead.open_event_id, "topic_at": topic_at, "after": after}])


def note_fanned_out(tx: Tx, now: datetime, leads: Sequence[int]) -> None:
    """The whole group of each."""
    tx.post(_FANNED_OUT, [{"lead": lead, "at": now} for lead in leads])


def leads_of_open(source: str, target_key: str, item_keys: Sequence[str]) -> Select[tuple[int]]:
    """The lead events of what opened and is open yet, of these items."""
    return (
        select(func.coalesce(_e.lead_event_id, _e.open_event_id))
        .join(availability, STILL_SO)
        .where(
            _e.source == source, _e.target_key == target_key, _e.item_key.in_(item_keys), _e.status_after == OPEN,
        )
    )  # fmt: skip


def running_openings(tx: Tx, source: str, items: Sequence[ItemName], since: int) -> Sequence[tuple[int, str]]:
    """(lead event, its dedupe key) of those of these items that are open now and opened after event `since`."""
    by_target: dict[str, list[str]] = {}
    for item in items:
        by_target.setdefault(item.target_key, []).append(item.item_key)
    leads: set[int] = set()
    for target_key, item_keys in by_target.items():
        query = leads_of_open(source, target_key, item_keys).where(_e.open_event_id > since)
        leads |= set(tx.execute(query).scalars())
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
            UNTRIED,
        )
        .values(
            fanout_status=PENDING,
            fanout_attempts=_BEGUN_ANEW,
            not_before=wakes(tx, subscription.subscription_id),
            error=None,
        )
    ).rowcount
    if changed:
        tx.ring(bells.NOTIFICATIONS)
    return changed


def adopt(tx: Tx, subscription: Subscription, leads: Sequence[int]) -> int:
    """There is one row for a contact and an opening. If whose it is will not be told, or did not want it, this one is
    in its place."""
    changed = tx.execute(
        update(open_event_notifications)
        .where(
            _n.open_event_id.in_(leads),
            _n.channel == subscription.contact_type,
            _n.contact_hash == subscription.contact_hash,
            _n.subscription_id != subscription.subscription_id,
            UNTRIED,
            or_(~_OWNER_HEARS, WAS_NOT_WANTED),
        )
        .values(
            subscription_id=subscription.subscription_id, fanout_status=PENDING, fanout_attempts=_BEGUN_ANEW,
            not_before=wakes(tx, subscription.subscription_id), error=None,
        )
    ).rowcount  # fmt: skip
    if changed:
        tx.ring(bells.NOTIFICATIONS)
    return changed


def skip_unheard(tx: Tx, contact_hash: str | None = None) -> Sequence[tuple[str, str]]:
    """Alerts of those who rest, left, or have had as many as they wished for: (hash, channel) of each contact."""
    whose = [] if contact_hash is None else [is_of(contact_hash)]
    rows = tx.execute(
        update(open_event_notifications)
        .where(IS_PENDING, _n.kind == ALERT, _n.locked_by.is_(None), ~_OWNER_HEARS, *whose)
        .values(fanout_status=SKIPPED, error={"code": "not_waiting", "message": "its subscription does not wait now"})
        .returning(_n.contact_hash, _n.channel)
    )
    return sorted({(row.contact_hash, row.channel) for row in rows if not is_of_one_alone(row.contact_hash)})


def drop_waiting(tx: Tx, subscription_id: int, why: str) -> int:
    """A subscription that ended is told nothing more. What is being sent this moment is its sender's to finish."""
    return tx.execute(
        update(open_event_notifications)
        .where(_n.subscription_id == subscription_id, _n.fanout_status == PENDING, _n.locked_by.is_(None))
        .values(fanout_status=SKIPPED, error={"code": why, "message": "the subscription ended before it was sent"})
    ).rowcount


def is_under_way(tx: Tx, subscription_id: int) -> bool:
    """Whether somebody has an alert of this subscription in hand."""
    in_hand = exists().where(
        _n.subscription_id == subscription_id, IS_PENDING, _n.kind == ALERT, _n.locked_by.is_not(None)
    )
    return bool(tx.execute(select(in_hand)).scalar_one())


def expire_ended(tx: Tx) -> int:
    """Alerts whose opening is over: nobody is told of a seat that is gone."""
    opening = open_events.alias("opening")
    still = exists().where(
        of_group(opening.c, _n.open_event_id),
        availability.c.snapshot_id == opening.c.snapshot_id,
        availability.c.state == OPEN,
        availability.c.episode == opening.c.episode,
    )
    return tx.execute(
        update(open_event_notifications)
        .where(IS_PENDING, _n.kind == ALERT, _n.locked_by.is_(None), ~still)
        .values(fanout_status=EXPIRED, error={"code": "closed", "message": "it closed before the message was sent"})
    ).rowcount


def expire_all_waiting(tx: Tx, now: datetime) -> int:
    """For a database that went back in time: whoever waited in it was told since, or the moment has passed. Places that
    were taken for messages under way are free again, or a full cap would keep its owner silent for good."""
    under_way = select(func.count()).where(
        _n.subscription_id == _s.subscription_id, IS_PENDING, _n.locked_by.is_not(None), _n.kind == ALERT
    )
    tx.execute(
        update(subscriptions)
        .where(_s.notified_count > 0, under_way.scalar_subquery() > 0)
        .values(notified_count=_s.notified_count - under_way.scalar_subquery())
    )
    tx.execute(update(open_events).where(_e.fanned_out_at.is_(None)).values(fanned_out_at=now))
    why = {"code": "restored", "message": "it waited in a backup that was put back; it may have been sent since"}
    return tx.execute(
        update(open_event_notifications)
        .where(IS_PENDING)
        .values(fanout_status=EXPIRED, error=why, not_before=None, locked_by=None, locked_at=None)
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
    """Rows are numbered as they came: the oldest that are finished go first, and nobody looks beyond the first that is
    young enough. Without an index on the time, that would be a look at every row in each minute."""
    young = select(_n.notification_id).where(_n.created_at >= before).order_by(_n.notification_id).limit(1)
    old = (
        select(_n.notification_id)
        .where(_n.fanout_status != PENDING, _n.notification_id < func.coalesce(young.scalar_subquery(), _BEYOND_ALL))
        .order_by(_n.notification_id)
        .limit(at_most)
    )
    return tx.execute(delete(open_event_notifications).where(_n.notification_id.in_(old))).rowcount
