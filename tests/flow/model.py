"""The rules of believing, closing and opening, told once more in plain Python: what the engine is held to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from statistics import median_low


@dataclass(frozen=True)
class Rules:
    """What the policy of a source says. `venues`: which one an item belongs to; only what opens in an empty one is told
    of."""

    misses: int = 2
    ratio: bool = True
    tells_closes: bool = True
    venues: Mapping[str, str] = field(default_factory=dict)
    gap: timedelta = timedelta(0)


@dataclass
class Waiting:
    why: str
    like: frozenset[str]
    times: list[datetime]


@dataclass
class Model:
    """One target. `told` is every event there should be: item, state, episode."""

    rules: Rules = field(default_factory=Rules)
    baseline: bool = False
    open: set[str] = field(default_factory=set)
    misses: dict[str, int] = field(default_factory=dict)
    episodes: dict[str, int] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    waiting: Waiting | None = None
    told: list[tuple[str, str, int]] = field(default_factory=list)
    wholes: int = 0
    lively_at: dict[str, int] = field(default_factory=dict)  # venue -> the last whole answer after which it had a table
    told_at: dict[str, datetime] = field(default_factory=dict)
    owed: dict[str, datetime] = field(default_factory=dict)

    def hear(self, keys: frozenset[str], now: datetime, *, complete: bool = True, nothing_listed: bool = True) -> None:
        self.now = now
        if not complete:
            if self.baseline and self.waiting is None:
                self._believe(keys, complete=False)
            return
        if not self.baseline:
            self._hear_before_baseline(keys, now, empty=not keys and nothing_listed)
            return
        why = self._doubt(keys, empty=not keys and nothing_listed)
        if why is None:
            self.waiting = None
            self._believe(keys)
            self.counts = [*self.counts, len(keys)][-16:]
            return
        if self._confirmed(why, keys, now):
            self.waiting = None
            self._believe(keys)
            self.counts = [*self.counts, len(keys)][-16:] if why == "growth" else [len(keys)]

    def start_over(self) -> None:
        self.baseline = False
        self.waiting = None
        self.counts = []

    def open_by_hand(self, key: str, now: datetime) -> None:
        self.now = now
        if key not in self.open:
            self._open(key)
            self._tell(key)
            self._note_the_lively()

    def release(self, now: datetime) -> None:
        self.now = now
        if self.waiting is None:
            return
        keys, self.waiting = self.waiting.like, None
        if self.baseline:
            self._believe(keys)
        else:
            self._take_as_baseline(keys)
        self.counts = [len(keys)]

    def _hear_before_baseline(self, keys: frozenset[str], now: datetime, *, empty: bool) -> None:
        if self.waiting is None or not self._alike(self.waiting.like, keys):
            self.waiting = Waiting("baseline", keys, [])
        self.waiting.times.append(now)
        if len(self.waiting.times) >= (3 if empty else 2):
            self.waiting = None
            self._take_as_baseline(keys)
            self.counts = [len(keys)]

    def _take_as_baseline(self, keys: frozenset[str]) -> None:
        self.baseline = True
        for key in self.open - keys:
            self.misses.pop(key, None)
        for key in keys - self.open:
            self._open(key)
        self.open = set(keys)
        self.misses = {}
        self.owed = {}
        self.wholes += 1
        self._note_the_lively()

    def _doubt(self, keys: frozenset[str], *, empty: bool) -> str | None:
        last, middle = self.counts[-1], median_low(self.counts)
        reference = max(last, middle)
        if empty and last:
            return "empty"
        if not self.rules.ratio:
            return None
        strict = self.waiting is not None and self.waiting.why in ("empty", "short")
        limit = max(ceil(reference * (5 if strict else 10) / 100), 25)
        if reference - len(keys) >= limit:
            return "short" if keys else "empty"
        if len(keys - self.open) >= max(ceil(reference / 10), 100):
            return "growth"
        return None

    def _confirmed(self, why: str, keys: frozenset[str], now: datetime) -> bool:
        waiting = self.waiting
        if waiting is None or waiting.why != why or not self._alike(waiting.like, keys):
            self.waiting = Waiting(why, keys, [now])
            return False
        if why == "growth":
            return True
        gap = (now - waiting.times[-1]).total_seconds()
        if gap < 0 or gap > 120:
            self.waiting = Waiting(why, keys, [now])
            return False
        waiting.times.append(now)
        reference = max(self.counts[-1], median_low(self.counts))
        span = (now - waiting.times[0]).total_seconds()
        return len(waiting.times) >= 3 and span >= (60 if reference < 25 else 300)

    def _believe(self, keys: frozenset[str], *, complete: bool = True) -> None:
        news = {key for key in keys - self.open if self._was_empty(self.rules.venues.get(key))}
        for key in [key for key, at in self.owed.items() if key in keys]:
            if not self.now < self.owed[key] <= self.now + self.rules.gap:
                self._tell(key)
        for key in sorted(keys - self.open):
            self._open(key)
            last = self.told_at.get(key)
            if key in news and last is not None and last + self.rules.gap > self.now:
                self.owed[key] = min(last, self.now) + self.rules.gap
            elif key in news:
                self._tell(key)
        for key in keys:
            self.misses.pop(key, None)
        if complete:
            self.wholes += 1
            for key in sorted(self.open - keys):
                self.misses[key] = self.misses.get(key, 0) + 1
                if self.misses[key] == self.rules.misses:
                    self._close(key)
        self._note_the_lively()

    def _close(self, key: str) -> None:
        self.open.discard(key)
        del self.misses[key]
        self.owed.pop(key, None)
        if self.rules.tells_closes:
            self.told.append((key, "Closed", self.episodes[key]))

    def _open(self, key: str) -> None:
        self.open.add(key)
        self.episodes[key] = self.episodes.get(key, 0) + 1

    def _tell(self, key: str) -> None:
        self.owed.pop(key, None)
        self.told.append((key, "Open", self.episodes[key]))
        if self.rules.gap:
            self.told_at[key] = self.now

    def _was_empty(self, venue: str | None) -> bool:
        """For two whole answers at least; one that never had a table was so for ever."""
        if venue is None:
            return True
        if any(self.rules.venues[key] == venue for key in self.open):
            return False
        return venue not in self.lively_at or self.wholes - self.lively_at[venue] >= 2

    def _note_the_lively(self) -> None:
        for key in self.open & self.rules.venues.keys():
            self.lively_at[self.rules.venues[key]] = self.wholes

    @staticmethod
    def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
        return bool(one) is bool(other) and len(one ^ other) <= ceil(len(one) / 100)
