"""What the owner of a subscription does with it: look, change, pause, go on, leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vacancy.errors import UserError
from vacancy.model.subscriptions import Status, Subscription
from vacancy.store import ids, notifications
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Tx
from vacancy.subscriptions import preferences as prefs
from vacancy.subscriptions.contacts import is_same
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.running import look_again, pass_on

_NOT_FOUND = "there is no such subscription, or the token is not its own"


@dataclass(frozen=True, slots=True)
class Change:
    """What is UNSET, or None for the status, stays as it is."""

    preferences: Mapping[str, Any]
    status: Status | None = None
    locale: str | None = None


def find_own(tx: Tx, subscription_id: int, manage_token: str) -> Subscription:
    found = rows.find(tx, subscription_id)
    # Compared even if there is nothing to compare with: the time tells nothing either.
    if not is_same(manage_token, found.manage_token if found else "") or found is None:
        raise UserError("subscription_not_found", _NOT_FOUND)
    return found


def change(tx: Tx, desk: Desk, subscription_id: int, manage_token: str, wanted: Change) -> Subscription:
    ids.hold_edges_off(tx)
    return change_own(tx, desk, find_own(tx, subscription_id, manage_token), wanted)


def change_own(tx: Tx, desk: Desk, found: Subscription, wanted: Change) -> Subscription:
    """The caller knows that its owner asks, and holds edges off."""
    now = tx.now()
    if not found.is_live:
        raise UserError("subscription_ended", f"this subscription is {found.status}; subscribe anew")
    values: dict[str, Any] = {"locale": wanted.locale} if wanted.locale else {}
    if wanted.preferences:
        preferences = prefs.with_changes(found.preferences, **wanted.preferences)
        values |= {**prefs.columns(preferences), "metadata": prefs.kept(found.metadata, preferences)}
    if values:
        rows.change(tx, now, found.subscription_id, **values)
        found = rows.read(tx, found.subscription_id)
    if wanted.status is not None and wanted.status != found.status:
        found = _move(tx, now, desk, found, wanted.status)
    found = _rest_if_full(tx, now, desk, found)
    look_again(tx, now, desk, found)
    return found


def _rest_if_full(tx: Tx, now: datetime, desk: Desk, found: Subscription) -> Subscription:
    """Of fewer alerts than it had, it has had the last; while one is under way, that decides."""
    is_full = found.status == Status.ACTIVE and found.notified_count >= found.max_notifications
    if not is_full or notifications.is_under_way(tx, found.subscription_id):
        return found
    rows.move(tx, now, found, Status.PAUSED, event="status_changed", reason="max_notifications")
    pass_on(tx, now, desk, found.contact_hash)
    return rows.read(tx, found.subscription_id)


def _move(tx: Tx, now: datetime, desk: Desk, found: Subscription, to: Status) -> Subscription:
    """Only between going on and resting: the other moves are not the owner's to ask for by name."""
    if to is Status.ACTIVE and found.status == Status.PAUSED:
        return resume(tx, now, desk, found, "resumed by its owner")
    if to is Status.PAUSED and rows.move(tx, now, found, to, event="status_changed", reason="paused by its owner"):
        pass_on(tx, now, desk, found.contact_hash)
        return rows.read(tx, found.subscription_id)
    raise UserError("illegal_move", f"a subscription that is {found.status} cannot become {to}")


def resume(tx: Tx, now: datetime, desk: Desk, found: Subscription, reason: str) -> Subscription:
    """From the start of its count: it rested because that was full, or because its owner wished so."""
    rows.move(tx, now, found, Status.ACTIVE, event="status_changed", reason=reason, notified_count=0)
    resumed = rows.read(tx, found.subscription_id)
    look_again(tx, now, desk, resumed)
    return resumed


def find_by_token(tx: Tx, token: str) -> Subscription:
    found = rows.find_by_token(tx, token)
    if found is None or not is_same(token, found.unsubscribe_token):
        raise UserError("subscription_not_found", _NOT_FOUND)
    return found


def unsubscribe_by_token(tx: Tx, desk: Desk, token: str, reason: str) -> tuple[Subscription, str]:
    ids.hold_edges_off(tx)
    return leave(tx, desk, find_by_token(tx, token), reason)


def unsubscribe_own(
    tx: Tx, desk: Desk, subscription_id: int, manage_token: str, reason: str
) -> tuple[Subscription, str]:
    ids.hold_edges_off(tx)
    return leave(tx, desk, find_own(tx, subscription_id, manage_token), reason)


def unsubscribe_by_contact(
    tx: Tx, desk: Desk, subscription_id: int, contact_value: str, reason: str
) -> tuple[Subscription, str]:
    ids.hold_edges_off(tx)
    found = rows.find(tx, subscription_id)
    if found is None:
        raise UserError("subscription_not_found", _NOT_FOUND)
    if not is_same(_hash_of(desk, found, contact_value), found.contact_hash):
        raise UserError("contact_mismatch", "the contact is not that of the subscription")
    return leave(tx, desk, found, reason)


def _hash_of(desk: Desk, found: Subscription, contact_value: str) -> str:
    """In its channel's one spelling; what cannot be spelt matches nothing."""
    try:
        value = desk.channel(found.contact_type).contact(contact_value)
    except ValueError:
        value = contact_value
    return desk.secret.hash_contact(value)


def leave(tx: Tx, desk: Desk, found: Subscription, reason: str) -> tuple[Subscription, str]:
    """The caller knows that its owner asks, and holds edges off. Again and again if need be: who has left has left. The
    value goes, the hash stays."""
    if found.status == Status.UNSUBSCRIBED:
        return found, found.status
    # A link that was mailed stays good for its day: it proves the address, and whoever comes back within the hour gets
    # no other.
    left = rows.move(tx, tx.now(), found, Status.UNSUBSCRIBED, event="unsubscribed", reason=reason,
                     contact_value=None, is_verified=False)  # fmt: skip
    if not left:
        raise UserError("subscription_ended", f"this subscription is {found.status} and hears nothing any more")
    pass_on(tx, tx.now(), desk, found.contact_hash)
    notifications.drop_waiting(tx, found.subscription_id, "unsubscribed")
    return rows.read(tx, found.subscription_id), found.status
