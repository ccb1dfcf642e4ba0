"""What somebody waits for, as pages show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vacancy.channels.told import RESY, SOC, topic_title
from vacancy.channels.words import DEFAULT_LOCALE
from vacancy.model.availability import OPEN
from vacancy.model.terms import term_name
from vacancy.model.topics import Topic
from vacancy.subscriptions.naming import Waited
from vacancy.web.pages.facts import campus_of, facts_of, facts_of_many, title_of, verb_of, web_address

# What a payload calls the wider thing that its item belongs to.
_WIDER: Final = ("courseTitle", "venueName")


@dataclass(frozen=True, slots=True)
class Card:
    topic: str
    title: str
    facts: Sequence[str]
    status: str  # Open, Closed or Unknown
    link: str | None
    is_known: bool  # the catalogue has a name for it
    is_at_campus: bool
    verb: str

    @property
    def is_open(self) -> bool:
        return self.status == OPEN


def card(waited: Waited) -> Card:
    topic, payload = waited.topic, waited.payload
    is_known = any(payload.get(name) for name in ("courseTitle", "title", "label"))
    facts = facts_of(payload, topic.index_number) if topic.item_key else facts_of_many(payload, waited.items)
    place = [_day_of(topic), campus_of(topic.campus_code), term_name(topic.term_id) if topic.term_id else None]
    link = topic.link or (payload.get("link") if topic.item_key else None)
    return Card(
        topic.name, _title(waited), [*facts, *(fact for fact in place if fact)], waited.status, web_address(link),
        is_known, topic.campus_code is not None, verb_of(topic.source),
    )  # fmt: skip


def _title(waited: Waited) -> str:
    """What takes in several things is not called what the first of them is."""
    topic, payload = waited.topic, waited.payload
    if topic.item_key is None and not any(payload.get(name) for name in _WIDER):
        return topic.name.rpartition("/")[2] if topic.source == SOC else topic_title(topic.name, DEFAULT_LOCALE)
    return title_of(payload, topic.index_number, topic.name.rpartition("/")[2])


def _day_of(topic: Topic) -> str | None:
    """Of `resy:venue/834@2026-02-28`."""
    return topic.name.rpartition("@")[2] if topic.source == RESY and "@" in topic.name else None
