"""A wish without a contact: it waits for the chat that opens its link, and becomes that chat's subscription, once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from vacancy.errors import StoreError, UserError
from vacancy.model.subscriptions import Contact, Preferences, Subscription
from vacancy.model.topics import Topic
from vacancy.sources.base import Source
from vacancy.store import chat_links, ids
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Tx
from vacancy.subscriptions import preferences as prefs
from vacancy.subscriptions.naming import Waited, look_at_own
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.subscribe import Wish, subscribe
from vacancy.subscriptions.transfer_line import Wishes
from vacancy.subscriptions.verification import confirm

GOOD_FOR: Final = timedelta(hours=24)
# A link that was used is remembered for longer than it was good: its update may be read once more after an outage.
KEPT_FOR: Final = timedelta(days=7)
_CODE_BYTES: Final = 24


@dataclass(frozen=True, slots=True)
class Plan:
    """What somebody wants to be told of, by a chat that is not known yet."""

    source: Source
    topic: Topic
    locale: str = "en-US"
    preferences: Preferences = field(default_factory=Preferences)
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claimed:
    subscription: Subscription
    created: bool
    waited: Waited


def new_code() -> str:
    """Nobody guesses it, and a deep link may carry it."""
    return secrets.token_urlsafe(_CODE_BYTES)


def plan(tx: Tx, wanted: Plan, code: str) -> datetime:
    """Kept until some chat claims it by its code; when that ends is the answer."""
    wanted.source.section_of(tx, wanted.topic)
    chat_links.add(tx, tx.now(), code, {
        "topic": wanted.topic.name, "locale": wanted.locale, "preferences": prefs.shown(wanted.preferences),
        "metadata": wanted.metadata,
    })  # fmt: skip
    return tx.now() + GOOD_FOR


def claim(tx: Tx, desk: Desk, chat: Contact, code: str) -> Claimed:
    """The link's end and the subscription's begin are one transaction: a wish is neither lost nor granted twice. The
    same chat has the same answer again, for its update may be read again."""
    now = tx.now()
    # In the order in which everybody locks: edges, the contact, then what is its own.
    ids.hold_edges_off(tx)
    rows.alone_with(tx, chat.hash)
    link = chat_links.find(tx, code)
    if link is None or (link.used_at is None and now - link.created_at > GOOD_FOR):
        raise _expired()
    if link.used_at is not None:
        return _claimed_before(tx, desk, chat, link.wish)
    confirm(tx, desk, chat.hash, chat.channel)
    subscribed = subscribe(tx, desk, _wish(desk, chat, link.wish))
    found = subscribed.subscription
    became = {"subscriptionId": found.subscription_id, "created": subscribed.created, "locale": found.locale}
    if not chat_links.use(tx, now, code, became):
        raise StoreError("a chat's link was used by another one, although its row was locked")
    return Claimed(found, subscribed.created, look_at_own(tx, desk, found))


def locale_of(tx: Tx, code: str) -> str | None:
    """Of whoever asked for this link."""
    link = chat_links.find(tx, code)
    return str(link.wish["locale"]) if link else None


def prune(tx: Tx, at_most: int) -> int:
    return chat_links.prune(tx, tx.now() - KEPT_FOR, at_most)


def _claimed_before(tx: Tx, desk: Desk, chat: Contact, became: Mapping[str, Any]) -> Claimed:
    for found in rows.of_contact(tx, chat.hash, chat.channel):
        if found.subscription_id == became["subscriptionId"] and found.is_live:
            return Claimed(found, bool(became["created"]), look_at_own(tx, desk, found))
    raise _expired()


def _wish(desk: Desk, chat: Contact, kept: Mapping[str, Any]) -> Wish:
    source, topic = desk.topic(kept["topic"])
    preferences = msgspec.convert(kept["preferences"], Wishes).preferences()
    return Wish(source, topic, desk.channel(chat.channel), chat, kept["locale"], preferences, kept["metadata"],
                is_proven=True)  # fmt: skip


def _expired() -> UserError:
    return UserError("link_expired", "this link is too old, or was used already")
