"""The poller itself: what becomes of a poll whose own code fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select

from tests.support.clock import ManualClock
from tests.support.lists import Lists, some
from vacancy.clock import Dice
from vacancy.errors import StoreError
from vacancy.metrics import Metrics
from vacancy.model.availability import Claim, PollOutcome, Trouble
from vacancy.pipeline.poll import Polled, Poller
from vacancy.pipeline.settle import Came
from vacancy.runner import Stop
from vacancy.store import budgets
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import targets
from vacancy.store.targets import want_now


class Restless(ManualClock):
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class Broken(Lists):
    """It has a fault that shows at one of its targets."""

    fault: Exception = KeyError("nobody thought of this")

    async def ask(self, claim: Claim, last_mark: bytes | None) -> PollOutcome:
        if claim.key == "12025|NK":
            raise self.fault
        return some(1, 2, 3)


def poll_once(store: Store, source: Lists) -> list[Polled]:
    return asyncio.run(Poller(store, [source], [], Restless(), Dice(1), Metrics()).poll_once(lambda _: None))


def rows(tx: Tx) -> dict[str, Any]:
    return {row.key: row for row in tx.execute(select(targets)).all()}


def test_a_fault_of_our_own_costs_its_target_one_turn_and_no_other(store: Store) -> None:
    polled = {each.key: each for each in poll_once(store, Broken("12025|NB", "12025|NK"))}
    assert polled["12025|NB"].came is Came.WAITING
    assert polled["12025|NK"].failed is not None
    assert polled["12025|NK"].failed.trouble is Trouble.INTERNAL
    broken = store.read_now(rows)["12025|NK"]
    assert broken.lease_owner is None
    assert (broken.failures, broken.last_error["code"]) == (1, "internal")
    assert broken.next_poll_at > store.clock.now()


def test_a_database_that_is_away_ends_the_loop_for_its_supervisor_to_start_again(store: Store) -> None:
    source = Broken("12025|NK")
    source.fault = StoreError("the database does not answer")
    with pytest.raises(StoreError):
        poll_once(store, source)


class Outage(Lists):
    """The database goes away under its polls, under some of them after the loop has ended for the others."""

    def __init__(self, count: int) -> None:
        super().__init__(*(f"12025|T{number}" for number in range(count)))
        self.left = count
        self.ended = asyncio.Event()
        self.back = asyncio.Event()

    async def ask(self, claim: Claim, last_mark: bytes | None) -> PollOutcome:
        if self.back.is_set():
            return some(1, 2, 3)
        self.left -= 1
        if self.left % 2:
            await self.ended.wait()
        raise StoreError("the database does not answer")


def test_an_outage_ends_the_loop_once_however_many_polls_it_fails(store: Store) -> None:
    async def story() -> None:
        source, clock = Outage(8), Restless()
        poller, stop = Poller(store, [source], [], clock, Dice(1), Metrics()), Stop(clock)
        with pytest.raises(StoreError):
            await asyncio.wait_for(poller.run(stop), 30)
        source.ended.set()
        await asyncio.wait(set().union(*poller._running.values()))
        source.back.set()
        running = asyncio.create_task(poller.run(stop))
        stop.request()
        await asyncio.wait_for(running, 30)
        assert set().union(*poller._running.values()) == set()

    asyncio.run(story())


class Counted(Lists):
    """It counts how often each target is asked, and says when the second one was asked again."""

    def __init__(self, *keys: str, interval_s: float) -> None:
        super().__init__(*keys, interval_s=interval_s)
        self.asked = dict.fromkeys(keys, 0)
        self.again = asyncio.Event()
        self.once = asyncio.Event()

    async def ask(self, claim: Claim, last_mark: bytes | None) -> PollOutcome:
        self.asked[claim.key] += 1
        if all(self.asked.values()):
            self.once.set()
        if self.asked[self.keys[-1]] > 1:
            self.again.set()
        return some(1, 2, 3)


def test_a_target_that_is_asked_every_two_hours_is_not_due_all_the_time(store: Store) -> None:
    """Its next time lies further ahead than other sources' longest delay, and is no sign of a clock set back."""

    async def story() -> dict[str, int]:
        source, clock = Counted("12025|NB", "12025|NK", interval_s=7200), Restless()
        poller, stop = Poller(store, [source], [], clock, Dice(1), Metrics()), Stop(clock)
        running = asyncio.create_task(poller.run(stop))
        await asyncio.wait_for(source.once.wait(), 30)
        # Whoever claims the second one would claim the first one with it, if that were due.
        async with asyncio.timeout(30):
            while not source.again.is_set():
                await store.write(_want_now, "12025|NK")
        stop.request()
        await asyncio.wait_for(running, 30)
        return source.asked

    assert asyncio.run(story())["12025|NB"] == 1


class OnlyShortNaps(ManualClock):
    """Whoever rests for long is not woken by the time."""

    async def sleep(self, seconds: float) -> None:
        await (asyncio.sleep(0) if seconds < 1 else asyncio.get_running_loop().create_future())


def test_a_place_that_becomes_free_is_taken_at_once_also_while_the_source_recovers(store: Store) -> None:
    async def story() -> None:
        source, clock = Counted(*(f"12025|T{number}" for number in range(8)), interval_s=15), OnlyShortNaps()
        poller, stop = Poller(store, [source], [], clock, Dice(1), Metrics()), Stop(clock)
        await poller.configure()
        await store.write(_slow_down)
        running = asyncio.create_task(poller.run(stop))
        await asyncio.wait_for(source.once.wait(), 10)
        stop.request()
        await asyncio.wait_for(running, 10)

    asyncio.run(story())


class Days(Lists):
    """A day passes while it is asked, and the next one is asked for."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__("2026-02-28_20:30", interval_s=7200)
        self.clock = clock
        self.followed = asyncio.Event()

    async def ask(self, claim: Claim, last_mark: bytes | None) -> PollOutcome:
        if claim.key == "2026-03-01_20:30":
            self.followed.set()
        self.keys = ("2026-03-01_20:30",)
        self.clock.pass_time(61)
        return some(1, 2, 3)


def test_targets_follow_the_days(store: Store) -> None:
    async def story() -> None:
        clock = Restless()
        source = Days(clock)
        poller, stop = Poller(store, [source], [], clock, Dice(1), Metrics()), Stop(clock)
        running = asyncio.create_task(poller.run(stop))
        await asyncio.wait_for(source.followed.wait(), 30)
        stop.request()
        await asyncio.wait_for(running, 30)

    asyncio.run(story())
    configured = {key: row.configured for key, row in store.read_now(rows).items()}
    assert configured == {"2026-02-28_20:30": False, "2026-03-01_20:30": True}


def _slow_down(tx: Tx) -> None:
    budgets.pause(tx, tx.now(), "soc", 0, "it was slow")


def _want_now(tx: Tx, key: str) -> None:
    (target_id,) = tx.execute(select(targets.c.target_id).where(targets.c.key == key)).one()
    want_now(tx, tx.now(), target_id)
