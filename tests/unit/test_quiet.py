"""Quiet hours: by the clock on the wall where it opens, over midnight, and when that clock is set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacancy.model.subscriptions import DAY_MINUTES
from vacancy.pipeline.quiet import is_open, opens_at

NEW_YORK = "America/New_York"
ZONES = st.sampled_from([NEW_YORK, "UTC", "Asia/Shanghai", "Australia/Lord_Howe", "America/St_Johns"])
MINUTES = st.integers(0, DAY_MINUTES - 1)
# A year with both changes of the clock in it.
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001


def there(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(NEW_YORK))


def at(text: str, window: tuple[int, int]) -> str | None:
    found = opens_at(there(text), window, NEW_YORK)
    return None if found is None else found.astimezone(ZoneInfo(NEW_YORK)).isoformat()


@pytest.mark.parametrize(
    ("moment", "window", "opens"),
    [
        ("2026-01-05T07:59", (480, 1320), "2026-01-05T08:00:00-05:00"),
        ("2026-01-05T08:00", (480, 1320), None),
        ("2026-01-05T21:59:59", (480, 1320), None),
        ("2026-01-05T22:00", (480, 1320), "2026-01-06T08:00:00-05:00"),
        # Over midnight.
        ("2026-01-05T23:30", (1320, 120), None),
        ("2026-01-06T01:59", (1320, 120), None),
        ("2026-01-06T02:00", (1320, 120), "2026-01-06T22:00:00-05:00"),
        # The night in which 2:00 to 3:00 is left out: a window that begins then begins at 3:00.
        ("2026-03-08T01:30", (150, 600), "2026-03-08T03:00:00-04:00"),
        ("2026-03-07T23:00", (480, 1320), "2026-03-08T08:00:00-04:00"),
        # The night in which 1:00 to 2:00 comes twice: the first of them counts.
        ("2026-11-01T00:30", (90, 600), "2026-11-01T01:30:00-04:00"),
        ("2026-10-31T23:00", (480, 1320), "2026-11-01T08:00:00-05:00"),
        ("2026-01-05T03:00", (0, DAY_MINUTES), None),
    ],
)
def test_it_opens_when_the_clock_on_the_wall_says_so(moment: str, window: tuple[int, int], opens: str | None) -> None:
    assert at(moment, window) == opens


@given(MOMENTS, MINUTES, MINUTES, ZONES)
def test_it_opens_at_the_first_minute_that_is_open(now: datetime, start: int, end: int, zone: str) -> None:
    if start == end:
        return
    found = opens_at(now, (start, end), zone)
    if found is None:
        assert is_open(now, (start, end), zone)
        return
    assert found > now
    assert found - now <= timedelta(days=1, hours=2)
    assert is_open(found, (start, end), zone)
    assert not is_open(found - timedelta(minutes=1), (start, end), zone)


def test_a_window_that_never_opens_is_no_endless_search() -> None:
    now = there("2026-01-05T12:00")
    assert opens_at(now, (480, 480), NEW_YORK) == now + timedelta(days=2)


@given(MOMENTS, MINUTES, MINUTES, ZONES)
def test_every_minute_is_in_a_window_or_in_the_one_around_it(now: datetime, start: int, end: int, zone: str) -> None:
    if start != end:
        assert is_open(now, (start, end), zone) != is_open(now, (end, start), zone)
