"""Messages to hand to a channel, and a channel to hand them to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, TypeVar, cast

from vacancy.channels.base import Kit
from vacancy.clock import Clock, Dice, SystemClock
from vacancy.model.messages import Kind, Notice, Opening, OpenItem, Parcel, Person
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.simulator.provider import Provider
from vacancy.store.engine import Store
from vacancy.subscriptions.contacts import Secret

SECRET = Secret(b"a key for tests")
Served = TypeVar("Served", bound=Provider)
AT = datetime(2026, 1, 5, 11, 59, 30, tzinfo=UTC)


def section(index: str = "12345", **payload: Any) -> OpenItem:
    known = {
        "term": "12025", "campus": "NB", "index": index, "courseTitle": "DATA STRUCTURES", "sectionNumber": "03",
        "courseString": "01:198:112", "link": f"https://sis.rutgers.edu/soc/#keyword={index}&semester=12025",
    }  # fmt: skip
    return OpenItem(index, 1, known | payload, 7, "12025", "NB", index)


def opening(*items: OpenItem, number: int = 41) -> Opening:
    return Opening(
        number, f"dedupe-{number}", "trace-1", "soc", "12025|NB", AT, "open_sections", "Closed", "Open",
        "America/New_York", items or (section(),),
    )  # fmt: skip


def person(contact: str, number: int = 9, **more: Any) -> Person:
    known: dict[str, Any] = {
        "locale": "en-US", "topic": "soc:12025:NB:12345", "contact_hash": "hash-of-it",
        "manage_url": f"https://vacancy.example/manage/{number}", "unsubscribe_url": "https://vacancy.example/leave/9",
    }  # fmt: skip
    return Person(number, contact, **(known | more))


def alert(contact: str, told: Opening | None = None, *, attempt: int = 1, key: str = "key-1", **more: Any) -> Parcel:
    is_last = bool(more.pop("is_last", False))
    whom = person(contact, **more)
    return Parcel(1, Kind.ALERT, key, "trace-1", attempt, whom, told or opening(), None, is_last)


def word(contact: str, code: str, kind: Kind = Kind.NOTICE, **facts: Any) -> Parcel:
    whom = Person(0, contact, "en-US") if kind is Kind.OPERATOR else person(contact)
    return Parcel(2, kind, f"key-{code}", "trace-2", 1, whom, notice=Notice(code, facts))


def verification(contact: str) -> Parcel:
    whom = person(contact, verify_url="https://vacancy.example/verify?token=abc")
    return Parcel(3, Kind.VERIFICATION, "key-verification", "trace-3", 1, whom)


def build(module: ModuleType, settings: Settings, client: Client, clock: Clock) -> Any:
    return module.build(Kit(settings, clock, Dice(1), client, cast("Store", None), SECRET.derive))


def play(fake: Served, act: Callable[[Served, Client], Awaitable[None]], clock: Clock | None = None) -> None:
    """With the fake running, and a client of the house's own."""

    async def main() -> None:
        client = Client(clock or SystemClock(), user_agent="vacancy/test")
        await fake.start()
        try:
            await act(fake, client)
        finally:
            await client.close()
            await fake.stop()

    asyncio.run(main())
