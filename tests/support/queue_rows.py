"""Rows of the queue and of the outbox, put straight into their tables, for tests of whoever looks at them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert, select, update

from vacancy.store.engine import Tx
from vacancy.store.outbox import Mail
from vacancy.store.schema import open_event_notifications, subscriptions

MAIL = Mail(
    message_id="m1@house.example", to_address="ada@example.com", subject="Open: <Data> Structures",
    text="It is open.\nhttp://127.0.0.1:8000/unsubscribe?token=abc\n",
    html="<!DOCTYPE html><html><head><style>p{color:red}</style></head><body><p>It is open.</p></body></html>",
    locale="en-US", template_id="open-seat", trace_id="t1", notification_id=None,
)  # fmt: skip


def add_message(tx: Tx, who: int, **columns: Any) -> int:
    """Its number. An alert without an event, unless the test gives one."""
    found = tx.execute(select(subscriptions).where(subscriptions.c.subscription_id == who)).one()
    values = {
        "subscription_id": who, "dedupe_key": "key", "channel": found.contact_type, "contact_hash": found.contact_hash,
        "created_at": tx.now(), **columns,
    }  # fmt: skip
    n = open_event_notifications
    return int(tx.execute(insert(n).values(**values).returning(n.c.notification_id)).scalar_one())


def add_dead(tx: Tx, who: int, code: str = "provider_error", **columns: Any) -> int:
    error = {"code": code, "message": "the relay said no", "attempt": 3}
    given = {"fanout_status": "failed", "fanout_attempts": 3, "last_attempt_at": tx.now(), "error": error, **columns}
    return add_message(tx, who, **given)


def make_dead_letter(tx: Tx, number: int) -> None:
    change(tx, number, fanout_status="failed", fanout_attempts=3, error={"code": "unknown", "message": "no reason"})


def change(tx: Tx, number: int, **columns: Any) -> None:
    n = open_event_notifications
    tx.execute(update(n).where(n.c.notification_id == number).values(**columns))


def columns_of(tx: Tx, number: int) -> Any:
    n = open_event_notifications
    return tx.execute(select(n).where(n.c.notification_id == number)).one()
