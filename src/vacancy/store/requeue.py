"""The operator's reset of seed 001: a message from the start, as if it had never been tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import JSON, ColumnElement, Text, cast, func, insert, literal_column, select, type_coerce, update

from vacancy.store import bells
from vacancy.store.engine import Tx
from vacancy.store.notifications import PENDING, SENT
from vacancy.store.prepared import Prepared
from vacancy.store.schema import open_event_notifications, subscription_events

_n: Final = open_event_notifications.c
# Spelt out, so that SQLite takes the index over dead letters.
IS_DEAD: Final = _n.fanout_status == literal_column("'failed'")
_NOTE: Final = Prepared(insert(subscription_events), ("subscription_id", "event_type", "payload", "created_at"))


class Verdict(StrEnum):
    """What came of a wish to requeue one message."""

    REQUEUED = "requeued"
    MISSING = "missing"
    IN_HAND = "in_hand"
    SENT = "sent"


def requeue(tx: Tx, now: datetime, notification_id: int) -> Verdict:
    """Whatever it came to, unless it was sent, or is being sent this moment. Whether it may still go is found out when
    it is its turn: what closed meanwhile is told to nobody."""
    free = _n.locked_by.is_(None) & (_n.fanout_status != SENT)
    if _reset(tx, now, (_n.notification_id == notification_id) & free):
        return Verdict.REQUEUED
    row = tx.execute(select(_n.fanout_status).where(_n.notification_id == notification_id)).one_or_none()
    if row is None:
        return Verdict.MISSING
    return Verdict.SENT if row.fanout_status == SENT else Verdict.IN_HAND


def requeue_dead(tx: Tx, now: datetime, channel: str | None = None, code: str | None = None) -> int:
    """Dead letters, of one channel or of all, that failed for this reason or for any."""
    return _reset(tx, now, dead_letters(tx, channel, code) & _n.locked_by.is_(None))


def dead_letters(tx: Tx, channel: str | None, code: str | None) -> ColumnElement[bool]:
    wanted: ColumnElement[bool] = IS_DEAD
    if channel is not None:
        wanted &= _n.channel == channel
    if code is not None:
        wanted &= error_code(tx.dialect) == code
    return wanted


def error_code(dialect: str) -> Any:
    """By its value, not by its spelling: an error may have been written by another program, with spaces in it."""
    text = type_coerce(_n.error, Text)
    if dialect == "postgresql":
        return cast(text, JSON)["code"].as_string()
    return func.json_extract(text, "$.code")


def _reset(tx: Tx, now: datetime, which: ColumnElement[bool]) -> int:
    rows: Sequence[Any] = tx.execute(
        update(open_event_notifications)
        .where(which)
        .values(fanout_status=PENDING, fanout_attempts=0, error=None, not_before=None, last_attempt_at=None)
        .returning(_n.notification_id, _n.subscription_id)
    ).all()
    if rows:
        tx.write(_NOTE, [_note(row, now) for row in rows])
        tx.ring(bells.NOTIFICATIONS)
    return len(rows)


def _note(row: Any, now: datetime) -> Mapping[str, Any]:
    return {
        "subscription_id": row.subscription_id, "event_type": "requeued", "created_at": now,
        "payload": {"notificationId": row.notification_id},
    }  # fmt: skip
