"""The bot at awkward moments: what is on its way while something else happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.bot_rooms import ADA, EVE, HER_CHAT, Room, play
from tests.support.chat_rooms import until
from tests.support.clock import ManualClock
from vacancy.bot.backend import PAGE
from vacancy.errors import StoreError
from vacancy.runner import Stop
from vacancy.store import bot_chats
from vacancy.store.engine import Store

Play = Callable[..., None]


@pytest.fixture
def tell_quickly(sqlite_store: Store, clock: ManualClock) -> Play:
    return lambda story, **more: play(sqlite_store, clock, story, **more)


def hold_answers(room: Room, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Telegram has the message, and its answer is on its way until this is set."""
    say, may_answer = room.house.telegram.say, asyncio.Event()

    async def say_slowly(*what: Any, **how: Any) -> Any:
        answer = await say(*what, **how)
        await may_answer.wait()
        return answer

    monkeypatch.setattr(room.house.telegram, "say", say_slowly)
    return may_answer


def test_a_page_of_whom_a_chat_was_bound_to_before_opens_no_second_way_into_it(
    tell_quickly: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        room.happen(1, ADA)
        held = room.backend.person(ADA).held = asyncio.Event()
        await room.house.poller.begin_cycle()
        await until(lambda: room.backend.person(ADA).asked)
        room.sits(HER_CHAT, EVE)
        eves = room.happen(2, EVE)
        may_answer = hold_answers(room, monkeypatch)
        await room.house.poller.begin_cycle()
        await until(lambda: room.told(HER_CHAT))
        held.set()
        await until(lambda: len(room.house.poller._reading) == 0)  # hers has come, and is handed out
        for _ in range(3):
            await room.house.poller.begin_cycle()
        await until(lambda: len(room.house.poller._reading) == 0)
        may_answer.set()
        await room.house.poller.idle()
        await room.cycle()
        assert room.told(HER_CHAT) == eves

    tell_quickly(story)


def test_a_database_that_is_away_cuts_off_no_message_on_its_way(
    sqlite_store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seats = bot_chats.seats

    def away(*_: Any) -> list[Any]:
        raise StoreError("away")

    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        made = room.happen(2, ADA)
        may_answer, stop = hold_answers(room, monkeypatch), Stop(clock)
        running = asyncio.create_task(room.house.poller.run(stop))
        await until(lambda: room.told(HER_CHAT) and clock.sleepers)
        monkeypatch.setattr(bot_chats, "seats", away)
        await clock.advance(10)
        with pytest.raises(StoreError):
            await running
        monkeypatch.setattr(bot_chats, "seats", seats)
        may_answer.set()
        running = asyncio.create_task(room.house.poller.run(stop))
        await until(lambda: room.told(HER_CHAT)[-1:] == made[-1:])
        stop.request()
        await running
        assert room.told(HER_CHAT) == made

    play(sqlite_store, clock, story)


def test_a_long_history_that_comes_slowly_is_left_to_the_poller_and_others_are_answered(
    tell_quickly: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(room: Room) -> None:
        room.happen(PAGE * 5, ADA)
        room.backend.code(ADA, "HERS")
        events = room.house.backend.events

        async def slowly(*what: int) -> object:
            room.clock.pass_time(6)
            return await events(*what)

        with monkeypatch.context() as slow:
            slow.setattr(room.house.backend, "events", slowly)
            assert "Events come once the backend" in await room.says(HER_CHAT, "/bind HERS")
        assert len(room.backend.asks_for_events()) == 2
        await room.cycle(2)
        made = room.happen(1, ADA)
        await room.cycle()
        assert room.told(HER_CHAT) == made

    tell_quickly(story)


def test_a_command_that_was_handled_and_not_confirmed_is_not_done_again(
    tell_quickly: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(room: Room) -> None:
        updates, asked = room.house.telegram.updates, 0

        async def once(*what: Any) -> Any:
            nonlocal asked
            asked += 1
            return await (updates(*what) if asked == 1 else asyncio.Event().wait())

        with monkeypatch.context() as deaf:
            deaf.setattr(room.house.telegram, "updates", once)
            room.fake.write(HER_CHAT, "/ping")
            running = asyncio.create_task(room.house.listener.run(Stop(room.clock)))
            await until(lambda: asked == 2)
            running.cancel()
            await asyncio.wait((running,))
        assert room.fake.unconfirmed == 1
        room.begin()
        await room.heard()
        assert len(room.texts(HER_CHAT)) == 1

    tell_quickly(story)
