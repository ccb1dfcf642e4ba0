"""Bells wake loops that wait for rows. A bell carries nothing: who hears it looks at the table, which is the truth."""

from __future__ import annotations

import asyncio
import threading
from typing import Final

from vacancy.clock import Clock

EVENTS: Final = "events"  # open_events has grown
TARGETS: Final = "targets"  # a target was added, or is wanted sooner
NOTIFICATIONS: Final = "notifications"  # somebody waits to be told
TROUBLES: Final = "troubles"  # something is wrong, or right again
NAMES: Final = (EVENTS, TARGETS, NOTIFICATIONS, TROUBLES)


class Bell:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rings = 0
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def rings(self) -> int:
        """Read it before you look at the table, and pass it to `wait`: a ring in between is not missed."""
        return self._rings

    def ring(self) -> None:
        """From any thread."""
        with self._lock:
            self._rings += 1
            waiting, self._waiting = self._waiting, set()
        for future in waiting:
            future.get_loop().call_soon_threadsafe(_wake, future)

    async def wait(self, heard: int, clock: Clock, seconds: float) -> int:
        """Until the bell rang more than `heard` times, or the clock says that this took long enough."""
        future = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._rings != heard:
                return self._rings
            self._waiting.add(future)
        nap = asyncio.ensure_future(clock.sleep(seconds))
        try:
            await asyncio.wait((future, nap), return_when=asyncio.FIRST_COMPLETED)
        finally:
            nap.cancel()
            with self._lock:
                self._waiting.discard(future)
        return self._rings


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
