"""How many messages a channel may hand over now. Taken before rows are: a row in hand never waits for its turn."""

from __future__ import annotations

from vacancy.channels.base import Pace
from vacancy.clock import Clock


class Allowance:
    def __init__(self, clock: Clock, pace: Pace) -> None:
        self._clock = clock
        self._pace = pace
        self._tokens = float(pace.burst)
        self._at = clock.monotonic()

    def free(self) -> int:
        now = self._clock.monotonic()
        self._tokens = min(float(self._pace.burst), self._tokens + (now - self._at) * self._pace.per_second)
        self._at = now
        return int(self._tokens)

    def take(self, count: int) -> None:
        self._tokens -= count

    def free_in_s(self) -> float:
        """Until there is one."""
        return max(0.0, (1 - self._tokens) / self._pace.per_second)
