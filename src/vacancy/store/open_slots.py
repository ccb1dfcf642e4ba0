"""What is open in targets whose items belong to groups, as readers of the present want it: tables, by bucket."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import Text, bindparam, func, select, type_coerce

from vacancy.clock import iso
from vacancy.model.availability import OPEN
from vacancy.store.engine import Tx
from vacancy.store.event_feed import pruned_to
from vacancy.store.prepared import PreparedSelect
from vacancy.store.schema import availability, open_events, targets

LONGEST_AGO: Final = timedelta(minutes=1440)
_a: Final = availability.c
_e: Final = open_events.c
_t: Final = targets.c
_TARGETS: Final = PreparedSelect(
    select(
        _t.target_id, _t.key, _t.version, _t.last_complete_at, _t.held_since, _t.paused_at, _t.baseline_at, _t.failures
    ).where(_t.source == bindparam("source"), _t.configured)
)  # fmt: skip
_NEWEST: Final = select(func.max(_e.open_event_id))
_OPENINGS: Final = (
    select(_e.item_key, _e.event_at)
    .where(
        _e.source + "" == bindparam("source"),
        _e.status_after == OPEN,
        _e.open_event_id > bindparam("after"),
        _e.event_at >= bindparam("since"),
    )
    .order_by(_e.open_event_id)
)
_SLOTS: Final = (
    # Its text as SQLite keeps it is what is shown: to read the moment would cost more than all the rest.
    select(_a.target_id, _a.item_key, _a.group_key, type_coerce(_a.opened_at, Text), type_coerce(_a.payload, Text))
    .where(_a.target_id.in_(bindparam("wanted", expanding=True)), _a.state == OPEN)
    .order_by(_a.snapshot_id)
)


@dataclass(frozen=True, slots=True)
class BucketRow:
    """A target that is polled now. Whatever opens or closes in it moves its version."""

    target_id: int
    key: str
    version: int
    last_complete_at: datetime | None
    held_since: datetime | None
    paused_at: datetime | None
    baseline_at: datetime | None
    failures: int


class Slot(msgspec.Struct, frozen=True, gc=False):
    """One item that is open. There are tens of thousands."""

    item_key: str
    opened_at: str
    time: str
    sizes: tuple[int, ...]
    book_url: str | None


class Venue(msgspec.Struct, frozen=True):
    """A group, in the words of the first of its items, with what is open of it."""

    venue_id: str
    name: str | None
    neighborhood: str | None
    image_url: str | None
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Bucket:
    row: BucketRow
    venues: tuple[Venue, ...]


@dataclass(frozen=True, slots=True)
class OpenNow:
    """All of one moment. `openings` are the newest events of items, as far back as anybody may ask."""

    now: datetime
    buckets: tuple[Bucket, ...]
    newest_event: int
    openings: Mapping[str, datetime]

    def says_what(self, other: OpenNow) -> bool:
        """Whether nothing but time lies between the two."""
        return self.newest_event == other.newest_event and self.buckets == other.buckets


class Said(msgspec.Struct, rename="camel"):
    """What readers show of a payload. An opening that was recorded by hand has none."""

    time: str
    venue_name: str | None = None
    neighborhood: str | None = None
    image_url: str | None = None
    book_url: str | None = None
    party_sizes: tuple[int, ...] = ()


_said: Final = msgspec.json.Decoder(Said)


def read_on(tx: Tx, source: str, before: OpenNow | None) -> OpenNow:
    """What is open now. Of buckets that did not move since `before`, only the heartbeat is read."""
    now = tx.now()
    rows = sorted((BucketRow(*row) for row in tx.read(_TARGETS, {"source": source})), key=lambda row: row.key)
    known = {bucket.row.target_id: bucket for bucket in before.buckets} if before else {}
    # Of a target without a baseline nothing is shown: what it holds is the answer to another question.
    moved = [row.target_id for row in rows if row.baseline_at and not _is_known(row, known)]
    found = venues(tx, moved) if moved else {}
    buckets = tuple(_bucket(row, known, found) for row in rows)
    newest = _newest(tx)
    return OpenNow(now, buckets, newest, _openings(tx, source, now - LONGEST_AGO, before, newest))


def of_group(tx: Tx, source: str, group: str) -> OpenNow:
    """What is open of one group."""
    rows = sorted((BucketRow(*row) for row in tx.read(_TARGETS, {"source": source})), key=lambda row: row.key)
    found = venues(tx, [row.target_id for row in rows if row.baseline_at], group)
    buckets = tuple(Bucket(row, found.get(row.target_id, ())) for row in rows)
    return OpenNow(tx.now(), buckets, _newest(tx), {})


def _newest(tx: Tx) -> int:
    # What was pruned counts too, or the answer's cursor would be one that has expired.
    return max(tx.execute(_NEWEST).scalar() or 0, pruned_to(tx))


def _is_known(row: BucketRow, known: Mapping[int, Bucket]) -> bool:
    return row.target_id in known and known[row.target_id].row.version == row.version


def _bucket(row: BucketRow, known: Mapping[int, Bucket], found: Mapping[int, tuple[Venue, ...]]) -> Bucket:
    if row.baseline_at is None:
        return Bucket(row, ())
    return Bucket(row, found[row.target_id] if row.target_id in found else known[row.target_id].venues)


def _openings(
    tx: Tx, source: str, since: datetime, before: OpenNow | None, newest: int
) -> Mapping[str, datetime]:  # fmt: skip
    if before is None:
        openings, known_to = {}, 0
    else:
        openings = {key: at for key, at in before.openings.items() if at >= since}
        known_to = before.newest_event
    if newest > known_to:
        asked = {"source": source, "after": known_to, "since": since}
        openings |= {row[0]: row[1] for row in tx.execute(_OPENINGS, asked)}
    return openings


def venues(tx: Tx, target_ids: Collection[int], group: str | None = None) -> dict[int, tuple[Venue, ...]]:
    """What is open in each of these targets; of one group, or of all."""
    query = _SLOTS if group is None else _SLOTS.where(_a.group_key == group)
    found: dict[int, dict[str, list[tuple[Said, Slot]]]] = {number: {} for number in target_ids}
    for target_id, item_key, group_key, opened_at, payload in tx.execute(query, {"wanted": sorted(target_ids)}):
        said = read_payload(payload)
        if group_key is not None and said is not None:
            # PostgreSQL gives a datetime.
            opened = opened_at if isinstance(opened_at, str) else iso(opened_at)
            slot = Slot(item_key, opened, said.time, said.party_sizes, said.book_url)
            found[target_id].setdefault(group_key, []).append((said, slot))
    return {number: tuple(_venues(groups)) for number, groups in found.items()}


def _venues(groups: Mapping[str, Sequence[tuple[Said, Slot]]]) -> Iterator[Venue]:
    for group_key, members in groups.items():
        words = members[0][0]
        slots = tuple(slot for _, slot in members)
        yield Venue(group_key, words.venue_name, words.neighborhood, words.image_url, slots)


def read_payload(payload: Any) -> Said | None:
    """None of what nothing can be shown of: without a time nobody can go there."""
    if payload is None:
        return None
    try:
        return _said.decode(payload)
    except msgspec.ValidationError:
        return None
