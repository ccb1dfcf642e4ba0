"""`availability`: the state of every item that was ever open, one row each. Only the emitting transaction writes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import and_, bindparam, delete, func, insert, select, update

from vacancy.model.availability import CLOSED, OPEN, Item
from vacancy.model.state import ItemState, TargetState, digest
from vacancy.store.engine import Tx
from vacancy.store.ids import draw
from vacancy.store.prepared import Prepared
from vacancy.store.schema import availability, targets

_LOAD: Final = select(
    availability.c.item_key,
    availability.c.snapshot_id,
    availability.c.state,
    availability.c.episode,
    availability.c.missed_polls,
    availability.c.closed_at,
    availability.c.group_key,
    availability.c.payload,
    availability.c.gone_since,
    availability.c.told_at,
    availability.c.owed_from,
).where(availability.c.target_id == bindparam("target"))
_INSERT: Final = Prepared(
    insert(availability),
    (
        "snapshot_id",
        "target_id",
        "item_key",
        "state",
        "opened_at",
        "last_seen_at",
        "missed_polls",
        "episode",
        "group_key",
        "payload",
        "told_at",
        "owed_from",
    ),
)
_REOPEN: Final = Prepared(
    update(availability)
    .where(availability.c.snapshot_id == bindparam("id"), availability.c.state == CLOSED)
    .values(
        state=OPEN,
        opened_at=bindparam("at"),
        last_seen_at=bindparam("at"),
        closed_at=None,
        missed_polls=0,
        episode=bindparam("number"),
        group_key=bindparam("belongs_to"),
        # Who opens by hand knows no words: those of the last time stay.
        payload=func.coalesce(bindparam("says", type_=availability.c.payload.type), availability.c.payload),
        told_at=bindparam("told"),
        owed_from=bindparam("owed"),
    )
)
_CLOSE: Final = Prepared(
    update(availability)
    .where(availability.c.snapshot_id == bindparam("id"), availability.c.state == OPEN)
    .values(
        state=CLOSED,
        closed_at=bindparam("at"),
        missed_polls=0,
        last_seen_at=bindparam("seen"),
        gone_since=bindparam("since"),
        owed_from=None,
    )
)
_MISS: Final = Prepared(
    update(availability)
    .where(availability.c.snapshot_id == bindparam("id"))
    .values(missed_polls=bindparam("misses"), last_seen_at=bindparam("seen"))
)
_DESCRIBE: Final = Prepared(
    update(availability).where(availability.c.snapshot_id == bindparam("id")).values(payload=bindparam("says"))
)
_SETTLE: Final = Prepared(
    update(availability)
    .where(availability.c.snapshot_id == bindparam("id"))
    .values(told_at=bindparam("told"), owed_from=bindparam("owed"))
)

NOTHING: Final[Mapping[str, datetime]] = MappingProxyType({})


def load(tx: Tx, target_id: int) -> dict[str, ItemState]:
    rows = tx.execute(_LOAD, {"target": target_id})
    return {
        key: ItemState(snapshot_id, state == OPEN, episode, missed, closed_at, group, digest(payload or {}), *more)
        for key, snapshot_id, state, episode, missed, closed_at, group, payload, *more in rows
    }


def open_items(
    tx: Tx, target_id: int, state: TargetState, items: Sequence[Item], at: datetime,
    told: Mapping[str, datetime] = NOTHING, owed: Mapping[str, datetime] = NOTHING,
) -> dict[str, ItemState]:  # fmt: skip
    """Each in its next episode: its number goes on from the last one, or from what pruning left behind. It is told of
    now, or owes that from a later moment on, or neither."""
    opened: dict[str, ItemState] = {}
    again, first = [], []
    fresh = [item for item in items if item.key not in state.items]
    numbers = iter(draw(tx, "availability", len(fresh)) if fresh else ())
    for item in items:
        before = state.items.get(item.key)
        if before:
            opened[item.key] = ItemState(
                before.snapshot_id, True, before.episode + 1, group=item.group, says=digest(item.payload),
                gone_since=before.gone_since, told_at=told.get(item.key, before.told_at), owed_from=owed.get(item.key),
            )  # fmt: skip
            again.append(_opening(item, opened[item.key], at))
        else:
            opened[item.key] = ItemState(
                next(numbers), True, state.episode_floor + 1, group=item.group, says=digest(item.payload),
                told_at=told.get(item.key), owed_from=owed.get(item.key),
            )  # fmt: skip
            first.append(_new_row(target_id, item, opened[item.key], at))
    if again:
        tx.write(_REOPEN, again)
    if first:
        tx.write(_INSERT, first)
    return opened


def close_items(tx: Tx, closed: Collection[ItemState], last_seen: datetime | None) -> None:
    tx.write(_CLOSE, [
        {"id": item.snapshot_id, "at": item.closed_at, "seen": last_seen or item.closed_at, "since": item.gone_since}
        for item in closed
    ])  # fmt: skip


def count_misses(tx: Tx, state: TargetState, misses: Mapping[str, int], last_seen: datetime | None) -> None:
    tx.write(_MISS, [{"id": state.items[key].snapshot_id, "misses": n, "seen": last_seen} for key, n in misses.items()])


def describe_anew(tx: Tx, state: TargetState, items: Sequence[Item]) -> None:
    tx.write(_DESCRIBE, [{"id": state.items[item.key].snapshot_id, "says": dict(item.payload)} for item in items])


def settle_items(tx: Tx, state: TargetState, keys: Collection[str]) -> None:
    """Of what stays open: when it was told of, and that nothing is owed for it."""
    items = [state.items[key] for key in keys]
    tx.write(_SETTLE, [{"id": item.snapshot_id, "told": item.told_at, "owed": item.owed_from} for item in items])


def told_elsewhere(
    tx: Tx, source: str, target_id: int, keys: Collection[str], since: datetime
) -> frozenset[str]:  # fmt: skip
    """Those of these items that another target of the source told of since then."""
    found = tx.execute(
        select(availability.c.item_key)
        .join(targets, targets.c.target_id == availability.c.target_id)
        .where(
            targets.c.source == source, targets.c.target_id != target_id, targets.c.configured,
            availability.c.item_key.in_(keys), availability.c.told_at > since,
        )
    )  # fmt: skip
    return frozenset(found.scalars())


def prune_closed(tx: Tx, before: datetime, at_most: int) -> int:
    """The target keeps the highest episode that goes, so that no item ever counts an episode twice."""
    is_old = and_(availability.c.state == CLOSED, availability.c.closed_at < before)
    old = (
        select(availability.c.snapshot_id, availability.c.target_id, availability.c.episode)
        .where(is_old)
        .order_by(availability.c.closed_at)
        .limit(at_most)
    )
    rows = tx.execute(old).all()
    if not rows:
        return 0
    floors: dict[int, int] = {}
    for _, target_id, episode in rows:
        floors[target_id] = max(floors.get(target_id, 0), episode)
    for target_id, floor in floors.items():
        tx.execute(
            update(targets)
            .where(targets.c.target_id == target_id)
            # The version moves because whoever holds the state in memory holds items that are gone.
            .values(version=targets.c.version + 1, episode_floor=func.max(targets.c.episode_floor, floor)
                    if tx.dialect == "sqlite" else func.greatest(targets.c.episode_floor, floor))
        )  # fmt: skip
    # Asked again, now that the targets are ours: one of them may have opened while we waited for its target.
    numbers = [snapshot_id for snapshot_id, _, _ in rows]
    return tx.execute(delete(availability).where(is_old, availability.c.snapshot_id.in_(numbers))).rowcount


def _opening(item: Item, now_is: ItemState, at: datetime) -> Mapping[str, Any]:
    return {
        "id": now_is.snapshot_id,
        "at": at,
        "number": now_is.episode,
        "belongs_to": item.group,
        "says": dict(item.payload) or None,
        "told": now_is.told_at,
        "owed": now_is.owed_from,
    }


def _new_row(target_id: int, item: Item, now_is: ItemState, at: datetime) -> Mapping[str, Any]:
    return {
        "snapshot_id": now_is.snapshot_id,
        "target_id": target_id,
        "item_key": item.key,
        "state": OPEN,
        "opened_at": at,
        "last_seen_at": at,
        "missed_polls": 0,
        "episode": now_is.episode,
        "group_key": item.group,
        "payload": dict(item.payload) or None,
        "told_at": now_is.told_at,
        "owed_from": now_is.owed_from,
    }
