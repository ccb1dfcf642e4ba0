"""A bot, the people who write to it, and the house behind it: everything real but the upstream and Telegram itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from tests.support.clock import ManualClock
from tests.support.couriers import BASE, make_courier
from tests.support.desks import SECRET
from tests.support.lists import Hand, Lists, some
from tests.support.waiting import People
from vacancy.channels import telegram, telegram_link
from vacancy.channels.base import Kit
from vacancy.channels.telegram_link import DeepLinks
from vacancy.clock import Dice
from vacancy.model.availability import Complete
from vacancy.model.subscriptions import Contact
from vacancy.model.topics import Topic
from vacancy.net.client import Client
from vacancy.pipeline.chat import Chat
from vacancy.pipeline.deliver import Courier
from vacancy.pipeline.switchboard import Switchboard
from vacancy.runner import Stop
from vacancy.settings import Settings
from vacancy.settings_sections import SocSettings, SubscriptionSettings, TelegramSettings
from vacancy.simulator.telegram import TOKEN, Telegram
from vacancy.sources.soc_topics import read_topic
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store
from vacancy.subscriptions import chat_links
from vacancy.subscriptions.chat_links import Plan
from vacancy.subscriptions.contacts import read_contact
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.subscribe import Subscribed, Wish, subscribe

ADA, EVE = 1001, 1002
SEVEN, EIGHT = "00007", "00008"
FULL = some(*range(100, 140))
PLACE = SocSettings(base_url="http://127.0.0.1:1", terms=("12025",))
PATIENCE_S = 30.0


def bot_settings(origin: str) -> Settings:
    return Settings(telegram=TelegramSettings(token=SecretStr(TOKEN), api_base=origin))


async def until(reached: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if reached():
                return
            await asyncio.sleep(0)


class Sections(Lists):
    """Named as the Schedule of Classes names them."""

    def topic(self, name: str) -> Topic:
        return read_topic(PLACE, name.replace("|", ":"))

    def _topics(self, key: str, item_key: str) -> tuple[str, ...]:
        return tuple(name.replace("|", ":") for name in super()._topics(key, item_key))


@dataclass
class Room:
    fake: Telegram
    store: Store
    clock: ManualClock
    hand: Hand
    people: People
    client: Client
    chat: Chat = field(init=False)
    links: DeepLinks = field(init=False)
    courier: Courier = field(init=False)
    kit: Kit = field(init=False)

    def __post_init__(self) -> None:
        settings = bot_settings(self.fake.origin)
        self.kit = Kit(settings, self.clock, Dice(1), self.client, self.store, SECRET.derive, self._moved)
        channel = telegram.build(self.kit)
        source = self.hand.source
        rules = SubscriptionSettings(per_contact=3)
        self.people.desk = Desk(rules, SECRET, {"telegram": channel}, lambda name: source if name == "soc" else None)
        self.chat = Chat(self.store, self.people.desk, BASE)
        self.links = telegram_link.build(self.kit)
        self.courier = make_courier(self.store, source, self.people, channel)

    async def _moved(self, before: str, after: str) -> None:
        await self.chat.moved(before, after)

    def switchboard(self) -> Switchboard:
        return Switchboard(self.kit, self.chat.hear)

    async def heard(self) -> None:
        """Until all that people wrote and pressed is handled and confirmed."""
        stop = Stop(self.clock)
        running = asyncio.create_task(self.switchboard().run(stop))
        try:
            await until(lambda: self.fake.unconfirmed == 0 or running.done())
        finally:
            stop.request()
            await running

    async def link(self, item: str, **more: Any) -> str:
        source, topic = self.people.desk.topic(f"soc:{self.people.key}:{item}")
        code = chat_links.new_code()
        url = await self.links.to(code)
        await self.store.write(chat_links.plan, Plan(source, topic, **more), code)
        return url

    async def waits(self, chat: int, item: str, **more: Any) -> int:
        """The chat opens a link; the number of its subscription."""
        self.fake.follow(chat, await self.link(item, **more))
        await self.heard()
        return max(int(row.subscription_id) for row in self.own(chat))

    def own(self, chat: int) -> list[Any]:
        contact = self.contact(chat)
        return list(self.store.write_now(lambda tx: _of(tx, contact)))

    def statuses(self, chat: int) -> list[str]:
        return [row.status for row in self.own(chat)]

    def contact(self, chat: int) -> Contact:
        return read_contact(SECRET, self.people.desk.channel("telegram"), str(chat))

    def subscribe(self, chat: int, item: str) -> Subscribed:
        """By its number, as anybody may."""
        source, topic = self.people.desk.topic(f"soc:{self.people.key}:{item}")
        wish = Wish(source, topic, self.people.desk.channel("telegram"), self.contact(chat))
        return self.store.write_now(subscribe, self.people.desk, wish)

    def opens(self, *items: int) -> None:
        self.poll(Complete(FULL.keys | some(*items).keys))
        self.people.fan_out()

    def closes(self) -> None:
        self.poll(FULL, FULL)

    def poll(self, *answers: Complete) -> None:
        for answer in answers:
            self.hand.poll(answer)
            self.clock.jump(15)

    async def deliver(self) -> None:
        await asyncio.wait_for(self.courier.once(Stop(self.clock)), PATIENCE_S)

    def texts(self, chat: int) -> list[str]:
        return [message.text for message in self.fake.chats[chat].messages]

    def last(self, chat: int) -> Any:
        return self.fake.chats[chat].messages[-1]

    def words(self, chat: int) -> list[str]:
        """The buttons of the last message that can be pressed."""
        return [button["text"] for row in self.last(chat).keyboard for button in row if "callback_data" in button]


def _of(tx: Any, contact: Contact) -> Any:
    return rows.of_contact(tx, contact.hash, "telegram")


@asynccontextmanager
async def open_room(store: Store, clock: ManualClock, source: Lists | None = None) -> AsyncIterator[Room]:
    fake, source = Telegram(), source or Lists("12025|NB")
    source.courses = {SEVEN: "01:198:111", EIGHT: "01:198:111"}
    client = Client(clock, user_agent="vacancy/test")
    hand = Hand(store, clock, source)
    await fake.start()
    try:
        hand.configure()
        room = Room(fake, store, clock, hand, People(store, source), client)
        room.poll(FULL, FULL)
        yield room
    finally:
        await client.close()
        await fake.stop()


def play(
    store: Store, clock: ManualClock, story: Callable[[Room], Awaitable[None]], source: Lists | None = None
) -> None:
    async def main() -> None:
        async with open_room(store, clock, source) as room:
            await asyncio.wait_for(story(room), 60)

    asyncio.run(main())
