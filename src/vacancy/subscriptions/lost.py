"""Contacts that are no more: an address that takes no mail, a chat that was blocked, an endpoint that was removed."""

from __future__ import annotations

from datetime import datetime

from vacancy.model.delivery import Due
from vacancy.model.messages import Dead
from vacancy.model.subscriptions import MOVES, Status
from vacancy.store import notifications
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Tx


def contact_lost(tx: Tx, now: datetime, due: Due, why: Dead) -> int:
    return end_all(tx, now, due.contact_hash, due.contact_type, why)


def end_all(tx: Tx, now: datetime, contact_hash: str, channel: str, why: Dead) -> int:
    """Everything that it waited for ends. One that bounced is refused from now on; one that is gone may come back."""
    ended = 0
    for subscription in rows.of_contact(tx, contact_hash, channel):
        if not subscription.is_live:
            continue
        barred = why.contact_is == "bounced" and Status.SUPPRESSED in MOVES[Status(subscription.status)]
        to = Status.SUPPRESSED if barred else Status.UNSUBSCRIBED
        event = "status_changed" if barred else "unsubscribed"
        ended += rows.move(tx, now, subscription, to, event=event, reason=why.code, contact_value=None,
                           is_verified=False, verification_nonce=None)  # fmt: skip
        notifications.drop_waiting(tx, subscription.subscription_id, why.code)
    return ended
