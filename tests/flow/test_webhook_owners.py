"""An address that several subscribe: each hears for itself, and nobody takes another's message away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.support.chat_rooms import EIGHT, FULL, SEVEN
from tests.support.clock import ManualClock
from tests.support.couriers import make_courier
from tests.support.lists import Hand, Lists, some
from tests.support.waiting import People
from vacancy.channels import webhook
from vacancy.channels.base import Kit
from vacancy.channels.webhook_secret import signing_secret
from vacancy.clock import Dice
from vacancy.model.availability import Complete
from vacancy.model.subscriptions import Preferences, Status
from vacancy.net.client import Client
from vacancy.runner import Stop
from vacancy.settings import Settings
from vacancy.settings_sections import WebhookSettings
from vacancy.simulator.hooks import Hooks
from vacancy.simulator.provider import Request
from vacancy.store.engine import Store
from vacancy.subscriptions.contacts import read_contact
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.subscribe import Wish, subscribe

COURSE = "01:198:111"


class House:
    def __init__(self, store: Store, clock: ManualClock, client: Client) -> None:
        self.store, self.clock = store, clock
        self.source = Lists("12025|NB")
        self.source.courses = {SEVEN: COURSE, EIGHT: COURSE}
        self.people, self.hooks = People(store, self.source), Hooks()
        settings = Settings(webhook=WebhookSettings(allow_loopback=True))
        kit = Kit(settings, clock, Dice(1), client, store, self.people.desk.secret.derive)
        self.channel = webhook.build(kit)
        desk = self.people.desk
        self.people.desk = Desk(desk.settings, desk.secret, {"webhook": self.channel}, desk.sources)
        self.courier = make_courier(store, self.source, self.people, self.channel)
        self.hand = Hand(store, clock, self.source)
        self.hand.configure()
        self.poll(FULL, FULL)

    def subscribe(self, what: str, **preferences: Any) -> int:
        source, topic = self.people.desk.topic(f"soc:12025|NB:{what}")
        contact = read_contact(self.people.desk.secret, self.channel, self.hooks.url)
        wish = Wish(source, topic, self.channel, contact, preferences=Preferences(**preferences))
        return self.store.write_now(subscribe, self.people.desk, wish).subscription.subscription_id

    def secret(self, number: int) -> str:
        contact = read_contact(self.people.desk.secret, self.channel, self.hooks.url)
        return signing_secret(self.people.desk.secret.derive, contact.hash, number)

    def poll(self, *answers: Complete) -> None:
        for answer in answers:
            self.hand.poll(answer)
            self.clock.jump(15)

    def opens(self, *items: int) -> None:
        self.poll(Complete(FULL.keys | some(*items).keys))
        self.people.fan_out()

    async def deliver(self) -> list[int]:
        """Whose messages came, each signed as its owner expects."""
        self.hooks.clear()
        await asyncio.wait_for(self.courier.once(Stop(self.clock)), 30)
        posts = [(post.json()["data"]["subscriptionId"], post) for post in self.hooks.records]
        assert all(self.is_signed(post, number) for number, post in posts)
        return sorted(number for number, _ in posts)

    def is_signed(self, post: Request, number: int) -> bool:
        at = datetime.fromtimestamp(int(post.headers["webhook-timestamp"]), UTC)
        expected = Webhook(self.secret(number)).sign(post.headers["webhook-id"], at, post.body.decode())
        return bool(post.headers["webhook-signature"] == expected)


Tell = Callable[[Callable[[House], Awaitable[None]]], None]


@pytest.fixture
def tell(store: Store, clock: ManualClock) -> Tell:
    def play(story: Callable[[House], Awaitable[None]]) -> None:
        async def main() -> None:
            client = Client(clock, user_agent="test")
            house = House(store, clock, client)
            await house.hooks.start()
            try:
                await asyncio.wait_for(story(house), 60)
            finally:
                await client.close()
                await house.hooks.stop()

        asyncio.run(main())

    return play


def test_a_stranger_who_subscribes_the_address_to_more_takes_nothing_away(tell: Tell) -> None:
    async def story(house: House) -> None:
        owner = house.subscribe(SEVEN)
        later = house.clock.now() + timedelta(days=365)
        strangers = [house.subscribe(f"course/{COURSE}"), house.subscribe(EIGHT, snooze_until=later)]
        house.opens(7)
        assert await house.deliver() == [owner, strangers[0]]
        house.opens(7, 8)
        assert await house.deliver() == [strangers[0]]
        assert [row.who for row in house.people.live()] == [strangers[1]]

    tell(story)


def test_one_that_rests_is_told_nothing_and_passes_nothing_on(tell: Tell) -> None:
    async def story(house: House) -> None:
        one, other = house.subscribe(SEVEN), house.subscribe(f"course/{COURSE}")
        house.opens(7)
        house.people.change(one, Status.PAUSED)
        assert [(row.who, row.status) for row in house.people.queue()] == [(other, "pending"), (one, "skipped")]
        assert await house.deliver() == [other]
        house.people.change(one, Status.ACTIVE)
        assert await house.deliver() == [one]

    tell(story)


def test_each_is_told_once_however_often_it_is_looked_at(tell: Tell) -> None:
    async def story(house: House) -> None:
        one, other = house.subscribe(SEVEN), house.subscribe(f"course/{COURSE}")
        house.opens(7)
        assert await house.deliver() == sorted([one, other])
        for number in (one, other):
            house.people.change(number, max_notifications=9)
        house.people.fan_out()
        assert await house.deliver() == []

    tell(story)
