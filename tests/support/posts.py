"""A mail channel as the house builds it, and a courier for it, in front of a server that fails where it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.clock import ManualClock
from tests.support.couriers import make_courier
from tests.support.desks import SECRET
from tests.support.lists import Lists
from tests.support.mail_server import HOST, MailServer
from tests.support.waiting import People
from vacancy.channels.base import Kit
from vacancy.channels.email import build
from vacancy.clock import Dice
from vacancy.net.client import Client
from vacancy.pipeline.deliver import Courier
from vacancy.runner import Stop
from vacancy.settings import Settings
from vacancy.settings_sections import DeliverySettings, EmailSettings
from vacancy.store.engine import Store


class HastyClock(ManualClock):
    """Whoever sleeps is awake at once, and that much later."""

    async def sleep(self, seconds: float) -> None:
        self.pass_time(seconds)
        await asyncio.sleep(0)


@dataclass(frozen=True)
class Post:
    courier: Courier
    store: Store

    async def deliver(self) -> None:
        """All that may go now."""
        await asyncio.wait_for(self.courier.once(Stop(self.store.clock)), 30)


@asynccontextmanager
async def post(store: Store, source: Lists, people: People, **email: Any) -> AsyncIterator[Post]:
    clock = HastyClock()
    client = Client(clock, user_agent="test")
    given: dict[str, Any] = {"sender": "Vacancy <vacancy@house.example>", "timeout_s": 5, **email}
    settings = Settings(
        base_url="https://vacancy.example",
        email=EmailSettings(**given),
        delivery=DeliverySettings(email_per_second=100_000),
    )
    channel = build(Kit(settings, clock, Dice(1), client, store, SECRET.derive))
    try:
        yield Post(make_courier(store, source, people, channel), store)
    finally:
        await channel.close()
        await client.close()


def at(server: MailServer, **more: Any) -> dict[str, Any]:
    return {"provider": "smtp", "smtp_host": HOST, "smtp_port": server.port, "smtp_tls": "none", **more}
