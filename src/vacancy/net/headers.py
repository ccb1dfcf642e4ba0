"""Two things that answers say about time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

LONGEST_RETRY_S: Final = 86_400.0
_SECONDS: Final = re.compile(r"[0-9]{1,10}")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# By hand, for strptime's names of months change with the locale.
_IMF_FIXDATE: Final = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT"
)


def http_date(value: str | None) -> datetime | None:
    parts = _IMF_FIXDATE.fullmatch(value.strip()) if value else None
    if parts is None or parts[2] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(parts[group]) for group in (1, 3, 4, 5, 6))
    try:
        # A leap second is legal there and not here.
        return datetime(year, _MONTHS.index(parts[2]) + 1, day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """Seconds to wait; None when it says nothing that can be used, a date gone by included."""
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        when = http_date(text)
        seconds = -1.0 if when is None else (when - now).total_seconds()
    return min(seconds, LONGEST_RETRY_S) if seconds >= 0 else None


def observed_at(headers: Mapping[str, str], received_at: datetime) -> datetime:
    """When the origin made this answer: a cache's Age counts. `headers` must not care about case."""
    made = http_date(headers.get("Date"))
    age = headers.get("Age", "0").strip()
    if made is None or not _SECONDS.fullmatch(age):
        return received_at
    try:
        return made - timedelta(seconds=int(age))
    except OverflowError:
        return received_at
