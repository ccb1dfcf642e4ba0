"""A token bucket that serves in the order of asking."""

from __future__ import annotations

import asyncio

from vacancy.clock import Clock


class Bucket:
    def __init__(self, clock: Clock, *, per_second: float, burst: float) -> None:
        self._clock = clock
        self._gap_s = 1 / per_second
        # One that waits without a gap before it would be the first of `burst` tokens itself.
        self._saved_s = (max(1.0, burst) - 1) * self._gap_s
        self._next = float("-inf")

    async def take(self) -> float:
        """Wait for a token; how many seconds that took. A moment is fixed on coming, so nobody is passed."""
        now = self._clock.monotonic()
        mine = max(self._next, now - self._saved_s)
        self._next = mine + self._gap_s
        wait = mine - now
        if wait <= 0:
            return 0.0
        try:
            await self._clock.sleep(wait)
        except asyncio.CancelledError:
            self._next -= self._gap_s
            raise
        return wait
