"""A word that comes late, or twice: a message was sent once, whoever says so and however often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.clock import ManualClock
from tests.support.couriers import Script, deliver, make_courier
from tests.support.lists import Hand, Lists, some
from tests.support.waiting import People
from vacancy.errors import StoreError
from vacancy.model.availability import Complete
from vacancy.pipeline.dispatch import run_errand
from vacancy.runner import Stop
from vacancy.store.engine import Store

FULL = some(*range(100, 140))
SEVEN = "00007"


@pytest.fixture
def source() -> Lists:
    return Lists("12025|NB")


@pytest.fixture
def hand(store: Store, clock: ManualClock, source: Lists) -> Hand:
    made = Hand(store, clock, source)
    made.configure()
    for _ in range(2):
        made.poll(FULL)
        clock.jump(15)
    return made


@pytest.fixture
def people(store: Store, hand: Hand, source: Lists) -> People:
    return People(store, source, verify=False)


def opens(hand: Hand, clock: ManualClock) -> None:
    hand.poll(Complete(FULL.keys | {SEVEN}))
    clock.jump(15)


def one_opening(hand: Hand, people: People, clock: ManualClock, **wishes: Any) -> int:
    who: int = people.subscribe("ada", SEVEN, **wishes).subscription.subscription_id
    opens(hand, clock)
    people.fan_out()
    return who


def is_sent_once(people: People, who: int) -> None:
    (row,) = people.queue()
    assert row.status == "sent"
    assert people.audit(who).count("notify_sent") == 1
    assert (people.one(who).notified_count, people.one(who).status) == (1, "paused")
    assert people.audit(who).count("status_changed") == 1


def test_two_who_sent_it_because_one_outlived_its_lock_are_one_message_in_the_books(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    ada = one_opening(hand, people, clock, max_notifications=1)
    frozen = make_courier(store, source, people, slow := Script())
    other = make_courier(store, source, people, quick := Script())

    async def story() -> None:
        slow.free.clear()
        sending = asyncio.create_task(frozen.once(Stop(store.clock)))
        await asyncio.wait_for(slow.began.wait(), 30)
        clock.jump(121)
        await asyncio.to_thread(opens, hand, clock)
        await other.once(Stop(store.clock))
        slow.free.set()
        await asyncio.wait_for(sending, 30)

    asyncio.run(story())
    assert [parcel.key for parcel in slow.parcels] == [parcel.key for parcel in quick.parcels]
    is_sent_once(people, ada)


@pytest.mark.parametrize("lost", ["the answer to the claim", "the answer to the ack"])
def test_a_commit_whose_answer_was_lost_is_found_and_not_done_again(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch,
    lost: str,
) -> None:  # fmt: skip
    ada = one_opening(hand, people, clock, max_notifications=1)
    write_now, done = store.write_now, lost == "the answer to the ack"
    losses = iter([True])

    def write_and_break_off(fn: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        result = write_now(fn, *arguments, **options)
        if fn is run_errand and bool(arguments[0].done) is done and next(losses, False):
            raise StoreError("the database does not answer: the connection broke")
        return result

    monkeypatch.setattr(store, "write_now", write_and_break_off)
    courier = make_courier(store, source, people, channel := Script())

    async def story() -> None:
        sending = asyncio.create_task(courier.once(Stop(store.clock)))
        while not sending.done():
            # Time passes only while nothing else does.
            await clock.advance(1) if clock.sleepers else await asyncio.sleep(0)
        await sending

    asyncio.run(asyncio.wait_for(story(), 30))
    assert deliver(courier) == []
    assert len(channel.parcels) == 1
    is_sent_once(people, ada)
