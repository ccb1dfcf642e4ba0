"""`held_answers`: the answer that a target waits to see confirmed. There is a row exactly while one is held."""

from __future__ import annotations

from typing import Final

from sqlalchemy import bindparam, delete, insert, select, update

from vacancy.model.availability import Item
from vacancy.model.state import Held, Reason
from vacancy.store.engine import Tx
from vacancy.store.schema import held_answers

_LOAD: Final = select(held_answers).where(held_answers.c.target_id == bindparam("target"))
_COUNT: Final = update(held_answers).where(held_answers.c.target_id == bindparam("target"))
_DROP: Final = delete(held_answers).where(held_answers.c.target_id == bindparam("target"))


def load(tx: Tx, target_id: int) -> Held | None:
    row = tx.execute(_LOAD, {"target": target_id}).one_or_none()
    if row is None:
        return None
    items = {key: Item(key, group, payload) for key, group, payload in row.items["more"]}
    return Held(Reason(row.reason), row.samples, row.first_at, row.last_at, frozenset(row.items["keys"]), items)


def save(tx: Tx, target_id: int, held: Held, before: Held | None) -> None:
    """Only what changed: while the same answer is held, its items are not written again."""
    if before is not None and before.keys is held.keys:
        counters = {"samples": held.samples, "first_at": held.first_at, "last_at": held.last_at}
        if tx.execute(_COUNT.values(**counters), {"target": target_id}).rowcount:
            return
    drop(tx, target_id)
    more = [[item.key, item.group, dict(item.payload)] for item in held.items.values()]
    tx.execute(
        insert(held_answers).values(
            target_id=target_id,
            reason=held.reason,
            samples=held.samples,
            first_at=held.first_at,
            last_at=held.last_at,
            items={"keys": sorted(held.keys), "more": more},
        )
    )


def drop(tx: Tx, target_id: int) -> None:
    tx.execute(_DROP, {"target": target_id})
