"""Quiet hours, in the time of the place that is told of. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from vacancy.model.subscriptions import DAY_MINUTES

_MINUTE: Final = timedelta(minutes=1)
_LONGEST: Final = timedelta(days=2)


def is_open(moment: datetime, window: tuple[int, int], zone: str) -> bool:
    """A window whose start lies after its end goes over midnight."""
    start, end = window
    local = moment.astimezone(ZoneInfo(zone))
    minute = local.hour * 60 + local.minute
    return start <= minute < end if start <= end else minute >= start or minute < end


def opens_at(now: datetime, window: tuple[int, int], zone: str) -> datetime | None:
    """None if it is open; else the first whole minute at which it is, whatever the clocks of the place do till then."""
    if window == (0, DAY_MINUTES) or is_open(now, window, zone):
        return None
    return _first_open(now.astimezone(UTC).replace(second=0, microsecond=0), window, zone)


@lru_cache(maxsize=256)  # thousands may wait for the same window in the same minute
def _first_open(minute: datetime, window: tuple[int, int], zone: str) -> datetime:
    """At the longest two days on: a window that never opens is refused when it is asked for, but were one to slip in,
    it must not hold up the writer for good."""
    last = minute + _LONGEST
    while minute < last and not is_open(minute, window, zone):
        minute += _MINUTE
    return minute
