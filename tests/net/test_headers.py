"""What answers say about time, and what they garble."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from multidict import CIMultiDict

from vacancy.net.headers import observed_at, retry_after_s

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        (" 120 ", 120),
        ("99999999", 86_400),
        ("Mon, 05 Jan 2026 12:00:30 GMT", 30),
        ("Tue, 05 Jan 2027 12:00:30 GMT", 86_400),
        ("Mon, 05 Jan 2026 12:00:60 GMT", 59),
        ("Mon, 05 Jan 2026 11:59:59 GMT", None),
        ("Mon, 35 Jan 2026 12:00:30 GMT", None),
        ("Mon, 05 Jab 2026 12:00:30 GMT", None),
        ("Monday, 05-Jan-26 12:00:30 GMT", None),
        ("2026-01-05T12:00:30Z", None),
        ("10, 20", None),
        ("-5", None),
        ("1.5", None),
        ("1e3", None),
        ("１２", None),
        ("9" * 400, None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "before_s"),
    [
        ({"date": "Mon, 05 Jan 2026 11:59:00 GMT"}, 60),
        ({"Date": "Mon, 05 Jan 2026 11:59:00 GMT", "age": "25"}, 85),
        ({"Date": "Mon, 05 Jan 2026 12:00:09 GMT"}, -9),
        ({"Age": "25"}, 0),
        ({"Date": "yesterday", "Age": "25"}, 0),
        ({"Date": "Mon, 05 Jan 2026 11:59:00 GMT", "Age": "a while"}, 0),
        ({"Date": "Mon, 01 Jan 0001 00:00:00 GMT", "Age": "9999999999"}, 0),
        ({}, 0),
    ],
)
def test_observed_at(headers: dict[str, str], before_s: int) -> None:
    assert observed_at(CIMultiDict(headers), NOW) == NOW - timedelta(seconds=before_s)
