"""The newest events, kept as the bytes that are sent; what is older is read from the table.

A tail is true only as long as nothing was committed since it was read, and that is asked before every answer: of
SQLite by the count of other connections' commits (microseconds), of PostgreSQL by the bell and an age of a second.
Numbers are in commit order, so a tail only ever grows at its end and a cursor that it served skipped nothing.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vacancy.clock import Clock
from vacancy.errors import UserError
from vacancy.store import bells, event_feed
from vacancy.store.engine import Store, connect_sqlite
from vacancy.store.event_feed import EVERYTHING, FeedEvent, Only
from vacancy.web.api.shared import Shared

_KEPT: Final = 5000
_KEPT_BYTES: Final = 8_000_000
# How long PostgreSQL's tail is believed without a ring: a listener may be reconnecting.
_BELIEVED_S: Final = 1.0
_UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True)
class Tail:
    """Every kept event above `floor`; nothing is above `newest`. Never changed, only replaced."""

    floor: int
    newest: int
    pruned_to: int
    events: Sequence[FeedEvent]

    def after(self, cursor: int, limit: int, only: Only) -> list[FeedEvent]:
        start = bisect_right(self.events, cursor, key=_id)
        if only == EVERYTHING:
            return list(self.events[start : start + limit])
        needle = None if only.topic is None else event_feed.topic_needle(only.topic)
        found: list[FeedEvent] = []
        for event in self.events[start:]:
            if _wanted(event, only, needle):
                found.append(event)
                if len(found) == limit:
                    break
        return found


@dataclass(frozen=True, slots=True)
class Page:
    """`seen` is how far the table was looked through: the last event of a full page, else the newest there is."""

    events: Sequence[FeedEvent]
    seen: int


class EventFeed:
    """Pages of events for every reader of this process. Used in the event loop alone."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.bell = store.bells[bells.EVENTS]
        self._reading = Shared[Tail]()
        self._tail: Tail | None = None
        self._commits: tuple[int, int] | None = None
        self._read_at = 0.0
        self._counter: sqlite3.Connection | None = None

    async def page(self, cursor: int, limit: int, only: Only = EVERYTHING) -> Page:
        """The next events after the cursor; cursor_expired if some that came after it are gone. 0 is never too old."""
        tail = await self.tail()
        if 0 < cursor < tail.pruned_to:
            raise await self._expired(cursor)
        found: list[FeedEvent] = []
        if cursor < tail.floor:
            found, pruned_to = await self._store.read(event_feed.after, cursor, limit, only, tail.floor)
            if 0 < cursor < pruned_to:
                raise await self._expired(cursor)
        if len(found) < limit:
            found += tail.after(max(cursor, tail.floor), limit - len(found), only)
        full = len(found) == limit
        return Page(found, found[-1].id if full else max(cursor, tail.newest))

    async def tail(self) -> Tail:
        """The newest events as they are now."""
        if self._tail is not None and self._still_true():
            return self._tail
        if await self._reading.end_of(None) and self._tail is not None and self._still_true():
            return self._tail
        return await self._reading.get(None, self._read)

    async def _read(self) -> Tail:
        # Counted before the table is read: a commit in between makes this tail untrue, not incomplete.
        commits = self._count()
        read_at = self._clock.monotonic()
        self._tail = await self._read_on(self._tail) if self._tail else await self._read_anew()
        self._commits, self._read_at = commits, read_at
        return self._tail

    def close(self) -> None:
        if self._counter is not None:
            self._counter.close()
            self._counter = None

    def _still_true(self) -> bool:
        count = self._count()
        if count != self._commits or count[1] == _UNKNOWN:
            return False
        return self._store.is_sqlite or self._clock.monotonic() - self._read_at < _BELIEVED_S

    def _count(self) -> tuple[int, int]:
        return self.bell.rings, self._data_version()

    def _data_version(self) -> int:
        if (path := self._store.path) is None:
            return 0
        if self._counter is None:
            self._counter = connect_sqlite(path, read_only=True)
            # This one runs in the event loop: it may fail, it may not wait.
            self._counter.execute("PRAGMA busy_timeout = 0")
        try:
            (count,) = self._counter.execute("PRAGMA data_version").fetchone()
        except sqlite3.OperationalError:
            # The table is asked then, and says what is wrong.
            return _UNKNOWN
        return int(count)

    async def _read_anew(self) -> Tail:
        events, pruned_to = await self._store.read(event_feed.newest, _KEPT)
        # Fewer than asked for are all there are.
        floor = events[0].id - 1 if len(events) == _KEPT else 0
        return _trimmed(Tail(floor, _newest(events, pruned_to), pruned_to, events))

    async def _read_on(self, tail: Tail) -> Tail:
        events, pruned_to = await self._store.read(event_feed.after, tail.newest, _KEPT)
        if len(events) == _KEPT:
            return await self._read_anew()
        if not events and pruned_to == tail.pruned_to:
            return tail
        kept = [event for event in tail.events if event.id > pruned_to]
        newest = max(tail.newest, _newest(events, pruned_to))
        return _trimmed(Tail(tail.floor, newest, pruned_to, [*kept, *events]))

    async def _expired(self, cursor: int) -> UserError:
        oldest = await self._store.read(event_feed.oldest_kept)
        message = f"Events after {cursor} are no longer kept; begin again from 0, or from after_id={oldest - 1}."
        return UserError("cursor_expired", message, {"oldestEventId": oldest})


def _newest(events: Sequence[FeedEvent], pruned_to: int) -> int:
    return max(events[-1].id if events else 0, pruned_to)


def _trimmed(tail: Tail) -> Tail:
    room = _KEPT_BYTES
    first = len(tail.events)
    while first > 0 and len(tail.events) - first < _KEPT and room >= 0:
        first -= 1
        room -= len(tail.events[first].encoded)
    if first == 0:
        return tail
    events = tail.events[first:]
    return Tail(events[0].id - 1, tail.newest, tail.pruned_to, events)


def _wanted(event: FeedEvent, only: Only, needle: str | None) -> bool:
    return (
        (only.source is None or event.source == only.source)
        and (only.status is None or event.status == only.status)
        and (needle is None or needle in event.topics)
    )


def _id(event: FeedEvent) -> int:
    return event.id
