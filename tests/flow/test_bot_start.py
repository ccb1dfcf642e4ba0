"""The check at the start: one question, and what hangs on its answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog

from tests.support.bot_rooms import ADA, HER_CHAT, Room, play
from tests.support.chat_rooms import until
from tests.support.clock import ManualClock
from vacancy.bot.telegram import Telegram
from vacancy.errors import SettingsError
from vacancy.net.client import Client
from vacancy.runner import Loop, Runner
from vacancy.store.engine import Store

FEED = "/tasks/me/events"
NOWHERE = "http://127.0.0.1:1"


@asynccontextmanager
async def running(room: Room) -> AsyncIterator[None]:
    """The loops of `vacancy bot`, until the block is left; they end well."""
    loops = [Loop("listen", room.house.listener.run), Loop("events", room.house.poll)]
    runner = Runner(room.clock, loops)
    ends = asyncio.create_task(runner.run())
    try:
        yield
    finally:
        runner.stop.request()
        assert await asyncio.wait_for(ends, 30) == 0


async def answers(room: Room, text: str) -> str:
    before = len(room.texts(HER_CHAT)) if HER_CHAT in room.fake.chats else 0
    room.fake.write(HER_CHAT, text)
    await until(lambda: len(room.fake.chats[HER_CHAT].messages) > before)
    return room.texts(HER_CHAT)[before]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (None, "no connection could be made"),
        ({"drop": True}, "it hung up without an answer"),
        ({"status": 401}, "answered 401 to user 1"),
        ({"status": 404}, "answered 404 to user 1"),
        ({"status": 500}, "answered 500 to user 1"),
        ({"status": 204}, "answered 204 to user 1"),
        ({"status": 200, "body": {"items": []}}, "did not answer with an array"),
        ({"status": 200, "body": "<html>"}, "did not answer with an array"),
    ],
)
def test_a_backend_that_fails_the_check_is_asked_once_and_commands_go_on(
    sqlite_store: Store, clock: ManualClock, fault: dict[str, Any] | None, reason: str
) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        room.happen(1, ADA)
        if fault is not None:
            room.backend.fault(path=FEED, **fault)
        with structlog.testing.capture_logs() as lines:
            async with running(room):
                said = await answers(room, "/ping")
                await until(lambda: any(line["event"].startswith("no events are looked for") for line in lines))
                for _ in range(5):
                    await clock.advance(60)
                assert "Events are not looked for" in said
                assert "bound to user 1" in said
                unbound = await answers(room, "/unbind")
                assert unbound.startswith("Unbound from")
        assert room.told(HER_CHAT) == []
        assert len(room.backend.asks_for_events()) == (0 if fault is None else 1)
        (told,) = [line for line in lines if line["log_level"] in ("warning", "error")]
        assert reason in told["reason"]
        assert "start `vacancy bot` again" in told["event"]

    play(sqlite_store, clock, story, **({"backend_url": NOWHERE} if fault is None else {}))


def test_a_healthy_backend_with_nothing_to_tell_opens_the_gate(store: Store, clock: ManualClock) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        async with running(room):
            await until(lambda: room.house.is_polling)
            made = room.happen(1, ADA)
            await until(lambda: clock.sleepers)
            await clock.advance(10)
            await until(lambda: room.told(HER_CHAT) == made)
            assert "Events are looked for every 5 s" in await answers(room, "/ping")
        checks = [path for path in room.backend.asks_for_events() if path.endswith("events?limit=1")]
        assert len(checks) == 1
        assert room.backend.records[0].headers["X-User-Id"] == "1"
        assert room.backend.records[0].headers["Authorization"] == f"Bearer {room.backend.token}"

    play(store, clock, story)


def test_an_array_of_garbage_is_an_array(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(room: Room) -> None:
        room.backend.fault(status=200, body=[None], path=FEED)
        async with running(room):
            await until(lambda: room.house.is_polling)

    play(sqlite_store, clock, story)


def test_another_listener_is_told_once_with_what_to_do(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(room: Room) -> None:
        room.fake.refuse(409, "Conflict: terminated by other getUpdates request", "getUpdates", times=3)
        with structlog.testing.capture_logs() as lines:
            async with running(room):
                for _ in range(4):
                    await until(lambda: clock.sleepers)
                    await clock.advance(40)
                assert await answers(room, "/ping")
        told = [line["event"] for line in lines if line["log_level"] == "warning"]
        assert len(told) == 1
        assert "`[telegram] listen = false`" in told[0]

    play(sqlite_store, clock, story)


def test_what_is_no_token_is_said_to_be_none(clock: ManualClock) -> None:
    with pytest.raises(SettingsError, match=r"telegram\.token is no token") as told:
        Telegram(Client(clock, user_agent="vacancy/test"), NOWHERE, "hunter2")
    assert "hunter2" not in str(told.value)


def test_a_token_that_telegram_does_not_know(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(room: Room) -> None:
        room.fake.token = "654321:another"
        with structlog.testing.capture_logs() as lines:
            async with running(room):
                await until(lambda: any(line["log_level"] == "error" for line in lines))
        assert "does not know the bot's token" in next(each["event"] for each in lines if each["log_level"] == "error")
        assert room.settings.telegram.token is not None
        assert room.settings.telegram.token.get_secret_value() not in str(lines)

    play(sqlite_store, clock, story)
