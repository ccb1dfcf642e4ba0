"""Whoever waits for a venue: one message for a venue and a poll, with the tables that are to its taste."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flow.test_tables import EVERGREEN, POLICY, hear, tables
from tests.support.clock import ManualClock
from tests.support.couriers import Script, deliver, make_courier
from tests.support.lists import Hand, Lists
from tests.support.waiting import People
from vacancy.model.availability import Complete, Item
from vacancy.model.messages import Parcel
from vacancy.model.subscriptions import Status, Taste
from vacancy.pipeline.deliver import Courier
from vacancy.store.engine import Store

# Without its colon, which the topics of these lists could not have.
BUCKET = "2026-02-28_2030"
VENUE = "course/carbone"


@pytest.fixture
def source() -> Lists:
    made = Lists(BUCKET)
    made.policy = POLICY
    made.courses = {f"carbone {hour}": "carbone" for hour in range(17, 25)}
    return made


@pytest.fixture
def hand(store: Store, clock: ManualClock, source: Lists) -> Hand:
    made = Hand(store, clock, source)
    made.configure()
    hear(made, tables(), tables())
    return made


@pytest.fixture
def people(store: Store, hand: Hand, source: Lists) -> People:
    return People(store, source, verify=False)


@pytest.fixture
def courier(store: Store, source: Lists, people: People) -> Courier:
    return make_courier(store, source, people, Script())


def dinner(*hours: int, sizes: tuple[int, ...] = (2, 4)) -> Complete:
    facts = {f"carbone {hour}": {"time": f"{hour:02d}:00", "partySizes": list(sizes)} for hour in hours}
    items = {key: Item(key, "carbone", facts[key]) for key in facts}
    evergreen = {key: Item(key, "diner") for key in EVERGREEN}
    return Complete(frozenset({*items, *evergreen}), {**items, **evergreen}, listed=9)


def told(parcels: Any) -> list[list[str]]:
    return [_hours(parcel) for parcel in parcels]


def _hours(parcel: Parcel) -> list[str]:
    assert parcel.opening is not None
    return [item.item_key.partition(" ")[2] for item in parcel.opening.items]


def test_eight_tables_at_once_are_one_message(hand: Hand, people: People, courier: Courier) -> None:
    people.subscribe("ada", VENUE)
    hear(hand, dinner(*range(17, 25)), every=1)
    people.fan_out()
    assert told(deliver(courier)) == [[str(hour) for hour in range(17, 25)]]


def test_only_tables_of_the_hours_that_were_asked_for_are_told_of(hand: Hand, people: People, courier: Courier) -> None:
    people.subscribe("ada", VENUE, time_range=("19:00", "20:30"))
    hear(hand, dinner(17, 19, 20, 21), every=1)
    people.fan_out()
    assert told(deliver(courier)) == [["19", "20"]]


def test_who_asked_for_other_hours_hears_nothing_and_has_every_alert_left(
    hand: Hand, people: People, courier: Courier
) -> None:
    ada = people.subscribe("ada", VENUE, time_range=("22:00", "23:00")).subscription.subscription_id
    people.subscribe("bob", VENUE, party_size=6)
    hear(hand, dinner(17, 19), every=1)
    people.fan_out()
    assert deliver(courier) == []
    assert [row.status for row in people.queue()] == ["skipped", "skipped"]
    assert people.one(ada).notified_count == 0


def test_who_asks_for_more_hours_while_it_is_open_hears_of_it(hand: Hand, people: People, courier: Courier) -> None:
    ada = people.subscribe("ada", VENUE, time_range=("22:00", "23:00")).subscription.subscription_id
    hear(hand, dinner(17, 19), every=1)
    people.fan_out()
    assert deliver(courier) == []
    people.change(ada, time_range=("18:00", "23:00"))
    assert told(deliver(courier)) == [["19"]]


def test_a_table_that_went_before_the_message_is_not_in_it(hand: Hand, people: People, courier: Courier) -> None:
    people.subscribe("ada", VENUE)
    hear(hand, dinner(19, 20), dinner(20), every=16)
    people.fan_out()
    assert told(deliver(courier)) == [["20"]]


def test_a_table_that_is_for_more_people_later_is_told_to_those_who_asked_for_as_many_and_to_nobody_twice(
    hand: Hand, people: People, courier: Courier
) -> None:
    people.subscribe("ada", VENUE, party_size=4)
    people.subscribe("bob", VENUE, party_size=2)
    people.subscribe("eve", VENUE)
    hear(hand, dinner(19, 20, sizes=(2,)), every=16)
    people.fan_out()
    assert told(deliver(courier)) == [["19", "20"]] * 2
    hear(hand, dinner(19, 20, sizes=(2,)), every=16)
    assert deliver(courier) == []
    both, one = dinner(19, sizes=(2, 4)), dinner(20, sizes=(2,))
    hear(hand, Complete(both.keys | one.keys, {**both.items, **one.items}, listed=9), every=16)
    (ada,) = deliver(courier)
    assert (ada.person.contact, _hours(ada)) == ("ada@example.com", ["19"])
    assert ada.opening is not None
    assert ada.opening.items[0].payload["partySizes"] == [2, 4]
    hear(hand, dinner(19, 20, sizes=(2, 4, 6)), dinner(19, 20, sizes=(4,)), every=16)
    assert deliver(courier) == []


def test_who_asked_for_as_many_hears_of_the_next_episode_as_of_a_new_one(
    hand: Hand, people: People, courier: Courier
) -> None:
    people.subscribe("ada", VENUE, party_size=4)
    hear(hand, dinner(19, sizes=(2,)), every=16)
    people.fan_out()
    assert deliver(courier) == []
    # What is over is not looked at again.
    hear(hand, tables(), tables(), every=600)
    hear(hand, dinner(20, sizes=(4,)), every=16)
    people.fan_out()
    assert told(deliver(courier)) == [["20"]]
    assert [row.status for row in people.queue()] == ["skipped", "sent"]


def test_a_message_that_waited_says_what_is_true_when_it_goes(hand: Hand, people: People, courier: Courier) -> None:
    """Asked for by four, it opened for four; at the moment of sending it is for two."""
    people.subscribe("ada", VENUE, party_size=4)
    people.subscribe("bob", VENUE)
    hear(hand, dinner(19, sizes=(2, 4)), every=16)
    people.fan_out()
    hear(hand, dinner(19, sizes=(2,)), every=16)
    (bob,) = deliver(courier)
    assert bob.person.contact == "bob@example.com"
    assert bob.opening is not None
    assert bob.opening.items[0].payload["partySizes"] == [2]


@pytest.mark.parametrize("first", [VENUE, "carbone 19"])
def test_what_one_subscription_of_a_contact_does_not_want_another_hears_once(
    hand: Hand, people: People, courier: Courier, first: str
) -> None:
    """In whatever order they were made: fan-out gives the row to the wider one."""
    tastes = {VENUE: {"party_size": 4}, "carbone 19": {"party_size": 2}}
    for topic in (first, *(topic for topic in tastes if topic != first)):
        people.subscribe("ada", topic, **tastes[topic])
    hear(hand, dinner(19, sizes=(2,)), every=16)
    people.fan_out()
    (parcel,) = deliver(courier)
    assert (parcel.person.topic.endswith("carbone 19"), _hours(parcel)) == (True, ["19"])
    hear(hand, dinner(19, sizes=(2, 4)), every=16)
    assert deliver(courier) == []
    assert [row.status for row in people.queue()] == ["sent"]


def test_what_no_subscription_of_a_contact_wants_is_dropped_and_looked_at_when_it_changes(
    hand: Hand, people: People, courier: Courier
) -> None:
    people.subscribe("ada", VENUE, party_size=6)
    people.subscribe("ada", "carbone 19", party_size=4)
    hear(hand, dinner(19, sizes=(2,)), every=16)
    people.fan_out()
    assert deliver(courier) == []
    assert [row.status for row in people.queue()] == ["skipped"]
    hear(hand, dinner(19, sizes=(2, 4)), every=16)
    (parcel,) = deliver(courier)
    assert parcel.person.topic.endswith("carbone 19")


def test_who_goes_on_hears_of_what_another_subscription_of_theirs_did_not_want(
    hand: Hand, people: People, courier: Courier
) -> None:
    people.subscribe("ada", VENUE, party_size=6)
    ada = people.subscribe("ada", "carbone 19", party_size=2).subscription.subscription_id
    people.change(ada, Status.PAUSED)
    hear(hand, dinner(19, sizes=(2,)), every=16)
    people.fan_out()
    assert deliver(courier) == []
    people.change(ada, Status.ACTIVE)
    assert told(deliver(courier)) == [["19"]]


@pytest.mark.parametrize(
    ("taste", "payload", "takes"),
    [
        (Taste(), {"time": "19:00"}, True),
        (Taste(("19:00", "20:00")), {"time": "19:00"}, True),
        (Taste(("19:00", "20:00")), {"time": "20:01"}, False),
        (Taste(("22:00", "01:00")), {"time": "23:30"}, True),
        (Taste(("22:00", "01:00")), {"time": "00:30"}, True),
        (Taste(("22:00", "01:00")), {"time": "12:00"}, False),
        (Taste(("19:00", "20:00")), {}, True),
        (Taste(party_size=4), {"partySizes": [2, 4]}, True),
        (Taste(party_size=6), {"partySizes": [2, 4]}, False),
        (Taste(party_size=6), {}, True),
    ],
)
def test_taste(taste: Taste, payload: dict[str, Any], takes: bool) -> None:
    assert taste.takes(payload) is takes
