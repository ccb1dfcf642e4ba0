"""A clock that only a test moves."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from datetime import UTC, datetime, timedelta
from typing import Final

from vacancy.clock import whole_milliseconds

START: Final = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
# Enough turns for a chain of tasks to wake each other; work in threads is waited for by its own signal instead.
TURNS: Final = 60


async def settle(turns: int = TURNS) -> None:
    """Let every task that can go on go on."""
    for _ in range(turns):
        await asyncio.sleep(0)


class ManualClock:
    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._elapsed = 0.0
        self._jumped = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self.naps = 0  # how often somebody lay down

    def now(self) -> datetime:
        # Rounded to microseconds first: 0.1 + 0.2 must not lose its last millisecond.
        return whole_milliseconds(self._start + timedelta(seconds=round(self._elapsed + self._jumped, 6)))

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        self.naps += 1
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (round(self._elapsed + seconds, 6), next(self._order), woken))
        await woken

    @property
    def sleepers(self) -> int:
        return sum(not woken.done() for _, _, woken in self._sleepers)

    async def advance(self, seconds: float) -> None:
        """Let time pass: whoever sleeps is woken at its own moment, in order, and may go on before the next is."""
        end = round(self._elapsed + seconds, 6)
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, woken = heapq.heappop(self._sleepers)
            if woken.done():
                continue
            self._elapsed = due
            woken.set_result(None)
            await settle()
        self._elapsed = end
        await settle()

    def pass_time(self, seconds: float) -> None:
        """The same for code without a loop; nobody is woken."""
        self._elapsed = round(self._elapsed + seconds, 6)

    def jump(self, seconds: float) -> None:
        """The wall clock is set, forwards or back; no time passes."""
        self._jumped += seconds
