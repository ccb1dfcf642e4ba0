"""Subscriptions as a whole: counted, carried out of a database and into another, and erased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, case, delete, exists, func, insert, literal, null, select, text, update
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.model.availability import CLOSED, OPEN
from vacancy.model.subscriptions import LIVE, Contact, Status, Subscription
from vacancy.store import ids, outbox
from vacancy.store.engine import Tx
from vacancy.store.schema import (
    availability,
    open_event_notifications,
    subscription_events,
    subscriptions,
    targets,
)

_c: Final = subscriptions.c
_SUPPRESSED: Final = _c.status == Status.SUPPRESSED
_LAST_OF_SQLITE: Final = text("SELECT seq FROM sqlite_sequence WHERE name = 'subscriptions'")
_LAST_OF_POSTGRES: Final = text(
    "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM subscriptions_subscription_id_seq"
)
_GO_ON_OF_POSTGRES: Final = text(
    "SELECT setval('subscriptions_subscription_id_seq', max(subscription_id)) FROM subscriptions"
)


@dataclass(frozen=True, slots=True)
class Share:
    """How many are in this state, of those that wait for something of this source."""

    source: str
    status: str
    count: int


@dataclass(frozen=True, slots=True)
class Traces:
    """What is kept of one contact."""

    subscriptions: int
    suppressed: int
    messages: int
    audit: int
    mails: int  # in the outbox


def shares(tx: Tx) -> Sequence[Share]:
    rows = tx.execute(select(_c.source, _c.status, func.count()).group_by(_c.source, _c.status).order_by(_c.source))
    return [Share(*row) for row in rows]


def count(tx: Tx) -> int:
    return int(tx.execute(select(func.count()).select_from(subscriptions)).scalar_one())


def export_after(tx: Tx, after: int, at_most: int) -> Sequence[Subscription]:
    page = select(*_c).where(_c.subscription_id > after).order_by(_c.subscription_id).limit(at_most)
    return [Subscription(**row._mapping) for row in tx.execute(page)]


def alone(tx: Tx) -> None:
    """Until the commit nobody subscribes, is fanned out to, or sees an edge: all of these wait for the emitter, and
    here for us. Fan-out would otherwise queue for a row that is being deleted, and an import draw a number twice."""
    ids.emit_alone(tx)


def last_number(tx: Tx) -> int:
    """The highest that was ever given out; 0 in a database that never had a subscription."""
    asked = _LAST_OF_SQLITE if tx.dialect == "sqlite" else _LAST_OF_POSTGRES
    return int(tx.execute(asked).scalar() or 0)


def suppressed_contacts(tx: Tx) -> frozenset[tuple[str, str]]:
    """(hash, contact type) of everybody who is not written to."""
    rows = tx.execute(select(_c.contact_hash, _c.contact_type).where(_SUPPRESSED).distinct())
    return frozenset((row.contact_hash, row.contact_type) for row in rows)


def add_missing(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """Those that are here already, by their token or as a live one of the same contact and topic, are passed over."""
    made = sqlite_insert if tx.dialect == "sqlite" else postgres_insert
    tx.execute(made(subscriptions).on_conflict_do_nothing(), rows)


def go_on_from_here(tx: Tx) -> None:
    """Numbers that came with their rows were not drawn: none of them is drawn again. SQLite sees to it by itself."""
    if tx.dialect == "postgresql":
        tx.execute(_GO_ON_OF_POSTGRES)


def settle_added(tx: Tx, now: datetime, after: int) -> int:
    """What comes with the rows that were added beyond this number; how many they are."""
    added = _c.subscription_id > after
    columns = ["subscription_id", "event_type", "section_status_snapshot", "created_at"]
    noted = select(
        _c.subscription_id, literal("imported"), _c.last_known_section_status,
        literal(now, type_=subscription_events.c.created_at.type),
    ).where(added)  # fmt: skip
    _know_what_is_open(tx, added)
    tx.execute(insert(subscription_events).from_select(columns, noted))
    return _count_of(tx, added)


def places_added(tx: Tx, after: int) -> Sequence[tuple[str, str]]:
    """(term, campus) of those that were added beyond this number."""
    rows = tx.execute(
        select(_c.term_id, _c.campus_code)
        .where(_c.subscription_id > after, _c.term_id.is_not(None), _c.campus_code.is_not(None))
        .distinct()
    )
    return [(row.term_id, row.campus_code) for row in rows]


def _know_what_is_open(tx: Tx, added: ColumnElement[bool]) -> None:
    """As a new subscription would be told. Whoever came with "Open" from elsewhere would miss the next opening of what
    is closed here."""
    of_target = (targets.c.source == _c.source) & (targets.c.key == _c.target_key)
    is_open = exists().where(
        of_target, availability.c.target_id == targets.c.target_id, availability.c.item_key == _c.item_key,
        availability.c.state == OPEN,
    )  # fmt: skip
    tx.execute(
        update(subscriptions)
        .where(
            added, _c.status.in_(LIVE), _c.item_key.is_not(None),
            exists().where(of_target, targets.c.baseline_at.is_not(None)),
        )
        .values(last_known_section_status=case((is_open, OPEN), else_=CLOSED))
    )  # fmt: skip


def traces_of(tx: Tx, contact: Contact) -> Traces:
    own = _is_of(contact)
    suppressed = _count_of(tx, own & _SUPPRESSED)
    mine = select(_c.subscription_id).where(own)
    messages = select(func.count()).where(open_event_notifications.c.subscription_id.in_(mine))
    audit = select(func.count()).where(subscription_events.c.subscription_id.in_(mine))
    return Traces(
        _count_of(tx, own) - suppressed, suppressed, tx.execute(messages).scalar_one(), tx.execute(audit).scalar_one(),
        outbox.count_to(tx, contact.value),
    )  # fmt: skip


def erase(tx: Tx, contact: Contact) -> Traces:
    """Everything of one contact, its messages, its audit and what the outbox keeps for it, but the word that it must
    not be written to."""
    alone(tx)
    found = traces_of(tx, contact)
    own = _is_of(contact)
    kept = select(_c.subscription_id).where(own, _SUPPRESSED)
    for table in (open_event_notifications, subscription_events):
        tx.execute(delete(table).where(table.c.subscription_id.in_(kept)))
    tx.execute(
        update(subscriptions)
        .where(own, _SUPPRESSED)
        .values(contact_value=null(), verification_nonce=null(), metadata={}, updated_at=tx.now())
    )
    tx.execute(delete(subscriptions).where(own, ~_SUPPRESSED))
    outbox.erase_to(tx, contact.value)
    return found


def _is_of(contact: Contact) -> ColumnElement[bool]:
    return (_c.contact_hash == contact.hash) & (_c.contact_type == contact.channel)


def _count_of(tx: Tx, which: ColumnElement[bool]) -> int:
    return int(tx.execute(select(func.count()).where(which)).scalar_one())
