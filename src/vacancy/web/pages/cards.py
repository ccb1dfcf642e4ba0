"""What somebody waits for, as pages show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vacancy.model.availability import OPEN
from vacancy.model.terms import term_name
from vacancy.subscriptions.naming import Waited
from vacancy.web.pages.facts import campus_of, facts_of, facts_of_many, title_of, verb_of, web_address


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
    title = title_of(payload, topic.index_number, topic.name.rpartition("/")[2])
    is_known = any(payload.get(name) for name in ("courseTitle", "title", "label"))
    facts = facts_of(payload, topic.index_number) if topic.item_key else facts_of_many(payload, waited.items)
    place = [campus_of(topic.campus_code), term_name(topic.term_id) if topic.term_id else None]
    link = topic.link or (payload.get("link") if topic.item_key else None)
    return Card(
        topic.name, title, [*facts, *(fact for fact in place if fact)], waited.status, web_address(link), is_known,
        topic.campus_code is not None, verb_of(topic.source),
    )  # fmt: skip
