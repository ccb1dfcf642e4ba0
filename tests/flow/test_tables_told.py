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
from vacancy.model.subscriptions import Taste
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
