"""What a chat asks for in its own words: an index, with its place or without, or any topic. Subscribed as by any other
way, but that the chat itself wrote: there is nothing to confirm."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vacancy.errors import UserError
from vacancy.model.availability import OPEN
from vacancy.model.subscriptions import Contact, Status, Subscription
from vacancy.model.topics import Topic
from vacancy.sources.base import Source
from vacancy.store import ids
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Tx
from vacancy.subscriptions import manage
from vacancy.subscriptions.chats import Own
from vacancy.subscriptions.naming import Waited, look_at_own
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.subscribe import Wish, status_now, subscribe
from vacancy.subscriptions.verification import confirm

SOC: Final = "soc"
_WHAT: Final = r"(?P<what>[0-9]{5}|[0-9A-Za-z]{2}:[0-9A-Za-z]{3}:[0-9A-Za-z]{3})"
_INDEX: Final = re.compile(r"[0-9]{5}", re.ASCII)
_NAMED: Final = re.compile(_WHAT, re.ASCII)
_PLACED: Final = re.compile(rf"(?P<term>[^\s:|]{{1,16}})[\s|]+(?P<campus>[^\s:|]{{1,16}})[\s|]+{_WHAT}", re.ASCII)
_LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class Watched:
    """`was` is the state of the one that there was already."""

    subscription: Subscription
    waited: Waited
    was: Status | None


@dataclass(frozen=True, slots=True)
class Choices:
    """It may be in any of several places: nothing was subscribed."""

    what: str
    topics: Sequence[Topic]


def watch(tx: Tx, desk: Desk, chat: Contact, words: str, locale: str) -> Watched | Choices:
    # In the order in which everybody locks: edges, then the contact.
    ids.hold_edges_off(tx)
    rows.alone_with(tx, chat.hash)
    source, topics = _meant(tx, desk, words)
    if len(topics) > 1:
        return Choices(words, topics)
    (topic,) = topics
    confirm(tx, desk, chat.hash, chat.channel)
    before = rows.find_live(tx, topic.name, chat)
    wish = Wish(source, topic, desk.channel(chat.channel), chat, locale, is_proven=True)
    found = subscribe(tx, desk, wish).subscription
    return Watched(found, look_at_own(tx, desk, found), Status(before.status) if before else None)


def unwatch(tx: Tx, desk: Desk, chat: Contact, words: str) -> Sequence[Own]:
    """By the name that it has here: an index, wherever it is watched, or a topic."""
    ids.hold_edges_off(tx)
    named = [each for each in rows.of_contact(tx, chat.hash, chat.channel) if each.is_live and _is_called(each, words)]
    own = [Own(each, look_at_own(tx, desk, each)) for each in named]
    for each in named:
        manage.leave(tx, desk, each, "user_request")
    return own


def _is_called(found: Subscription, words: str) -> bool:
    return found.topic == words or (_INDEX.fullmatch(words) is not None and found.item_key == words)


def _meant(tx: Tx, desk: Desk, words: str) -> tuple[Source, Sequence[Topic]]:
    """At least one topic; several, if only whoever asked can tell which."""
    if not words or len(words) > _LONGEST or not words.isprintable():
        raise UserError("validation_failed", f"topic: must be 1 to {_LONGEST} plain characters")
    if _NAMED.fullmatch(words):
        source = desk.source(SOC)
        return source, _anywhere(tx, source, _item(words))
    placed = _PLACED.fullmatch(words)
    name = f"{SOC}:{placed['term']}:{placed['campus']}:{_item(placed['what'])}" if placed else words
    source, topic = desk.topic(name)
    return source, [topic]


def _item(what: str) -> str:
    return what if _INDEX.fullmatch(what) else f"course/{what}"


def _anywhere(tx: Tx, source: Source, item: str) -> Sequence[Topic]:
    """Where it is known to be; or, while nobody knows it, every place that is polled: it may be listed one day."""
    places = [question.key.replace("|", ":") for question in source.questions()]
    topics = [source.topic(f"{SOC}:{place}:{item}") for place in places]
    found = [topic for topic in topics if _is_known(tx, source, topic)] or topics
    if not found:
        raise UserError("section_not_found", "no term is watched here")
    return found


def _is_known(tx: Tx, source: Source, topic: Topic) -> bool:
    """By the catalogue, or by the open list, which may be ahead of it."""
    try:
        section_id = source.section_of(tx, topic)
    except UserError:
        return False  # it is at another campus
    if topic.item_key is None:
        return bool(source.items_of(tx, topic))
    return section_id is not None or status_now(tx, source, topic) == OPEN
