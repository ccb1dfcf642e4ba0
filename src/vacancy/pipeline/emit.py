"""One transaction: compare-and-set the target, write its state and the events. An edge never exists without its state,
nor the state without its edge: whatever kills us leaves both or neither."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha1
from typing import Final

from msgspec import structs

from vacancy.model.availability import Answer, Complete, Item
from vacancy.model.events import Description
from vacancy.model.state import Changes, ItemState, TargetState, digest
from vacancy.sources.base import Source
from vacancy.store import availability, events, ids, subscriptions, unwanted
from vacancy.store.engine import Tx
from vacancy.store.events import Edge, Sighting

_WINDOW: Final = timedelta(minutes=3)


@dataclass(frozen=True, slots=True)
class Scene:
    """Where and when the edges were seen, and by what."""

    target_id: int
    key: str
    source: Source
    detected_by: str
    trace_id: str
    now: datetime
    last_seen_at: datetime | None  # the believed answer before this one: when a missing item was last there
    snapshot_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Emission:
    opened: tuple[int, ...] = ()
    closed: tuple[int, ...] = ()


def emit(tx: Tx, scene: Scene, state: TargetState, changes: Changes) -> Emission:
    """The caller has won the target's row in this transaction. `state` follows; if the commit fails, drop it."""
    if changes.opened or changes.closed or changes.due or changes.said_anew or not changes.raises:
        ids.emit_alone(tx)
    emission = _emit(tx, scene, state, changes)
    if changes.said_anew:
        # Subscriptions come before rows of the queue everywhere: the other way round two could wait for each other.
        unwanted.look_at_again(tx, scene.source.name, scene.key, [item.key for item in changes.said_anew])
    return emission


def _emit(tx: Tx, scene: Scene, state: TargetState, changes: Changes) -> Emission:
    if changes.news and scene.source.policy.event_gap_s:
        changes = _not_told_elsewhere(tx, scene, changes)
    before = {key: state.items[key] for key in changes.closed}
    closed_at = {item.key: state.items[item.key].closed_at for item in changes.opened if item.key in state.items}
    _write_items(tx, scene, state, changes)
    if not changes.raises:
        subscriptions.baseline_taken(tx, scene.target_id, scene.source.name, scene.key)
        return Emission()
    openings = [
        _Change(item, state.items[item.key], is_opening=True, since=closed_at.get(item.key)) for item in changes.news
    ]
    closings = [_Change(Item(key, item.group), item, is_opening=False, since=None) for key, item in before.items()]
    if not openings and not closings:
        return Emission()
    about = scene.source.describe(tx, scene.key, [change.item for change in openings + closings])
    closed = [(topic, change.item.key) for change in closings for topic in about[change.item.key].topics]
    subscriptions.items_closed(tx, closed)
    told = closings if scene.source.policy.records_close else []
    numbers = _append(tx, scene, openings + told, about)
    return Emission(tuple(numbers[: len(openings)]), tuple(numbers[len(openings) :]))


def _not_told_elsewhere(tx: Tx, scene: Scene, changes: Changes) -> Changes:
    """The same item may be open in another target as well, which saw it first: two windows of hours overlap."""
    since = scene.now - timedelta(seconds=scene.source.policy.event_gap_s)
    keys = [item.key for item in changes.news]
    told = availability.told_elsewhere(tx, scene.source.name, scene.target_id, keys, since)
    due = tuple(item for item in changes.due if item.key not in told)
    return replace(changes, silent=changes.silent | told, due=due) if told else changes


@dataclass(frozen=True, slots=True)
class _Change:
    item: Item
    state: ItemState
    is_opening: bool
    since: datetime | None  # the item's last recorded close


def _write_items(tx: Tx, scene: Scene, state: TargetState, changes: Changes) -> None:
    """One write for each item, whatever is to be kept of it."""
    if changes.closed:
        _close(tx, scene, state, changes.closed)
    misses = {**changes.missed, **dict.fromkeys(changes.seen_again, 0)}
    if misses:
        availability.count_misses(tx, state, misses, scene.last_seen_at)
        for key, count in misses.items():
            item = state.items[key]
            state.put(key, structs.replace(item, missed=count))
    told = dict.fromkeys((item.key for item in changes.news), scene.now) if _remembers(scene) else {}
    if changes.opened:
        # What a baseline shows is owed to nobody.
        owed = changes.put_off if changes.raises else {}
        opened = availability.open_items(tx, scene.target_id, state, changes.opened, scene.now, told, owed)
        for key, item in opened.items():
            state.put(key, item)
    if changes.said_anew:
        availability.describe_anew(tx, state, changes.said_anew)
        for each in changes.said_anew:
            state.put(each.key, structs.replace(state.items[each.key], says=digest(each.payload)))
    settled = {item.key for item in changes.due} if changes.raises else set(state.owed)
    if settled:
        _settle(tx, state, settled, told)


def _remembers(scene: Scene) -> bool:
    """Whether later answers are judged by more than open and closed."""
    return scene.source.policy.group_empty_after is not None or bool(scene.source.policy.event_gap_s)


def _close(tx: Tx, scene: Scene, state: TargetState, keys: Sequence[str]) -> None:
    gone = {"gone_since": state.wholes + 1} if _remembers(scene) else {}
    closed = {
        key: structs.replace(state.items[key], is_open=False, missed=0, closed_at=scene.now, owed_from=None, **gone)
        for key in keys
    }
    availability.close_items(tx, closed.values(), scene.last_seen_at)
    for key, item in closed.items():
        state.put(key, item)


def _settle(tx: Tx, state: TargetState, keys: Collection[str], told: Mapping[str, datetime]) -> None:
    """What was owed for items that stay open is owed no longer."""
    for key in keys:
        item = state.items[key]
        state.put(key, structs.replace(item, told_at=told.get(key, item.told_at), owed_from=None))
    availability.settle_items(tx, state, keys)


def _append(tx: Tx, scene: Scene, changed: Sequence[_Change], about: Mapping[str, Description]) -> list[int]:
    edges = [
        Edge(
            item_key=change.item.key,
            group=change.item.group,
            is_opening=change.is_opening,
            episode=change.state.episode,
            snapshot_id=change.state.snapshot_id,
            dedupe_key=scene.source.dedupe_key(
                scene.key,
                change.item.key,
                "Open" if change.is_opening else "Closed",
                change.state.episode,
                _windows(change.since, scene.now),
                at=scene.now,
            ),
            description=about[change.item.key],
        )
        for change in changed
    ]
    seen = Sighting(
        scene.source.name, scene.key, scene.detected_by, scene.trace_id, scene.now, scene.snapshot_hash
    )  # fmt: skip
    return events.append(tx, seen, edges)


def _windows(since: datetime | None, now: datetime) -> int:
    return max(0, (now - since) // _WINDOW) if since else 0


def hash_of(answer: Answer) -> str:
    """What ties an event to the answer that raised it: of its bytes where they are known, else of its items."""
    if isinstance(answer, Complete) and answer.mark:
        return sha1(answer.mark, usedforsecurity=False).hexdigest()
    return sha1(",".join(sorted(answer.keys)).encode(), usedforsecurity=False).hexdigest()
