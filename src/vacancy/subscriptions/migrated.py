"""A contact that was given another address by its service: what it waits for goes along, and nobody is told twice."""

from __future__ import annotations

from datetime import datetime

from vacancy.model.subscriptions import Contact, Status, Subscription
from vacancy.store import contact_moves, ids, notifications
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Tx
from vacancy.subscriptions.contacts import read_contact
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.running import look_again


def contact_moved(tx: Tx, desk: Desk, channel: str, before: str, after: str) -> int:
    """How many subscriptions went along. Again and again if need be: the second time there is nothing to move."""
    now = tx.now()
    old, new = (read_contact(desk.secret, desk.channel(channel), text) for text in (before, after))
    if old == new:
        return 0
    ids.hold_edges_off(tx)
    # Two at a time, and always in this order: somebody else may move them too.
    for whose in sorted((old.hash, new.hash)):
        rows.alone_with(tx, whose)
    going = rows.of_contact(tx, old.hash, channel)
    contact_moves.move_messages(tx, [each.subscription_id for each in going], old.hash, new.hash)
    for each in going:
        if each.is_live:
            _move(tx, now, each, new)
    if going:
        _look_again(tx, now, desk, new)
    return len(going)


def _move(tx: Tx, now: datetime, going: Subscription, new: Contact) -> None:
    there = rows.find_live(tx, going.topic, new)
    if there is None:
        rows.change(tx, now, going.subscription_id, contact_value=new.value, contact_hash=new.hash)
        rows.note(tx, now, going, "contact_moved")
        return
    rows.move(tx, now, going, Status.UNSUBSCRIBED, event="unsubscribed", reason="its contact waits for it already",
              contact_value=None, is_verified=False, verification_nonce=None)  # fmt: skip
    notifications.drop_waiting(tx, going.subscription_id, "contact_moved")
    if going.is_verified and there.status == Status.PENDING:
        rows.move(tx, now, there, Status.ACTIVE, event="verified", reason="confirmed under its former contact",
                  is_verified=True, verification_nonce=None)  # fmt: skip
        notifications.drop_verification(tx, there.subscription_id)


def _look_again(tx: Tx, now: datetime, desk: Desk, contact: Contact) -> None:
    """What ended here may have had a message for what goes on."""
    for each in rows.of_contact(tx, contact.hash, contact.channel):
        look_again(tx, now, desk, each)
