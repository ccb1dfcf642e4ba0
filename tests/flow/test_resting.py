"""One contact, several subscriptions: who sleeps keeps nothing from who is awake. A stranger may have made one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from tests.support.clock import ManualClock
from tests.support.couriers import Script, deliver, make_courier
from tests.support.lists import Hand, Lists, some
from tests.support.two_sections import FULL, SEVEN, poll
from tests.support.waiting import People
from vacancy.model.availability import Complete
from vacancy.model.messages import Parcel
from vacancy.model.subscriptions import Status
from vacancy.pipeline.deliver import Courier
from vacancy.store.engine import Store

COURSE = "course/01:198:111"
YEAR = timedelta(days=365)


@pytest.fixture
def courier(store: Store, source: Lists, people: People) -> Courier:
    return make_courier(store, source, people, Script())


def opens(hand: Hand, people: People) -> None:
    poll(hand, still_open())
    people.fan_out()


def still_open() -> Complete:
    return Complete(FULL.keys | some(7).keys)


def topics(parcels: Sequence[Parcel]) -> list[str]:
    return [parcel.person.topic.removeprefix("soc:12025|NB:") for parcel in parcels]


def closed_now(clock: ManualClock) -> dict[str, int]:
    """A window of an hour that begins in an hour, in New York's time; the clock of tests stands at a whole minute."""
    begins = (clock.now() - timedelta(hours=5) + timedelta(hours=1)).hour * 60
    return {"window_start": begins, "window_end": begins + 60}


@pytest.mark.parametrize("first", [COURSE, SEVEN])
def test_a_snooze_keeps_nothing_from_another_of_the_same_contact(
    hand: Hand, people: People, courier: Courier, clock: ManualClock, first: str
) -> None:
    wishes = {COURSE: {"snooze_until": clock.now() + YEAR}, SEVEN: {}}
    for item in (first, *(item for item in wishes if item != first)):
        people.subscribe("ada", item, **wishes[item])
    opens(hand, people)
    assert topics(deliver(courier)) == [SEVEN]
    clock.jump(YEAR.total_seconds() + 60)
    poll(hand, still_open())
    assert deliver(courier) == []
    assert [row.status for row in people.queue()] == ["sent"]


def test_quiet_hours_keep_nothing_from_another_of_the_same_contact(
    hand: Hand, people: People, courier: Courier, clock: ManualClock
) -> None:
    people.subscribe("ada", COURSE, **closed_now(clock))
    people.subscribe("ada", SEVEN)
    opens(hand, people)
    assert topics(deliver(courier)) == [SEVEN]


def test_where_all_rest_the_first_that_wakes_hears(
    hand: Hand, people: People, courier: Courier, clock: ManualClock
) -> None:
    people.subscribe("ada", COURSE, snooze_until=clock.now() + YEAR)
    people.subscribe("ada", SEVEN, snooze_until=clock.now() + timedelta(hours=2))
    opens(hand, people)
    assert deliver(courier) == []
    clock.jump(2 * 3600)
    poll(hand, still_open())
    assert topics(deliver(courier)) == [SEVEN]


def test_whoever_wakes_early_hears_what_the_other_kept(
    hand: Hand, people: People, courier: Courier, clock: ManualClock
) -> None:
    people.subscribe("ada", COURSE, snooze_until=clock.now() + YEAR)
    ada = people.subscribe("ada", SEVEN, snooze_until=clock.now() + YEAR).subscription.subscription_id
    opens(hand, people)
    assert deliver(courier) == []
    people.change(ada, snooze_until=None)
    assert topics(deliver(courier)) == [SEVEN]


def test_who_rests_alone_hears_when_it_wakes(hand: Hand, people: People, courier: Courier, clock: ManualClock) -> None:
    people.subscribe("ada", COURSE, snooze_until=clock.now() + timedelta(hours=1))
    bob = people.subscribe("bob", SEVEN).subscription.subscription_id
    people.change(bob, Status.PAUSED)
    opens(hand, people)
    assert deliver(courier) == []
    clock.jump(3600)
    poll(hand, still_open())
    assert topics(deliver(courier)) == [COURSE]
