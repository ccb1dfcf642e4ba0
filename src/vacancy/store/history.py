"""What happened around a contact: its subscriptions, the openings of what they wait for, and when those were over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Text, and_, bindparam, func, select, type_coerce

from vacancy.model.availability import CLOSED, OPEN
from vacancy.model.subscriptions import Contact, Subscription
from vacancy.store.engine import Tx
from vacancy.store.schema import open_events, subscriptions

_e: Final = open_events.c
_s: Final = subscriptions.c
_COLUMNS: Final = (
    _e.open_event_id, func.coalesce(_e.lead_event_id, _e.open_event_id), _e.event_at, _e.fanned_out_at, _e.status_after,
    _e.source, _e.target_key, _e.item_key, _e.episode, _e.topics, _e.payload,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Happened:
    """An event, and how far it was told on. The order is that of the query."""

    open_event_id: int
    lead: int
    event_at: datetime
    fanned_out_at: datetime | None
    status_after: str
    source: str
    target_key: str
    item_key: str
    episode: int
    topics: Sequence[str]
    payload: Mapping[str, Any]

    @property
    def is_opening(self) -> bool:
        return self.status_after == OPEN


def subscriptions_of(tx: Tx, contact: Contact) -> Sequence[Subscription]:
    """All that are kept, the ended ones too: the hash stays when the address goes."""
    rows = tx.execute(
        select(*_s)
        .where(_s.contact_hash == contact.hash, _s.contact_type == contact.channel)
        .order_by(_s.subscription_id)
    )
    return [Subscription(**row._mapping) for row in rows]


def event(tx: Tx, open_event_id: int) -> Happened | None:
    found = _events(tx, _e.open_event_id == open_event_id, 1)
    return found[0] if found else None


def openings_for(tx: Tx, subscription: Subscription, at_most: int) -> Sequence[Happened]:
    """Since it began, the newest first."""
    began = _e.open_event_id > subscription.since_event_id
    return _events(tx, and_(_concern(tx, subscription), _e.status_after == OPEN, began), at_most)


def count_openings_for(tx: Tx, subscription: Subscription) -> int:
    began = _e.open_event_id > subscription.since_event_id
    which = and_(_concern(tx, subscription), _e.status_after == OPEN, began)
    return int(tx.execute(select(func.count()).where(which)).scalar_one())


def last_before(tx: Tx, subscription: Subscription) -> Happened | None:
    """Of the one item that it waits for; None of a wider thing, which has no one last event."""
    if subscription.item_key is None:
        return None
    found = _events(tx, and_(_concern(tx, subscription), _e.open_event_id <= subscription.since_event_id), 1)
    return found[0] if found else None


def closed_at(tx: Tx, opening: Happened) -> datetime | None:
    """When the episode of this opening was over."""
    moment: datetime | None = tx.execute(
        select(func.min(_e.event_at)).where(
            _e.source == opening.source, _e.target_key == opening.target_key, _e.item_key == opening.item_key,
            _e.episode == opening.episode, _e.status_after == CLOSED, _e.open_event_id > opening.open_event_id,
        )
    ).scalar()  # fmt: skip
    return moment


def _concern(tx: Tx, subscription: Subscription) -> ColumnElement[bool]:
    """Events that carry its topic. One item's are found by their index; of a wider thing, the source is looked
    through."""
    if subscription.item_key is not None and subscription.target_key is not None:
        return and_(
            _e.source == subscription.source, _e.target_key == subscription.target_key,
            _e.item_key == subscription.item_key,
        )  # fmt: skip
    position = func.strpos if tx.dialect == "postgresql" else func.instr
    needle = bindparam("needle", msgspec.json.encode(subscription.topic).decode(), type_=Text)
    return and_(_e.source == subscription.source, position(type_coerce(_e.topics, Text), needle) > 0)


def _events(tx: Tx, which: ColumnElement[bool], at_most: int) -> Sequence[Happened]:
    rows = tx.execute(select(*_COLUMNS).where(which).order_by(_e.open_event_id.desc()).limit(at_most))
    return [Happened(*row) for row in rows]
