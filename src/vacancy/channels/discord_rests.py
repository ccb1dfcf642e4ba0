"""When Discord lets us speak again, as its headers tell: `X-RateLimit-*`, one window for each route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vacancy.clock import Clock

LONGEST_S: Final = 86_400.0
_KEPT: Final = 10_000
_UNKNOWN: Final = 0


@dataclass(slots=True)
class _Window:
    """The one after it is taken to be like it."""

    limit: int
    remaining: int
    ends_at: float
    length_s: float


class Rests:
    """By the monotonic clock. Requests in flight are counted here: their answers have not told of them yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: dict[str, _Window] = {}

    async def take(self, route: str, patience_s: float) -> float:
        """A place in the route's window, waited for if it is near; else how long it takes until there is one."""
        deadline = self._clock.monotonic() + patience_s
        while (wait := self._take_now(route)) > 0:
            if self._clock.monotonic() + wait > deadline:
                return wait
            await self._clock.sleep(wait)
        return 0.0

    def learn(self, route: str, headers: Mapping[str, str]) -> None:
        limit, remaining = _number(headers, "X-RateLimit-Limit"), _number(headers, "X-RateLimit-Remaining")
        reset_s = _number(headers, "X-RateLimit-Reset-After")
        if limit is None or remaining is None or reset_s is None:
            return
        now = self._clock.monotonic()
        known = self._windows.get(route)
        if known is not None and now < known.ends_at:
            # Answers overtake each other: a place that is taken is not given back by an older one.
            remaining = min(remaining, known.remaining)
            reset_s = max(reset_s, known.ends_at - now)
        length_s = max(reset_s, known.length_s if known else 0.0)
        self._keep(route, _Window(max(1, int(limit)), int(remaining), now + reset_s, length_s))

    def rest(self, route: str, seconds: float) -> None:
        """It was said that there is no place for so long."""
        known = self._windows.get(route)
        limit, length_s = (known.limit, known.length_s) if known else (_UNKNOWN, 0.0)
        self._keep(route, _Window(limit, 0, self._clock.monotonic() + seconds, length_s))

    def _take_now(self, route: str) -> float:
        window = self._windows.get(route)
        if window is None:
            return 0.0
        now = self._clock.monotonic()
        if now >= window.ends_at and window.limit == _UNKNOWN:
            del self._windows[route]
            return 0.0
        if now >= window.ends_at:
            window.remaining, window.ends_at = window.limit, now + window.length_s
        if window.remaining <= 0:
            return window.ends_at - now
        window.remaining -= 1
        return 0.0

    def _keep(self, route: str, window: _Window) -> None:
        self._windows.pop(route, None)
        if len(self._windows) >= _KEPT:
            del self._windows[next(iter(self._windows))]
        self._windows[route] = window


def _number(headers: Mapping[str, str], name: str) -> float | None:
    return seconds(headers.get(name))


def seconds(value: object) -> float | None:
    """What Discord says of a time or a count: a number, or its text; anything else says nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return min(number, LONGEST_S) if number >= 0 else None
