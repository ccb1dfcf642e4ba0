"""What can be waited for at a JSON endpoint: one item, or whatever opens there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import select

from vacancy.errors import UserError
from vacancy.model.availability import Item
from vacancy.model.events import Description
from vacancy.model.topics import ItemName, Topic
from vacancy.sources.json_reader import LONGEST_KEY
from vacancy.store import item_facts
from vacancy.store.engine import Tx
from vacancy.store.schema import availability, targets

# An endpoint is one target.
TARGET: Final = "all"


def is_item_key(text: str) -> bool:
    return 0 < len(text) <= LONGEST_KEY and text.isprintable() and text == text.strip()


def read_topic(source: str, name: str) -> Topic:
    """Any item may be waited for, listed or not: what an endpoint will show one day, nobody knows."""
    if name == source:
        return Topic(source, source, TARGET)
    prefix = item_topic(source, "")
    item = name.removeprefix(prefix).strip()
    if not name.startswith(prefix) or not is_item_key(item):
        wrong = f"topic: must be {source} or {source}:ITEM, with an item of 1 to {LONGEST_KEY} characters"
        raise UserError("validation_failed", wrong, [wrong])
    return Topic(item_topic(source, item), source, TARGET, item)


def item_topic(source: str, item: str) -> str:
    return f"{source}:{item}"


def items_of(tx: Tx, topic: Topic) -> Sequence[ItemName]:
    if topic.item_key is not None:
        return [ItemName(TARGET, topic.item_key)]
    keys = tx.execute(
        select(availability.c.item_key)
        .join_from(availability, targets, availability.c.target_id == targets.c.target_id)
        .where(targets.c.source == topic.source, targets.c.key == TARGET, targets.c.configured)
        .order_by(availability.c.item_key)
    ).scalars()
    return [ItemName(TARGET, key) for key in keys]


def describe(tx: Tx, source: str, key: str, items: Sequence[Item]) -> Mapping[str, Description]:
    """An item that closed comes with its key alone: what it is stands in the state then."""
    bare = [item.key for item in items if not item.payload]
    kept = item_facts.of_items(tx, source, key, bare) if bare else {}
    return {
        item.key: Description(
            (item_topic(source, item.key), source),
            item.payload or (kept[item.key].payload if item.key in kept else {}) or {"title": item.key},
        )
        for item in items
    }
