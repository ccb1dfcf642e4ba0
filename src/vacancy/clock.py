"""Time and chance, passed in: whoever needs either takes it as an argument, so that tests can move both."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Protocol

# Two transactions may look at the clock in one order and commit in the other: what lies ahead by less was written a
# moment ago. What lies ahead by more was written before the clock was set back.
MOMENT_S: Final = 5.0


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall time in UTC, in whole milliseconds: what is stored equals what was compared."""

    def monotonic(self) -> float:
        """Seconds that never run backwards; for measuring, never for storing."""

    async def sleep(self, seconds: float) -> None:
        """Let that much of this clock's time pass."""


class SystemClock:
    def now(self) -> datetime:
        return whole_milliseconds(datetime.now(UTC))

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Dice:
    """The only source of chance; a seed makes it repeatable."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def jitter(self, seconds: float, share: float) -> float:
        """Seconds, up to `share` shorter or longer; a share of 0 leaves them exactly alone."""
        return seconds * self._random.uniform(1 - share, 1 + share) if share else seconds

    def token(self) -> str:
        """32 hex digits that tie log lines, events and messages together. Not a secret."""
        return f"{self._random.getrandbits(128):032x}"


def whole_milliseconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@lru_cache(maxsize=64)  # a poll writes the same few moments into hundreds of rows
def iso(moment: datetime) -> str:
    """The one way a time is written down: UTC, ISO 8601, milliseconds, Z."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def later(moment: datetime, seconds: float) -> datetime:
    return whole_milliseconds(moment + timedelta(seconds=seconds))
