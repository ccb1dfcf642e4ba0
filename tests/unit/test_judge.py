"""Whether a message may go this moment. What makes it pointless for good comes before what merely delays it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacancy.model.availability import Policy
from vacancy.model.delivery import Drop, Due, Go, Truth, Wait
from vacancy.model.messages import Kind
from vacancy.model.subscriptions import Status
from vacancy.pipeline.judge import Rules, judge

NOW = datetime(2026, 1, 5, 17, 0, tzinfo=UTC)  # noon in New York
RULES = Rules({"soc": Policy(15.0, 0.3, 15.0, time_zone="America/New_York")})
OPEN = Truth("soc", True, NOW)
DUE = Due(
    1, Kind.ALERT, 7, "key", 0, False, None, 9, "soc:12025:NB:00007", "soc", "00007", "email", "ada@example.com",
    "h" * 64, "en-US", Status.ACTIVE, True, "Closed", 3, 0, None, "u", "m", None, "{}",
)  # fmt: skip


def due(**changes: Any) -> Due:
    return DUE._replace(**changes)


def window(start: int, end: int) -> str:
    return json.dumps({"preferences": {"deliveryWindow": {"startMinutes": start, "endMinutes": end}}})


def test_what_is_wanted_true_and_fresh_goes() -> None:
    assert judge(DUE, OPEN, RULES, NOW) == Go()


@pytest.mark.parametrize(
    ("row", "truth", "status", "code"),
    [
        (due(contact_value=None), OPEN, "skipped", "not_waiting"),
        (due(status=Status.PAUSED), OPEN, "skipped", "not_waiting"),
        (due(status=Status.UNSUBSCRIBED), None, "skipped", "not_waiting"),
        (DUE, None, "expired", "closed"),
        (due(status=Status.PENDING), None, "expired", "closed"),
        (due(kind=Kind.VERIFICATION), None, "skipped", "verified"),
        (due(kind=Kind.NOTICE, payload={"code": "source_unreadable"}, status=Status.UNSUBSCRIBED), None, "skipped",
         "not_waiting"),
        (due(kind=Kind.NOTICE, payload={"code": "source_unreadable"}, is_verified=False), None, "skipped",
         "not_waiting"),
    ],
)  # fmt: skip
def test_what_is_pointless_is_dropped(row: Due, truth: Truth | None, status: str, code: str) -> None:
    dropped = judge(row, truth, RULES, NOW)
    assert isinstance(dropped, Drop)
    assert (dropped.status, dropped.code) == (status, code)


@pytest.mark.parametrize(
    ("row", "truth", "code"),
    [
        (DUE, Truth("soc", True, NOW - timedelta(seconds=61)), "stale"),
        (DUE, Truth("soc", True, None), "stale"),
        (DUE, Truth("gone", True, NOW - timedelta(seconds=61)), "stale"),
        (due(status=Status.PENDING), OPEN, "unverified"),
        (due(snooze_until=NOW + timedelta(hours=1)), OPEN, "snoozed"),
        (due(metadata=window(1320, 120)), OPEN, "quiet_hours"),
        (due(kind=Kind.NOTICE, metadata=window(1320, 120)), None, "quiet_hours"),
        (due(notified_count=3), OPEN, "cap"),
        # What is not known to be true waits for that, whatever else it waits for.
        (due(snooze_until=NOW + timedelta(hours=1)), Truth("soc", True, None), "stale"),
    ],
)
def test_what_may_yet_go_waits(row: Due, truth: Truth | None, code: str) -> None:
    waiting = judge(row, truth, RULES, NOW)
    assert isinstance(waiting, Wait)
    assert waiting.code == code
    assert waiting.until > NOW


@pytest.mark.parametrize(
    "row",
    [
        due(kind=Kind.VERIFICATION, status=Status.PENDING, metadata=window(1320, 120)),
        due(kind=Kind.NOTICE, payload=None, status=Status.UNSUBSCRIBED),
        due(kind=Kind.NOTICE, payload={"code": "source_unreadable"}),
        due(snooze_until=NOW),
        due(notified_count=3, is_taken_over=True),
        due(metadata=window(720, 721)),
    ],
)
def test_what_is_waited_for_at_the_door_or_is_a_last_word_goes(row: Due) -> None:
    assert judge(row, OPEN if row.kind == Kind.ALERT else None, RULES, NOW) == Go()


def test_a_truth_is_good_for_three_intervals_and_never_for_less_than_a_minute() -> None:
    slow = Rules({"soc": Policy(30.0, 0.0, 15.0)})
    assert judge(DUE, Truth("soc", True, NOW - timedelta(seconds=90)), slow, NOW) == Go()
    assert judge(DUE, Truth("soc", True, NOW - timedelta(seconds=60)), RULES, NOW) == Go()
    assert isinstance(judge(DUE, Truth("soc", True, NOW - timedelta(seconds=90.001)), slow, NOW), Wait)


@given(
    st.sampled_from(Status), st.booleans(), st.integers(0, 4), st.integers(-90, 90),
    st.sampled_from([None, Truth("soc", True, None), OPEN]),
)  # fmt: skip
def test_nobody_who_does_not_wait_is_told_and_nothing_that_is_not_so(
    status: Status, has_contact: bool, told: int, snooze_min: int, truth: Truth | None
) -> None:
    row = due(
        status=status, contact_value="ada@example.com" if has_contact else None, notified_count=told,
        snooze_until=NOW + timedelta(minutes=snooze_min),
    )  # fmt: skip
    goes = has_contact and status is Status.ACTIVE and told < 3 and snooze_min <= 0 and truth is OPEN
    assert (judge(row, truth, RULES, NOW) == Go()) == goes
