"""What the state says of items beyond whether they are open: for sources that keep no catalogue of their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import bindparam, select

from vacancy.model.topics import ItemName
from vacancy.store.engine import Tx
from vacancy.store.schema import availability, targets

# Below what either database takes as parameters of one statement.
_AT_ONCE: Final = 10_000
_a: Final = availability.c
_FACTS: Final = (
    select(_a.item_key, _a.group_key, _a.payload)
    .join_from(availability, targets, _a.target_id == targets.c.target_id)
    .where(
        targets.c.source == bindparam("source"),
        targets.c.key == bindparam("key"),
        _a.item_key.in_(bindparam("wanted", expanding=True)),
    )
)


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """As they were when the item last opened."""

    group: str | None
    payload: Mapping[str, Any]


def of_items(tx: Tx, source: str, key: str, item_keys: Collection[str]) -> Mapping[str, ItemFacts]:
    wanted = sorted(item_keys)
    found: dict[str, ItemFacts] = {}
    for start in range(0, len(wanted), _AT_ONCE):
        asked = {"source": source, "key": key, "wanted": wanted[start : start + _AT_ONCE]}
        for item_key, group, payload in tx.execute(_FACTS, asked):
            found[item_key] = ItemFacts(group, payload or {})
    return found


def of_group(tx: Tx, source: str, group: str, key_prefix: str = "") -> list[ItemName]:
    """Every item of the group, open or not, in the targets that are polled now."""
    rows = tx.execute(
        select(targets.c.key, _a.item_key)
        .join_from(targets, availability, _a.target_id == targets.c.target_id)
        .where(
            targets.c.source == source,
            targets.c.configured,
            targets.c.key.startswith(key_prefix, autoescape=True),
            _a.group_key == group,
        )
        .order_by(targets.c.key, _a.item_key)
    )
    return [ItemName(key, item_key) for key, item_key in rows]
