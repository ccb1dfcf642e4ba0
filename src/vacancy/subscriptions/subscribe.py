"""Subscribe: one row for a contact and a topic, however often and however many at once ask for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from vacancy.channels.base import Channel
from vacancy.errors import UserError
from vacancy.model.subscriptions import Contact, Preferences, Status, Subscription
from vacancy.model.topics import Topic
from vacancy.sources.base import Source
from vacancy.store import idempotency, ids, notifications
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Tx
from vacancy.subscriptions import preferences as prefs
from vacancy.subscriptions.contacts import new_token
from vacancy.subscriptions.manage import resume
from vacancy.subscriptions.rules import ASK_EVERY, Desk

UNKNOWN: Final = "Unknown"
_LIMIT_RETRY_S: Final = 3600


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody asked for, read and normalised."""

    source: Source
    topic: Topic
    channel: Channel
    contact: Contact
    locale: str = "en-US"
    preferences: Preferences = field(default_factory=Preferences)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None
    is_proven: bool = False  # the contact itself asked: there is nothing to confirm

    def fingerprint(self) -> str:
        """Tells this request from another one under the same key."""
        said = (self.topic.name, self.contact.channel, self.contact.hash, self.locale, prefs.shown(self.preferences),
                self.metadata)  # fmt: skip
        return hashlib.sha256(msgspec.json.encode(said)).hexdigest()


@dataclass(frozen=True, slots=True)
class Subscribed:
    subscription: Subscription
    created: bool
    requires_verification: bool
    status_now: str


def subscribe(tx: Tx, desk: Desk, wish: Wish) -> Subscribed:
    now = tx.now()
    # What is told now stays true until the commit: an opening comes before, and is seen, or after, and is heard of.
    ids.hold_edges_off(tx)
    rows.alone_with(tx, wish.contact.hash)
    replayed = _replay(tx, wish)
    if replayed is not None:
        return replayed
    section_id = wish.source.section_of(tx, wish.topic)
    if rows.is_suppressed(tx, wish.contact):
        raise UserError("contact_suppressed", "this contact is not written to; use another one")
    existing = rows.find_live(tx, wish.topic.name, wish.contact)
    subscribed = _again(tx, now, desk, wish, existing) if existing else _add(tx, now, desk, wish, section_id)
    if wish.idempotency_key:
        idempotency.remember(tx, now, wish.idempotency_key, wish.fingerprint(),
                             subscribed.subscription.subscription_id, created=subscribed.created)  # fmt: skip
    return subscribed


def _replay(tx: Tx, wish: Wish) -> Subscribed | None:
    """The same request again is answered as it was the first time, its tokens included."""
    if wish.idempotency_key is None:
        return None
    before = idempotency.recall(tx, wish.idempotency_key)
    if before is None:
        return None
    if before.request_hash != wish.fingerprint():
        raise UserError("idempotency_conflict", "this Idempotency-Key was used for another request; use a new one")
    return _answer(tx, wish, rows.read(tx, before.subscription_id), created=before.created)


def _add(tx: Tx, now: datetime, desk: Desk, wish: Wish, section_id: int | None) -> Subscribed:
    must_confirm = desk.must_confirm(wish.channel) and not wish.is_proven
    verified = not must_confirm or rows.is_verified(tx, wish.contact)
    _refuse_too_many(tx, desk, wish, verified=verified)
    known = status_now(tx, wish.source, wish.topic)
    added = rows.add(tx, now, wish.topic, wish.contact, {
        "section_id": section_id,
        "locale": wish.locale,
        "status": Status.ACTIVE if verified else Status.PENDING,
        "is_verified": verified,
        "last_known_section_status": known if wish.topic.item_key else UNKNOWN,
        "unsubscribe_token": new_token(),
        "manage_token": new_token(),
        "verification_nonce": None if verified else new_token(),
        "metadata": prefs.kept(wish.metadata, wish.preferences),
        **prefs.columns(wish.preferences),
    })  # fmt: skip
    rows.note(tx, now, added, "created", {"status": added.status})
    if not verified:
        ask_to_confirm(tx, now, added)
    return Subscribed(added, True, not verified, known)


def _again(tx: Tx, now: datetime, desk: Desk, wish: Wish, found: Subscription) -> Subscribed:
    """There is one already. A paused one goes on; one that waits for its confirmation is asked for it again. Nothing
    else changes: whoever asks may not be its owner."""
    if found.status == Status.PAUSED:
        found = resume(tx, now, desk, found, "subscribed again")
    elif found.status == Status.PENDING:
        ask_to_confirm(tx, now, found)
    return _answer(tx, wish, found, created=False)


def _answer(tx: Tx, wish: Wish, found: Subscription, *, created: bool) -> Subscribed:
    return Subscribed(found, created, found.status == Status.PENDING, status_now(tx, wish.source, wish.topic))


def ask_to_confirm(tx: Tx, now: datetime, subscription: Subscription) -> None:
    if notifications.queue_verification(tx, now, subscription, now - ASK_EVERY):
        # Its day to confirm begins anew with each mail.
        rows.change(tx, now, subscription.subscription_id)
        rows.note(tx, now, subscription, "verification_queued")


def status_now(tx: Tx, source: Source, topic: Topic) -> str:
    return rows.status_now(tx, topic.source, source.items_of(tx, topic)) or UNKNOWN


def _refuse_too_many(tx: Tx, desk: Desk, wish: Wish, *, verified: bool) -> None:
    # What strangers asked for in a verified contact's name, and it never confirmed, is not held against it.
    counted = (Status.ACTIVE, Status.PAUSED, *(() if verified else (Status.PENDING,)))
    settings = desk.settings
    if rows.count_of_contact(tx, wish.contact, counted) >= settings.per_contact:
        raise _too_many(f"this contact has {settings.per_contact} live subscriptions, which is the most; end one first")
    rows.alone_with_topic(tx, wish.topic.name)
    if rows.count_of_topic(tx, wish.topic.name) >= settings.per_section:
        raise _too_many(f"{settings.per_section} wait for this already, which is the most")


def _too_many(message: str) -> UserError:
    return UserError("rate_limited", message, {"retryAfterS": _LIMIT_RETRY_S})
