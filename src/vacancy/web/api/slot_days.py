"""What is open, as days of venues. Pure: of one moment's rows, and of what somebody asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

import msgspec

from vacancy.clock import iso
from vacancy.store import target_overview
from vacancy.store.open_slots import Bucket, OpenNow, Slot, Venue

# For a house without the source: what was seen of it once may be asked for still.
DEFAULT_INTERVAL_S: Final = 60.0
# The worst of a day's buckets is the day's.
_WORST_FIRST: Final = (
    target_overview.HELD,
    target_overview.STALE,
    target_overview.PAUSED,
    target_overview.NEW,
    target_overview.FRESH,
)
_encoder: Final = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Asked:
    """Fields are joined by and, the values of one field by or; an empty field asks nothing."""

    dates: frozenset[str] = frozenset()
    time_slots: frozenset[str] = frozenset()
    party_sizes: frozenset[int] = frozenset()
    venue_ids: frozenset[str] = frozenset()
    neighborhoods: frozenset[str] = frozenset()  # case-folded

    def wants_bucket(self, bucket: Bucket) -> bool:
        day, time_slot = day_and_time(bucket)
        return _wants(self.dates, day) and _wants(self.time_slots, time_slot)

    def wants_venue(self, venue: Venue) -> bool:
        return _wants(self.venue_ids, venue.venue_id) and _wants(
            self.neighborhoods, (venue.neighborhood or "").casefold()
        )

    def wants_slot(self, slot: Slot) -> bool:
        return not self.party_sizes or not self.party_sizes.isdisjoint(slot.sizes)


EVERYTHING: Final = Asked()


class Card(msgspec.Struct, rename="camel"):
    venue_id: str
    name: str | None
    neighborhood: str | None
    times: Sequence[str]
    party_sizes: Sequence[int]
    book_url: str | None
    image_url: str | None
    opened_at: str


@dataclass(slots=True)
class _Shown:
    """What is shown of one venue on one day; the same slot may lie in two buckets."""

    venue: Venue
    opened_at: str
    slots: dict[str, Slot] = field(default_factory=dict)

    def take(self, slot: Slot, at: str) -> None:
        self.slots[slot.item_key] = slot
        self.opened_at = max(self.opened_at, at)


@dataclass(frozen=True, slots=True)
class Day:
    date: str
    state: str
    checked_at: str | None
    buckets: Sequence[Bucket]


def days(open_now: OpenNow, asked: Asked, interval_s: float) -> list[Day]:
    """Every day that is watched and asked for, also one on which nothing is open."""
    wanted = [bucket for bucket in open_now.buckets if asked.wants_bucket(bucket)]
    return [
        _day(date, list(buckets), open_now.now, interval_s)
        for date, buckets in groupby(wanted, key=lambda bucket: day_and_time(bucket)[0])
    ]


def day_and_time(bucket: Bucket) -> tuple[str, str]:
    day, _, time_slot = bucket.row.key.partition("_")
    return day, time_slot


def recent(open_now: OpenNow, minutes: int) -> Mapping[str, str]:
    """The events of so many minutes, by item."""
    since = open_now.now - timedelta(minutes=minutes)
    return {key: iso(at) for key, at in open_now.openings.items() if at >= since}


def cards(day: Day, asked: Asked, openings: Mapping[str, str] | None = None) -> list[Card]:
    """By name; of slots with one of these events only, where they are given, and then the newest opening first."""
    shown = _shown(day.buckets, asked, openings)
    made = [_card(each) for each in shown]
    made.sort(key=lambda card: ((card.name or "").casefold(), card.venue_id))
    if openings is not None:
        made.sort(key=lambda card: card.opened_at, reverse=True)
    return made


def count(day: Day, asked: Asked, openings: Mapping[str, str] | None = None) -> int:
    return len(_shown(day.buckets, asked, openings))


def true_until(open_now: OpenNow, minutes: int | None, interval_s: float) -> datetime | None:
    """When time alone makes another answer of it: an event falls out of the window, a bucket turns stale."""
    patience = target_overview.patience(interval_s)
    moments = [bucket.row.last_complete_at + patience for bucket in open_now.buckets if bucket.row.last_complete_at]
    if minutes is not None:
        window = timedelta(minutes=minutes)
        moments += [at + window for at in open_now.openings.values()]
    return min((moment for moment in moments if moment >= open_now.now), default=None)


def encoded(value: object) -> bytes:
    return _encoder.encode(value)


def day_fields(day: Day) -> dict[str, Any]:
    return {"date": day.date, "state": day.state, "checkedAt": day.checked_at}


def _wants(wanted: Collection[str], value: str) -> bool:
    return not wanted or value in wanted


def _day(date: str, buckets: Sequence[Bucket], now: datetime, interval_s: float) -> Day:
    states = {_state(bucket, now, interval_s) for bucket in buckets}
    checked = [bucket.row.last_complete_at for bucket in buckets]
    # One that was never answered makes the whole day unknown, whatever the others say.
    known = [at for at in checked if at is not None]
    oldest = min(known) if len(known) == len(checked) else None
    worst = next(state for state in _WORST_FIRST if state in states)
    return Day(date, worst, None if oldest is None else iso(oldest), buckets)


def _state(bucket: Bucket, now: datetime, interval_s: float) -> str:
    row = bucket.row
    return target_overview.state(
        now,
        interval_s,
        paused_at=row.paused_at,
        held_since=row.held_since,
        baseline_at=row.baseline_at,
        failures=row.failures,
        last_complete_at=row.last_complete_at,
    )


def _shown(buckets: Iterable[Bucket], asked: Asked, openings: Mapping[str, str] | None) -> list[_Shown]:
    shown: dict[str, _Shown] = {}
    if openings is not None and not openings:
        return []
    for bucket in buckets:
        for venue in bucket.venues:
            if asked.wants_venue(venue):
                for slot, at in _wanted(venue, asked, openings):
                    shown.setdefault(venue.venue_id, _Shown(venue, at)).take(slot, at)
    return list(shown.values())


def _wanted(
    venue: Venue, asked: Asked, openings: Mapping[str, str] | None
) -> Iterator[tuple[Slot, str]]:  # fmt: skip
    for slot in venue.slots:
        at = slot.opened_at if openings is None else openings.get(slot.item_key)
        if at is not None and asked.wants_slot(slot):
            yield slot, at


def _card(shown: _Shown) -> Card:
    slots = sorted(shown.slots.values(), key=lambda slot: slot.time)
    venue = shown.venue
    return Card(
        venue.venue_id,
        venue.name,
        venue.neighborhood,
        sorted({slot.time for slot in slots}),
        sorted({size for slot in slots for size in slot.sizes}),
        slots[0].book_url,
        venue.image_url,
        shown.opened_at,
    )
