"""Seats that open and close by themselves, evenly spread over the time of the clock that was passed in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from vacancy.clock import Clock

TICK_SECONDS: Final = 1.0


class Moving(Protocol):
    """What seats or tables are in; its rates go by its campus."""

    @property
    def term(self) -> str: ...

    @property
    def campus(self) -> str: ...

    def step(self, *, openings: int, closings: int) -> object: ...


@dataclass(frozen=True, slots=True)
class Rates:
    openings_per_minute: float = 0.0
    closings_per_minute: float = 0.0


@dataclass(slots=True)
class _Due:
    """What a rate has earned and not yet spent, in seats."""

    openings: float = 0.0
    closings: float = 0.0


class Churn:
    def __init__(self, clock: Clock, rates: Rates, worlds: Callable[[], Iterable[Moving]]) -> None:
        self._clock = clock
        self._worlds = worlds
        self._rates = rates
        self._campus_rates: dict[str, Rates] = {}
        self._due: dict[tuple[str, str], _Due] = {}
        self._last = clock.monotonic()
        self._wanted = asyncio.Event()
        self.set_enabled(rates != Rates())

    @property
    def enabled(self) -> bool:
        return self._wanted.is_set()

    def rates_of(self, campus: str) -> Rates:
        return self._campus_rates.get(campus, self._rates)

    def set_rates(self, rates: Rates, campus: str | None = None) -> None:
        """For one campus, or for all: then rates of single campuses are forgotten."""
        self.advance()
        if campus is None:
            self._rates = rates
            self._campus_rates.clear()
        else:
            self._campus_rates[campus] = rates

    def set_enabled(self, enabled: bool) -> None:
        self._last = self._clock.monotonic()
        if enabled:
            self._wanted.set()
        else:
            self._wanted.clear()

    def advance(self) -> None:
        """Catch up with the clock."""
        now = self._clock.monotonic()
        minutes = (now - self._last) / 60
        self._last = now
        if self.enabled:
            for world in self._worlds():
                self._move(world, minutes)

    def _move(self, world: Moving, minutes: float) -> None:
        rates = self.rates_of(world.campus)
        due = self._due.setdefault((world.term, world.campus), _Due())
        due.openings += rates.openings_per_minute * minutes
        due.closings += rates.closings_per_minute * minutes
        openings, closings = int(due.openings + 1e-9), int(due.closings + 1e-9)
        if openings or closings:
            due.openings -= openings
            due.closings -= closings
            world.step(openings=openings, closings=closings)

    async def run(self) -> None:
        """Does not touch the clock while switched off, so that a hand-moved clock has no sleeper to account for."""
        while True:
            await self._wanted.wait()
            await self._clock.sleep(TICK_SECONDS)
            self.advance()
