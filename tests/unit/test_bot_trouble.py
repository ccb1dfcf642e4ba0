"""Troubles with the backend: one user's are that user's, everybody's are told once, and nobody storms."""

from __future__ import annotations

import pytest
import structlog
from tests.support.clock import ManualClock

from vacancy.bot.trouble import LONGEST_OUTAGE_REST_S, LONGEST_REST_S, SLOW_S, Troubles
from vacancy.clock import Dice


@pytest.fixture
def troubles(clock: ManualClock) -> Troubles:
    return Troubles(clock, Dice(1), 5.0)


def fails(troubles: Troubles, *users: int, what: str = "away", answers_before: int | None = None) -> None:
    before = troubles.answers if answers_before is None else answers_before
    for user in users:
        troubles.failed(user, what, is_backend=True, answers_before=before)


def test_a_user_is_asked_less_and_less_often_and_told_of_once(troubles: Troubles, clock: ManualClock) -> None:
    asked = 0
    with structlog.testing.capture_logs() as lines:
        for _ in range(720):  # an hour
            if troubles.may_ask(1):
                asked += 1
                troubles.failed(1, "refused", is_backend=False, answers_before=troubles.answers)
            clock.pass_time(5)
        troubles.answered(1)
    assert 3600 / LONGEST_REST_S < asked < 30
    assert [line["event"] for line in lines] == [
        "no events for a user; trying again later", "events of a user again"
    ]  # fmt: skip
    assert troubles.may_ask(1)


def test_three_in_a_row_are_an_outage_and_one_asks_for_all(troubles: Troubles, clock: ManualClock) -> None:
    with structlog.testing.capture_logs() as lines:
        fails(troubles, 1, 2, 3, 4)
        asked = 0
        for _ in range(720):
            askers = [user for user in range(1, 50) if troubles.may_ask(user)]
            assert len(askers) <= 1
            asked += len(askers)
            fails(troubles, *askers)
            clock.pass_time(5)
        assert asked < 2 * 3600 / LONGEST_OUTAGE_REST_S
        clock.pass_time(LONGEST_OUTAGE_REST_S * 2)
        assert troubles.may_ask(9)
        troubles.gave_up(9)
        assert troubles.may_ask(10)
        troubles.answered(10)
    assert all(troubles.may_ask(user) for user in range(5, 50))
    told = [line["event"] for line in lines]
    assert told.count("the backend does not answer; it is asked for one user now and then") == 1
    assert told[-1] == "the backend answers again"


def test_many_slow_users_among_others_who_get_answers_are_no_outage(troubles: Troubles) -> None:
    before = troubles.answers
    troubles.answered(99)
    fails(troubles, *range(1, 20), answers_before=before)
    assert troubles.may_ask(99)


def test_who_is_slow_has_places_apart(troubles: Troubles) -> None:
    troubles.answered(1, SLOW_S)
    fails(troubles, 2)
    assert (troubles.is_slow(1), troubles.is_slow(2), troubles.is_slow(3)) == (True, True, False)
    troubles.answered(1)
    troubles.answered(2)
    assert not troubles.is_slow(1)
    assert not troubles.is_slow(2)
