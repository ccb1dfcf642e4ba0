"""What wakes the fan-out: the commit of an event, in this process or another one; and should no bell be heard, its own
look at the table. Its clock stands still here, so nothing else can."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tests.support.clock import ManualClock, settle
from tests.support.lists import Hand, Lists, some
from tests.support.waiting import People
from vacancy.clock import SystemClock
from vacancy.metrics import Metrics
from vacancy.pipeline.fanout import FanOut
from vacancy.runner import Stop
from vacancy.store import bells
from vacancy.store.engine import Store

FULL = some(*range(100, 140))
OPENED = some(7, *range(100, 140))
_PATIENCE_S = 30
# Turns of the loop that even a slow machine's threads need far fewer of.
_TURNS = 2_000_000


@pytest.fixture
def source() -> Lists:
    return Lists("12025|NB")


@pytest.fixture
def people(store: Store, clock: ManualClock, source: Lists) -> People:
    """Ada waits for 00007, which is closed."""
    hand = Hand(store, clock, source)
    hand.configure()
    for _ in range(2):
        hand.poll(FULL)
        clock.jump(15)
    made = People(store, source, verify=False)
    made.subscribe("ada", "00007")
    return made


@asynccontextmanager
async def fanning_out(store: Store, clock: ManualClock) -> AsyncIterator[None]:
    """It has looked once, found nothing, and waits."""
    stop = Stop(clock)
    running = asyncio.ensure_future(FanOut(store, clock, Metrics()).run(stop))
    await until(lambda: clock.sleepers == 1)
    try:
        yield
    finally:
        stop.request()
        await asyncio.wait_for(running, _PATIENCE_S)


async def until(true: Callable[[], bool]) -> None:
    for _ in range(_TURNS):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never became true")


async def queued(store: Store, people: People) -> None:
    """Until there is a row; whoever writes it rings."""
    heard, real = 0, SystemClock()
    async with asyncio.timeout(_PATIENCE_S):
        while not await asyncio.to_thread(people.queue):
            heard = await store.bells[bells.NOTIFICATIONS].wait(heard, real, _PATIENCE_S)


def played(story: Awaitable[None]) -> None:
    async def main() -> None:
        await story

    asyncio.run(main())


def test_a_commit_in_this_process_wakes_it(store: Store, clock: ManualClock, people: People, source: Lists) -> None:
    still = ManualClock()

    async def story() -> None:
        async with fanning_out(store, still):
            await asyncio.to_thread(Hand(store, clock, source).poll, OPENED)
            await queued(store, people)

    played(story())


def test_a_commit_of_another_process_wakes_it(store: Store, clock: ManualClock, people: People, source: Lists) -> None:
    """LISTEN and NOTIFY on PostgreSQL; SQLite's listener looks at the file, by a clock that goes."""
    still, other = ManualClock(), Store(store.url, clock, database_time=False)

    async def story() -> None:
        store.clock = SystemClock()
        rings = store.bells[bells.EVENTS].rings
        listening = asyncio.ensure_future(store.listen())
        async with fanning_out(store, still):
            if not store.is_sqlite:
                # It rings once when it has begun to listen.
                await until(lambda: store.bells[bells.EVENTS].rings > rings)
            await asyncio.to_thread(Hand(other, clock, source).poll, OPENED)
            await queued(store, people)
        listening.cancel()

    try:
        played(story())
    finally:
        other.close()


def test_without_any_bell_it_looks_by_itself(store: Store, clock: ManualClock, people: People, source: Lists) -> None:
    still, other = ManualClock(), Store(store.url, clock, database_time=False)

    async def story() -> None:
        async with fanning_out(store, still):
            await asyncio.to_thread(Hand(other, clock, source).poll, OPENED)
            await settle()
            assert await asyncio.to_thread(people.queue) == []
            await still.advance(5)
            await queued(store, people)

    try:
        played(story())
    finally:
        other.close()
