"""One courier of each other channel, killed when the service had answered and nobody had written it down: the message
comes again, under the same key where the service has one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.nursery import Nursery, settings_for
from tests.support.scenes import SECRET, Scene
from vacancy.channels.webpush import public_key
from vacancy.clock import SystemClock
from vacancy.simulator import discord, hooks, push, telegram
from vacancy.simulator.provider import Provider
from vacancy.subscriptions.contacts import Secret

CHAT = 4711


@dataclass(frozen=True)
class Service:
    """`key` is what a service tells a repetition by, `seen` how many messages a person sees of two that were sent."""

    channel: str
    fake: Provider
    settings: Callable[[], Mapping[str, object]]
    contact: Callable[[], str]
    key: Callable[[], list[Any]]
    seen: Callable[[], int]


def a_telegram() -> Service:
    """It has no such key: a person sees the message again."""
    fake = telegram.Telegram()
    chat = fake.join(CHAT)
    return Service(
        "telegram", fake, lambda: {"telegram__token": fake.token, "telegram__api_base": fake.origin},
        lambda: str(CHAT), lambda: [message.text for message in chat.messages], lambda: len(chat.messages) - 1,
    )  # fmt: skip


def a_discord() -> Service:
    fake = discord.Discord(SystemClock())
    return Service(
        "discord", fake, lambda: {"discord__bot_token": discord.TOKEN, "discord__api_base": fake.api_base},
        lambda: f"channel:{discord.CHANNEL}", lambda: [record.json()["nonce"] for record in fake.records],
        lambda: len(fake.messages),
    )  # fmt: skip


def a_webhook() -> Service:
    fake = hooks.Hooks()
    return Service(
        "webhook", fake, lambda: {"webhook__allow_loopback": "true"}, lambda: fake.url,
        lambda: [record.headers["webhook-id"] for record in fake.records], lambda: len(fake.taken),
    )  # fmt: skip


def a_browser() -> Service:
    fake = push.PushService(SystemClock())
    browsers: list[push.Browser] = []

    def subscribe() -> str:
        browsers.append(fake.subscribe(public_key(Secret(SECRET.encode()).derive)))
        return browsers[0].subscription()

    return Service(
        "webpush", fake, lambda: {"webpush__allow_loopback": "true"}, subscribe,
        lambda: [record.headers["Topic"] for record in fake.records], lambda: len(browsers[0].waiting),
    )  # fmt: skip


@pytest.mark.parametrize("make", [a_telegram, a_discord, a_webhook, a_browser])
def test_killed_before_the_ack(scene: Scene, database_url: str, nursery: Nursery, make: Callable[[], Service]) -> None:
    service = make()

    async def story() -> None:
        await service.fake.start()
        try:
            scene.waits(1, max_notifications=1)
            scene.reached_at(service.contact(), service.channel)
            scene.opens()
            settings = settings_for(database_url, **service.settings())
            victim = nursery.start(settings, service.channel, "after_the_answer")
            assert await nursery.end(victim) == -9
            (row,) = scene.told()
            assert (row.status, row.attempts, row.count, row.locked) == ("pending", 0, 1, True)
            assert await nursery.end(nursery.start(settings, service.channel)) == 0
        finally:
            await service.fake.stop()

    asyncio.run(asyncio.wait_for(story(), 60))
    (row,) = scene.told()
    assert (row.status, row.attempts, row.count, row.subscription, row.locked) == ("sent", 1, 1, "paused", False)
    first, second = service.key()
    assert first == second
    assert service.seen() == 1
