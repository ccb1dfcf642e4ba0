"""What somebody waits for, as far as the catalogue knows it, and how it stands this moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vacancy.errors import UserError
from vacancy.model.availability import Item
from vacancy.model.subscriptions import Subscription
from vacancy.model.topics import Topic
from vacancy.sources.base import Source
from vacancy.store.engine import Tx
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.subscribe import UNKNOWN, status_now


@dataclass(frozen=True, slots=True)
class Waited:
    """`payload` is that of its item, or of the first of its items; it says little where the catalogue knows nothing."""

    topic: Topic
    status: str = UNKNOWN
    items: int = 0
    payload: Mapping[str, Any] = field(default_factory=dict)


def look(tx: Tx, desk: Desk, name: str) -> Waited:
    """UserError if nothing could ever come of waiting for it."""
    source, topic = desk.topic(name)
    source.section_of(tx, topic)
    return _look(tx, source, topic)


def look_at_own(tx: Tx, desk: Desk, found: Subscription) -> Waited:
    """Whatever became of its term and its source since: its owner may look at it to the end."""
    try:
        source, topic = desk.topic(found.topic)
    except UserError:
        kept = desk.sources(found.source)
        return _look(tx, kept, found.waits_for) if kept else Waited(found.waits_for)
    return _look(tx, source, topic)


def _look(tx: Tx, source: Source, topic: Topic) -> Waited:
    names = sorted(source.items_of(tx, topic), key=lambda name: name.item_key)
    payload: Mapping[str, Any] = {}
    if names:
        first = names[0]
        payload = source.describe(tx, first.target_key, [Item(first.item_key)])[first.item_key].payload
    return Waited(topic, status_now(tx, source, topic), len(names), payload)
