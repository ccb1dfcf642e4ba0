"""`subscriptions` and their audit. Every move is a compare-and-set and leaves its row in `subscription_events`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    String,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    insert,
    literal,
    null,
    select,
    text,
    update,
)

from vacancy.errors import StoreError
from vacancy.model.availability import CLOSED, OPEN
from vacancy.model.subscriptions import LIVE, MOVES, Contact, Status, Subscription
from vacancy.model.topics import ItemName, Topic
from vacancy.store import bells
from vacancy.store.engine import Tx
from vacancy.store.prepared import Prepared
from vacancy.store.schema import (
    availability,
    open_event_notifications,
    open_events,
    sections,
    subscription_events,
    subscriptions,
    targets,
)

_c: Final = subscriptions.c
_ALL: Final = tuple(_c)
_LIVE: Final = _c.status.in_(LIVE)
_BITE: Final = 500
# Requests of one contact wait for each other: its limit is counted, then used.
_ONE_OF_A_CONTACT: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:contact, 7310592049))")
_ONE_OF_A_TOPIC: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:topic, 7310592051))")
_ITEM_CLOSED: Final = Prepared(
    update(subscriptions)
    .where(_c.topic == bindparam("named"), _c.item_key == bindparam("item"), _c.last_known_section_status != CLOSED)
    .values(last_known_section_status=CLOSED)
)
_NEWEST_EVENT: Final = select(func.coalesce(func.max(open_events.c.open_event_id), 0))


def find(tx: Tx, subscription_id: int) -> Subscription | None:
    return _held(tx, _c.subscription_id == subscription_id)


def read(tx: Tx, subscription_id: int) -> Subscription:
    """One that is known to be there."""
    found = _one(tx, _c.subscription_id == subscription_id)
    if found is None:
        raise StoreError(f"subscription {subscription_id} is gone, although its row was locked")
    return found


def find_by_token(tx: Tx, unsubscribe_token: str) -> Subscription | None:
    return _held(tx, _c.unsubscribe_token == unsubscribe_token)


def find_live(tx: Tx, topic: str, contact: Contact) -> Subscription | None:
    return _one(tx, _is_of(contact), _c.topic == topic, _LIVE)


def of_contact(tx: Tx, contact_hash: str, channel: str | None = None) -> Sequence[Subscription]:
    alone_with(tx, contact_hash)
    where = [_c.contact_hash == contact_hash, *([_c.contact_type == channel] if channel else [])]
    rows = tx.execute(select(*_ALL).where(*where).order_by(_c.subscription_id).with_for_update())
    return [Subscription(**row._mapping) for row in rows]


def _held(tx: Tx, which: ColumnElement[bool]) -> Subscription | None:
    """The contact first, then its row: whoever goes on to its other rows, or asks whether it is verified, meets nobody
    who comes the other way."""
    if tx.dialect == "postgresql":
        whose = tx.execute(select(_c.contact_hash).where(which)).scalar_one_or_none()
        if whose is None:
            return None
        alone_with(tx, whose)
    return _one(tx, which)


def _one(tx: Tx, *where: ColumnElement[bool]) -> Subscription | None:
    row = tx.execute(select(*_ALL).where(*where).with_for_update()).one_or_none()
    return Subscription(**row._mapping) if row else None


def _is_of(contact: Contact) -> ColumnElement[bool]:
    return (_c.contact_hash == contact.hash) & (_c.contact_type == contact.channel)


def alone_with(tx: Tx, contact_hash: str) -> None:
    """Until the commit nobody else subscribes or changes this contact."""
    if tx.dialect == "postgresql":
        tx.execute(_ONE_OF_A_CONTACT, {"contact": contact_hash})


def alone_with_topic(tx: Tx, topic: str) -> None:
    """Until the commit nobody else begins to wait for this. Whoever wants the contact as well has it already."""
    if tx.dialect == "postgresql":
        tx.execute(_ONE_OF_A_TOPIC, {"topic": topic})


def is_suppressed(tx: Tx, contact: Contact) -> bool:
    return _any(tx, _is_of(contact), _c.status == Status.SUPPRESSED)


def is_verified(tx: Tx, contact: Contact) -> bool:
    return _any(tx, _is_of(contact), _LIVE, _c.is_verified)


def _any(tx: Tx, *where: ColumnElement[bool]) -> bool:
    return bool(tx.execute(select(exists().where(*where))).scalar_one())


def count_of_contact(tx: Tx, contact: Contact, statuses: Collection[str]) -> int:
    return _count(tx, _is_of(contact), _c.status.in_(statuses))


def count_of_topic(tx: Tx, topic: str) -> int:
    return _count(tx, _c.topic == topic, _LIVE)


def _count(tx: Tx, *where: ColumnElement[bool]) -> int:
    return int(tx.execute(select(func.count()).select_from(subscriptions).where(*where)).scalar_one())


def newest_event_id(tx: Tx) -> int:
    return int(tx.execute(_NEWEST_EVENT).scalar_one())


def add(tx: Tx, now: datetime, topic: Topic, contact: Contact, values: Mapping[str, Any]) -> Subscription:
    """The caller is alone with this contact, and found that it does not wait for this topic yet."""
    row = {
        "topic": topic.name, "source": topic.source, "target_key": topic.target_key, "item_key": topic.item_key,
        "term_id": topic.term_id, "campus_code": topic.campus_code, "index_number": topic.index_number,
        "contact_type": contact.channel, "contact_value": contact.value, "contact_hash": contact.hash,
        "created_at": now, "updated_at": now, "since_event_id": newest_event_id(tx),
        "ends_at": topic.ends_at, **values,
    }  # fmt: skip
    return Subscription(**tx.execute(insert(subscriptions).values(**row).returning(*_ALL)).one()._mapping)


def change(tx: Tx, now: datetime, subscription_id: int, **values: Any) -> None:
    tx.execute(update(subscriptions).where(_c.subscription_id == subscription_id).values(updated_at=now, **values))


def forget_link(tx: Tx, subscription_id: int) -> None:
    """A link works once."""
    tx.execute(update(subscriptions).where(_c.subscription_id == subscription_id).values(verification_nonce=None))


def move(
    tx: Tx, now: datetime, subscription: Subscription, to: Status, *, event: str, reason: str, **values: Any
) -> bool:
    """One legal move, with its audit row; False if somebody else moved it first."""
    if to not in MOVES[Status(subscription.status)]:
        return False
    changed = tx.execute(
        update(subscriptions)
        .where(_c.subscription_id == subscription.subscription_id, _c.status == subscription.status)
        .values(status=to, updated_at=now, **values)
    )
    if changed.rowcount != 1:
        return False
    note(tx, now, subscription, event, {"from": subscription.status, "to": to, "reason": reason})
    return True


def note(
    tx: Tx, now: datetime, subscription: Subscription, event: str, payload: Mapping[str, Any] | None = None
) -> None:
    tx.execute(
        insert(subscription_events).values(
            subscription_id=subscription.subscription_id, event_type=event, payload=payload, created_at=now,
            section_status_snapshot=subscription.last_known_section_status,
        )
    )  # fmt: skip


def status_now(tx: Tx, source: str, items: Sequence[ItemName]) -> str | None:
    """Open if any of these items is, Closed if none; None while no target of theirs has a baseline to tell by."""
    by_target: dict[str, list[str]] = {}
    for item in items:
        by_target.setdefault(item.target_key, []).append(item.item_key)
    believed = (targets.c.source == source) & targets.c.baseline_at.is_not(None)
    found = dict(
        tx.execute(
            select(targets.c.key, targets.c.target_id).where(believed, targets.c.key.in_(by_target))
        ).all()
    )  # fmt: skip
    if not found:
        return None
    some_open = (
        exists().where(
            availability.c.target_id == target_id, availability.c.item_key.in_(by_target[key]),
            availability.c.state == OPEN,
        )
        for key, target_id in found.items()
    )  # fmt: skip
    return OPEN if any(tx.execute(select(each)).scalar_one() for each in some_open) else CLOSED


def items_closed(tx: Tx, closed: Sequence[tuple[str, str]]) -> None:
    """(topic, item) of every item that closed: the next opening is news again, to those who pause as well."""
    if closed:
        tx.write(_ITEM_CLOSED, [{"named": topic, "item": item} for topic, item in closed])


def baseline_taken(tx: Tx, target_id: int, source: str, target_key: str) -> None:
    """What a baseline shows is known from now on, and is no news to anybody."""
    is_open = exists().where(
        availability.c.target_id == target_id, availability.c.item_key == _c.item_key, availability.c.state == OPEN
    )
    tx.execute(
        update(subscriptions)
        .where(_c.source == source, _c.target_key == target_key, _c.item_key.is_not(None), _LIVE)
        .values(last_known_section_status=case((is_open, OPEN), else_=CLOSED))
    )


def settle_sections(tx: Tx, now: datetime, term: str, campus: str) -> None:
    """What this catalogue now says of sections that somebody waits for."""
    _resolve(tx, term, campus)
    _end_elsewhere(tx, now, term)


def _resolve(tx: Tx, term: str, campus: str) -> None:
    """Subscriptions that came before the catalogue knew their section."""
    here = (
        select(sections.c.section_id)
        .where(sections.c.term_id == term, sections.c.campus_code == campus, sections.c.index_number == _c.index_number)
        .scalar_subquery()
    )
    tx.execute(
        update(subscriptions)
        .where(
            _c.section_id.is_(None), _c.index_number.is_not(None), _c.term_id == term, _c.campus_code == campus,
            exists().where(
                sections.c.term_id == term, sections.c.campus_code == campus,
                sections.c.index_number == _c.index_number,
            ),
        )
        .values(section_id=here)
    )  # fmt: skip


def _end_elsewhere(tx: Tx, now: datetime, term: str) -> None:
    """An index is unique in a term. Whoever named it at another campus than its own would never hear of it, and is
    told so: the same as is answered to who asks now."""
    there = exists().where(
        sections.c.term_id == term, sections.c.index_number == _c.index_number,
        sections.c.campus_code != _c.campus_code,
    )  # fmt: skip
    misplaced = _LIVE & (_c.term_id == term) & _c.index_number.is_not(None) & there
    while _end_with_a_word(tx, now, misplaced, "elsewhere", _BITE):
        pass


def end_unconfirmed(tx: Tx, now: datetime, before: datetime, at_most: int) -> int:
    """Pending rows whose day is over: ended, blanked, and noted."""
    late = (_c.status == Status.PENDING) & (_c.updated_at < before)
    return len(_end(tx, now, late, "not_confirmed", at_most, contact_value=null()))


def end_over(tx: Tx, now: datetime, at_most: int) -> int:
    """What nothing can open for any more, unless it is polled all the same; with a word to each owner."""
    watched = exists().where(targets.c.source == _c.source, targets.c.key == _c.target_key, targets.c.configured)
    over = _LIVE & (_c.ends_at <= now) & ~watched
    return _end_with_a_word(tx, now, over & _c.term_id.is_not(None), "term_over", at_most) + _end_with_a_word(
        tx, now, over & _c.term_id.is_(None), "day_over", at_most
    )


def _end_with_a_word(tx: Tx, now: datetime, which: ColumnElement[bool], reason: str, at_most: int) -> int:
    """To each owner, for which the address is kept until it is said."""
    ended = _end(tx, now, which, reason, at_most,
                 contact_value=case((_c.is_verified, _c.contact_value), else_=null()))  # fmt: skip
    said = {"code": "ended", "facts": {"reason": reason}}
    words = select(
        literal("notice"), _c.subscription_id, literal(f"{reason}:") + cast(_c.subscription_id, String),
        _c.contact_type, _c.contact_hash, bindparam("said", said, type_=open_event_notifications.c.payload.type),
        literal(now, type_=open_event_notifications.c.created_at.type),
    ).where(_c.subscription_id.in_(ended), _c.is_verified)  # fmt: skip
    columns = ["kind", "subscription_id", "dedupe_key", "channel", "contact_hash", "payload", "created_at"]
    if tx.execute(
        insert(open_event_notifications).from_select(columns, words).execution_options(preserve_rowcount=True)
    ).rowcount:
        tx.ring(bells.NOTIFICATIONS)
    return len(ended)


def _end(
    tx: Tx, now: datetime, which: ColumnElement[bool], reason: str, at_most: int, **values: Any
) -> Sequence[int]:  # fmt: skip
    chosen = select(_c.subscription_id).where(which).order_by(_c.subscription_id).limit(at_most).with_for_update()
    ids = tx.execute(chosen).scalars().all()
    if not ids:
        return ids
    noted = select(
        _c.subscription_id, literal("unsubscribed"), _c.last_known_section_status,
        bindparam("why", {"reason": reason, "to": Status.UNSUBSCRIBED}, type_=subscription_events.c.payload.type),
        literal(now, type_=subscription_events.c.created_at.type),
    ).where(_c.subscription_id.in_(ids))  # fmt: skip
    columns = ["subscription_id", "event_type", "section_status_snapshot", "payload", "created_at"]
    tx.execute(insert(subscription_events).from_select(columns, noted))
    tx.execute(
        update(subscriptions)
        .where(_c.subscription_id.in_(ids))
        .values(status=Status.UNSUBSCRIBED, updated_at=now, verification_nonce=None, **values)
    )
    return ids


def prune_ended(tx: Tx, before: datetime, at_most: int) -> int:
    """Suppressed rows stay: they are what a later request is refused by."""
    old = (
        select(_c.subscription_id)
        .where(_c.status == Status.UNSUBSCRIBED, _c.updated_at < before)
        .order_by(_c.updated_at)
        .limit(at_most)
    )
    return tx.execute(delete(subscriptions).where(_c.subscription_id.in_(old))).rowcount
