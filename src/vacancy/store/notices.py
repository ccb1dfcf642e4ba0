"""Words about a subscription itself, as rows of the queue: its source cannot be read, and can be again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import and_, bindparam, func, insert, literal, select, update

from vacancy.clock import iso
from vacancy.model.messages import Kind
from vacancy.model.subscriptions import HEARING
from vacancy.store import bells
from vacancy.store.engine import Tx
from vacancy.store.notifications import IS_PENDING, PENDING, SENT, SKIPPED
from vacancy.store.schema import open_event_notifications, subscriptions

UNREADABLE: Final = "source_unreadable"
READABLE: Final = "source_readable"

_n: Final = open_event_notifications.c
_s: Final = subscriptions.c
_COLUMNS: Final = ("kind", "subscription_id", "dedupe_key", "channel", "contact_hash", "payload", "created_at")
_COUNTED: Final = {"preserve_rowcount": True}
_IS_HEARD: Final = _n.fanout_status.in_((PENDING, SENT))


@dataclass(frozen=True, slots=True)
class Outage:
    """A target that cannot be read. `began_at` makes it itself; `since` is what people are told."""

    source: str
    key: str
    began_at: datetime
    since: datetime

    def named(self, code: str) -> str:
        return f"{code}|{self.source}|{self.key}|{iso(self.began_at)}"


def tell_unreadable(tx: Tx, now: datetime, outage: Outage, others: Sequence[Outage]) -> int:
    """One word to each contact that waits for something in this target; none to whoever heard of another one of the
    source that cannot be read either."""
    told = select(_n.contact_hash).where(
        _n.kind == Kind.NOTICE, _n.dedupe_key.in_([other.named(UNREADABLE) for other in others]), _IS_HEARD
    )
    waiting = (
        select(func.min(_s.subscription_id))
        .where(
            _s.source == outage.source, _s.target_key == outage.key, _s.status.in_(HEARING), _s.is_verified,
            _s.contact_hash.not_in(told),
        )
        .group_by(_s.contact_type, _s.contact_hash)
    )  # fmt: skip
    return _queue(tx, now, _s.subscription_id.in_(waiting), UNREADABLE, outage)


def tell_readable(tx: Tx, now: datetime, outage: Outage) -> int:
    """To those who heard that it could not be read; a word of that which was not sent yet is not sent any more."""
    mine = and_(_n.kind == Kind.NOTICE, _n.dedupe_key == outage.named(UNREADABLE))
    tx.execute(
        update(open_event_notifications)
        .where(mine, IS_PENDING, _n.locked_by.is_(None))
        .values(fanout_status=SKIPPED, error={"code": "over", "message": "it could be read again before this was sent"})
    )
    heard = select(_n.subscription_id).where(mine, _IS_HEARD)
    return _queue(tx, now, and_(_s.subscription_id.in_(heard), _s.status.in_(HEARING)), READABLE, outage)


def _queue(tx: Tx, now: datetime, whom: Any, code: str, outage: Outage) -> int:
    said = {"code": code, "facts": {"target_key": outage.key, "since": iso(outage.since)}}
    rows = select(
        literal(Kind.NOTICE.value), _s.subscription_id, literal(outage.named(code)), _s.contact_type,
        _s.contact_hash, bindparam("said", said, type_=_n.payload.type), literal(now, type_=_n.created_at.type),
    ).where(whom)  # fmt: skip
    statement = insert(open_event_notifications).from_select(list(_COLUMNS), rows)
    queued = tx.execute(statement.execution_options(**_COUNTED)).rowcount
    if queued:
        tx.ring(bells.NOTIFICATIONS)
    return queued
