"""The rules of believing, closing and opening, told once more in plain Python: what the engine is held to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from statistics import median_low


@dataclass
class Waiting:
    why: str
    like: frozenset[str]
    times: list[datetime]


@dataclass
class Model:
    """One target of courses. `told` is every event there should be: item, state, episode."""

    baseline: bool = False
    open: set[str] = field(default_factory=set)
    misses: dict[str, int] = field(default_factory=dict)
    episodes: dict[str, int] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    waiting: Waiting | None = None
    told: list[tuple[str, str, int]] = field(default_factory=list)

    def hear(self, keys: frozenset[str], now: datetime, *, complete: bool = True) -> None:
        if not complete:
            if self.baseline and self.waiting is None:
                self._believe(keys, complete=False)
            return
        if not self.baseline:
            self._hear_before_baseline(keys, now)
            return
        why = self._doubt(keys)
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

    def open_by_hand(self, key: str) -> None:
        if key not in self.open:
            self._open(key, tell=True)

    def release(self) -> None:
        if self.waiting is None:
            return
        keys, self.waiting = self.waiting.like, None
        if self.baseline:
            self._believe(keys)
        else:
            self._take_as_baseline(keys)
        self.counts = [len(keys)]

    def _hear_before_baseline(self, keys: frozenset[str], now: datetime) -> None:
        if self.waiting is None or not self._alike(self.waiting.like, keys):
            self.waiting = Waiting("baseline", keys, [])
        self.waiting.times.append(now)
        if len(self.waiting.times) == (2 if keys else 3):
            self.waiting = None
            self._take_as_baseline(keys)
            self.counts = [len(keys)]

    def _take_as_baseline(self, keys: frozenset[str]) -> None:
        self.baseline = True
        for key in self.open - keys:
            self.misses.pop(key, None)
        for key in keys - self.open:
            self._open(key, tell=False)
        self.open = set(keys)
        self.misses = {}

    def _doubt(self, keys: frozenset[str]) -> str | None:
        last, middle = self.counts[-1], median_low(self.counts)
        reference = max(last, middle)
        if not keys and last:
            return "empty"
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
        for key in sorted(keys - self.open):
            self._open(key, tell=True)
        for key in keys:
            self.misses.pop(key, None)
        if complete:
            for key in sorted(self.open - keys):
                self.misses[key] = self.misses.get(key, 0) + 1
                if self.misses[key] == 2:
                    self.open.discard(key)
                    del self.misses[key]
                    self.told.append((key, "Closed", self.episodes[key]))

    def _open(self, key: str, *, tell: bool) -> None:
        self.open.add(key)
        self.episodes[key] = self.episodes.get(key, 0) + 1
        if tell:
            self.told.append((key, "Open", self.episodes[key]))

    @staticmethod
    def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
        return len(one ^ other) <= ceil(len(one) / 100)
