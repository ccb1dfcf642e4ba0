"""What becomes of targets that nobody asks about any more."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select

from tests.store.test_upkeep import look, run_upkeep
from tests.support.clock import ManualClock
from tests.support.lists import Hand, Lists, some
from tests.support.waiting import People
from vacancy.pipeline.settle import Came
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import availability, open_events, targets

KEY = "12025|NB"
DAY = 86_400


@pytest.fixture
def source() -> Lists:
    return Lists(KEY)


@pytest.fixture
def hand(store: Store, clock: ManualClock, source: Lists) -> Hand:
    made = Hand(store, clock, source)
    made.configure()
    look(made, some(1, 2), some(1, 2), some(1, 2, 3))
    return made


def leave(hand: Hand, source: Lists) -> None:
    source.keys = ()
    hand.configure()


def states(store: Store) -> list[str]:
    query = select(availability.c.state).order_by(availability.c.item_key)
    return list(store.read_now(lambda tx: tx.execute(query).scalars().all()))


def count(store: Store, table: Any) -> int:
    return int(store.read_now(_count, table))


def _count(tx: Tx, table: Any) -> int:
    return int(tx.execute(select(func.count()).select_from(table)).scalar_one())


def test_what_was_open_in_a_day_that_has_passed_is_open_no_longer_and_nobody_is_told(
    hand: Hand, source: Lists, store: Store, clock: ManualClock
) -> None:
    leave(hand, source)
    events = count(store, open_events)
    clock.jump(DAY - 60)
    run_upkeep(store, clock)
    assert states(store) == ["Open"] * 3
    clock.jump(120)
    run_upkeep(store, clock)
    assert states(store) == ["Closed"] * 3
    assert count(store, open_events) == events


def test_what_waited_for_it_is_put_away(hand: Hand, source: Lists, store: Store, clock: ManualClock) -> None:
    people = People(store, source, verify=False)
    ada = people.subscribe("ada", "00004").subscription.subscription_id
    look(hand, some(1, 2, 3, 4))
    people.fan_out()
    assert len(people.live()) == 1
    leave(hand, source)
    clock.jump(DAY + 60)
    run_upkeep(store, clock)
    assert people.live() == []
    assert people.one(ada).last_known_section_status == "Closed"


def test_one_that_comes_back_begins_with_a_baseline(
    hand: Hand, source: Lists, store: Store, clock: ManualClock
) -> None:
    leave(hand, source)
    clock.jump(DAY + 60)
    run_upkeep(store, clock)
    source.keys = (KEY,)
    hand.configure()
    events = count(store, open_events)
    came = []
    for _ in range(2):
        came.append(hand.poll(some(1, 2, 3)).came)
        clock.jump(15)
    assert came == [Came.WAITING, Came.BELIEVED]
    assert states(store) == ["Open"] * 3
    assert count(store, open_events) == events


def test_one_of_which_nothing_is_remembered_is_forgotten(
    hand: Hand, source: Lists, store: Store, clock: ManualClock
) -> None:
    leave(hand, source)
    clock.jump(2 * DAY)
    run_upkeep(store, clock)
    assert count(store, targets) == 1
    clock.jump(91 * DAY)
    run_upkeep(store, clock)
    assert (count(store, availability), count(store, targets)) == (0, 0)


def test_one_that_is_asked_about_is_left_alone(hand: Hand, store: Store, clock: ManualClock) -> None:
    clock.jump(3 * DAY)
    run_upkeep(store, clock)
    assert states(store) == ["Open"] * 3
