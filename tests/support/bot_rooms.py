"""A bot between a backend and Telegram: everything real, over HTTP, but those two."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from tests.support.chat_rooms import until
from tests.support.clock import ManualClock
from vacancy.bot.pace import Pace
from vacancy.bot.run import House
from vacancy.clock import Dice
from vacancy.model.bot import Move, Record, Seat
from vacancy.net.client import Client
from vacancy.runner import Stop
from vacancy.settings import Settings
from vacancy.settings_bot import BotSettings
from vacancy.settings_sections import TelegramSettings
from vacancy.simulator import telegram
from vacancy.simulator.task_backend import TOKEN, TaskBackend
from vacancy.simulator.telegram import Telegram
from vacancy.store import bot_chats
from vacancy.store.engine import Store

ADA, EVE = 1, 2  # users
HER_CHAT, HER_OTHER_CHAT, EVES_CHAT, GROUP = 101, 102, 201, -300


def bot_settings(fake: Telegram, backend_url: str, **more: Any) -> Settings:
    return Settings(
        telegram=TelegramSettings(token=SecretStr(telegram.TOKEN), api_base=fake.origin),
        bot=BotSettings(backend_url=backend_url, service_token=SecretStr(TOKEN), **more),
    )


@dataclass
class Room:
    fake: Telegram
    backend: TaskBackend
    store: Store
    clock: ManualClock
    client: Client
    settings: Settings
    pace: Pace | None = None
    house: House = field(init=False)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """As after a start of the process: only what was saved is known."""
        pace = self.pace or Pace(self.clock, per_second=0, chat_gap_s=0)
        self.house = House(self.settings, self.store, self.client, self.clock, Dice(1), pace)

    def sits(self, chat: int, user: int, cursor: int = 0) -> Seat:
        """Bound, and read up to here."""
        self.fake.join(chat)
        self.backend.person(user)
        self.store.write_now(bot_chats.bind, chat, user, "", "en-US")
        seat = self.seat(chat)
        move = Move(seat, seat.cursor, max(cursor, seat.cursor), is_read_up=True)
        assert self.store.write_now(bot_chats.advance, [move]) == [True]
        return self.seat(chat)

    def seat(self, chat: int) -> Seat:
        found = self.store.read_now(bot_chats.seat, chat)
        assert found is not None
        return found

    def record(self, chat: int) -> Record:
        (found,) = [each for each in self.store.read_now(bot_chats.records) if each.chat_id == chat]
        return found

    async def cycle(self, times: int = 1) -> None:
        """A look at every user, and all that comes of it."""
        for _ in range(times):
            await self.house.poller.begin_cycle()
            await self.house.poller.idle()

    async def later(self, seconds: float) -> None:
        self.clock.pass_time(seconds)
        await self.cycle()

    async def heard(self) -> None:
        """Until all that people wrote is handled and confirmed."""
        stop = Stop(self.clock)
        running = asyncio.create_task(self.house.listener.run(stop))
        try:
            await until(lambda: self.fake.unconfirmed == 0 or running.done())
        finally:
            stop.request()
            await running

    async def says(self, chat: int, text: str, **more: Any) -> str:
        """Somebody writes this; the answer."""
        before = len(self.fake.chats[chat].messages) if chat in self.fake.chats else 0
        self.fake.write(chat, text, **more)
        await self.heard()
        replies = self.texts(chat)[before:]
        assert len(replies) <= 1, replies
        return replies[0] if replies else ""

    def texts(self, chat: int) -> list[str]:
        return [message.text for message in self.fake.chats[chat].messages]

    def told(self, chat: int) -> list[int]:
        """The numbers of the events that came, by their comments."""
        lines = [line for text in self.texts(chat) for line in text.splitlines()]
        return [int(line.removeprefix("Comment: event ")) for line in lines if line.startswith("Comment: event ")]

    def happen(self, count: int, *users: int) -> list[int]:
        """So many events, each with its number in its comment."""
        made = []
        for _ in range(count):
            number = self.backend.happens(*users)
            for user in users:
                self.backend.person(user).events[-1]["payload"]["current_comment"] = f"event {number}"
            made.append(number)
        return made


@asynccontextmanager
async def open_room(store: Store, clock: ManualClock, pace: Pace | None = None, **more: Any) -> AsyncIterator[Room]:
    fake, backend = Telegram(), TaskBackend()
    client = Client(clock, user_agent="vacancy/test")
    await fake.start()
    await backend.start()
    try:
        backend.person(ADA, "Ada")
        backend.person(EVE, "Eve")
        settings = bot_settings(fake, more.pop("backend_url", backend.origin), **more)
        yield Room(fake, backend, store, clock, client, settings, pace)
    finally:
        await client.close()
        await fake.stop()
        await backend.stop()


Story = Callable[[Room], Awaitable[None]]


def play(store: Store, clock: ManualClock, story: Story, **more: Any) -> None:
    async def main() -> None:
        async with open_room(store, clock, **more) as room:
            await asyncio.wait_for(story(room), 60)

    asyncio.run(main())
