"""How fast Telegram is written to, and whom its "wait" concerns."""

from __future__ import annotations

import asyncio

from tests.support.clock import ManualClock, settle

from vacancy.bot.pace import BURST, UNTOLD_RATE_S, Pace
from vacancy.runner import Stop


def test_thirty_a_second_altogether() -> None:
    async def story(clock: ManualClock) -> None:
        pace, stop, gone = Pace(clock, per_second=30, chat_gap_s=0), Stop(clock), []

        async def go(chat: int) -> None:
            if await pace.turn(chat, stop):
                gone.append(clock.monotonic())

        clock.pass_time(100)
        going = [asyncio.create_task(go(chat)) for chat in range(BURST + 60)]
        await settle(5)
        assert len(gone) == BURST + 1
        await clock.advance(3)
        assert len(gone) == BURST + 60
        await asyncio.gather(*going)
        assert all(sum(at <= each < at + 1 for each in gone) <= BURST + 31 for at in gone)

    asyncio.run(story(ManualClock()))


def test_a_chat_that_waits_takes_no_place_of_others() -> None:
    async def story(clock: ManualClock) -> None:
        pace, stop = Pace(clock, per_second=30, chat_gap_s=1), Stop(clock)
        clock.pass_time(100)
        assert await pace.turn(1, stop)
        waiting = asyncio.create_task(pace.turn(1, stop))
        await settle(5)
        assert await pace.turn(2, stop)
        await clock.advance(0.99)
        assert not waiting.done()
        await clock.advance(0.02)
        assert await waiting

    asyncio.run(story(ManualClock()))


def test_a_stop_ends_the_waiting() -> None:
    async def story(clock: ManualClock) -> None:
        pace, stop = Pace(clock), Stop(clock)
        assert await pace.turn(1, stop)
        waiting = asyncio.create_task(pace.turn(1, stop))
        await settle(5)
        stop.request()
        assert not await waiting

    asyncio.run(story(ManualClock()))


def test_a_word_to_one_chat_is_for_that_chat_and_to_two_for_all() -> None:
    clock = ManualClock()
    pace = Pace(clock)
    assert pace.refused(1, 10) == 10
    assert pace.refused(1, 20) == 20
    assert (pace.rest_s(1), pace.rest_s(2)) == (20, 0)
    pace.rest(3, 5)  # out of reach is no word of Telegram's
    assert pace.rest_s(2) == 0
    assert pace.refused(2, None) == UNTOLD_RATE_S
    assert pace.rest_s(99) == UNTOLD_RATE_S
    clock.pass_time(UNTOLD_RATE_S)
    pace.refused(1, 10)
    assert pace.rest_s(99) == 0
