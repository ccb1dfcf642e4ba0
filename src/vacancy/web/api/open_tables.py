"""What is open now, kept in memory for all readers: one look at the database and one rendering, however many ask.

What is kept is believed until an event was committed, a target was changed, or a second has passed. A look costs a row
for each bucket; of the slots, only those of buckets that moved are read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Final

import msgspec

from vacancy.store import bells, open_slots
from vacancy.store.open_slots import OpenNow
from vacancy.web.api import slot_days
from vacancy.web.api.shared import Shared
from vacancy.web.api.slot_days import EVERYTHING, Asked, Day
from vacancy.web.api.tail import EventFeed
from vacancy.web.context import House

SOURCE: Final = "resy"
_BELIEVED_S: Final = 1.0
# Answers to questions with filters are kept while nothing changes, up to this much together.
_KEPT_BYTES: Final = 8_000_000


class View(StrEnum):
    JUST_OPENED = "just-opened"
    STILL_OPEN = "still-open"
    COUNTS = "open-counts"


@dataclass(frozen=True, slots=True)
class Question:
    view: View
    asked: Asked
    minutes: int

    @property
    def is_plain(self) -> bool:
        """The whole inventory: the one answer that is large, and asked for the most."""
        return self.view is View.STILL_OPEN and self.asked == EVERYTHING


@dataclass(frozen=True, slots=True)
class Rendered:
    body: bytes
    etag: str
    true_until: datetime | None

    def holds(self, now: datetime) -> bool:
        return self.true_until is None or now <= self.true_until


@dataclass(slots=True)
class _Present:
    """What is open now, and the answers that were made of it."""

    open_now: OpenNow
    answers: dict[Question, Rendered] = field(default_factory=dict)
    size: int = 0

    def keep(self, question: Question, rendered: Rendered) -> None:
        if self.size + len(rendered.body) > _KEPT_BYTES and not question.is_plain:
            self.answers.clear()
            self.size = 0
        self.answers[question] = rendered
        self.size += len(rendered.body)


class OpenTables:
    """Used in the event loop alone; what takes long is done in threads."""

    def __init__(self, house: House, feed: EventFeed) -> None:
        self._store = house.store
        self._clock = house.clock
        self._feed = feed
        self._bell = house.store.bells[bells.TARGETS]
        self._interval_s = house.intervals.get(SOURCE, slot_days.DEFAULT_INTERVAL_S)
        self._reading = Shared[_Present]()
        self._making = Shared[Rendered]()
        self._rendering = asyncio.Lock()
        self._present: _Present | None = None
        self._heard = 0
        self._read_at = 0.0
        # Of days in which nothing moved the venues need not be encoded again.
        self._days: dict[str, tuple[Hashable, bytes]] = {}

    async def answer(self, question: Question) -> Rendered:
        present = await self._now()
        if rendered := _kept(present, question):
            return rendered
        return await self._making.get((id(present), question), lambda: self._make(present, question))

    async def _make(self, present: _Present, question: Question) -> Rendered:
        # One at a time: two would only share the interpreter.
        async with self._rendering:
            rendered = await asyncio.to_thread(self._render, present.open_now, question)
        present.keep(question, rendered)
        return rendered

    async def _now(self) -> _Present:
        if (present := await self._believed()) is not None:
            return present
        if await self._reading.end_of(None) and (present := await self._believed()) is not None:
            return present
        return await self._reading.get(None, self._read)

    async def _read(self) -> _Present:
        # Heard before the table is read: a ring in between makes this look untrue, not incomplete.
        heard, read_at = self._bell.rings, self._clock.monotonic()
        before = self._present
        open_now = await self._store.read(open_slots.read_on, SOURCE, before.open_now if before else None)
        self._present = _next(before, open_now)
        self._heard, self._read_at = heard, read_at
        return self._present

    async def _believed(self) -> _Present | None:
        """The present as it was read, if it still is."""
        newest = (await self._feed.tail()).newest
        present = self._present
        if present is None or newest > present.open_now.newest_event or self._bell.rings != self._heard:
            return None
        return present if self._clock.monotonic() - self._read_at < _BELIEVED_S else None

    def _render(self, open_now: OpenNow, question: Question) -> Rendered:
        openings = slot_days.recent(open_now, question.minutes)
        days = slot_days.days(open_now, question.asked, self._interval_s)
        told = [self._told(day, question, openings) for day in days]
        if question.is_plain:
            self._days = {day.date: self._days[day.date] for day in days}
        body = slot_days.encoded({"days": told, "asOfEventId": open_now.newest_event})
        minutes = None if question.view is View.STILL_OPEN else question.minutes
        until = slot_days.true_until(open_now, minutes, self._interval_s)
        return Rendered(body, f'"{blake2b(body, digest_size=16).hexdigest()}"', until)

    def _told(self, day: Day, question: Question, openings: Mapping[str, str]) -> dict[str, object]:
        fields, asked = slot_days.day_fields(day), question.asked
        match question.view:
            case View.COUNTS:
                counts = (slot_days.count(day, asked), slot_days.count(day, asked, openings))
                return {**fields, "venues": counts[0], "justOpened": counts[1]}
            case View.JUST_OPENED:
                return {**fields, "venues": slot_days.cards(day, asked, openings)}
            case View.STILL_OPEN:
                made: Callable[[], bytes] = lambda: slot_days.encoded(slot_days.cards(day, asked))  # noqa: E731
                venues = self._once(day, made) if question.is_plain else made()
                return {**fields, "venues": msgspec.Raw(venues)}

    def _once(self, day: Day, make: Callable[[], bytes]) -> bytes:
        version = tuple((bucket.row.target_id, bucket.row.version) for bucket in day.buckets)
        if (kept := self._days.get(day.date)) is not None and kept[0] == version:
            return kept[1]
        made = make()
        self._days[day.date] = (version, made)
        return made


def _kept(present: _Present, question: Question) -> Rendered | None:
    rendered = present.answers.get(question)
    return rendered if rendered is not None and rendered.holds(present.open_now.now) else None


def _next(before: _Present | None, open_now: OpenNow) -> _Present:
    """Where only time has passed, the answers still stand, each as long as it says."""
    if before is not None and before.open_now.says_what(open_now):
        return _Present(open_now, before.answers, before.size)
    return _Present(open_now)
