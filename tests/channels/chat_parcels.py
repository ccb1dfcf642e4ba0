"""Messages for the channels to people's hands, and what a channel is built from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from vacancy.channels.base import Kit
from vacancy.clock import Clock, Dice
from vacancy.model.messages import Kind, Notice, Opening, OpenItem, Parcel, Person
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.store.engine import Store
from vacancy.subscriptions.contacts import Secret

SECRET = Secret(b"a key for tests")
LINK = "https://sis.rutgers.edu/soc/?index=12345"
MANAGE = "https://vacancy.example/manage/9?token=s3cret-manage"
VERIFY = "https://vacancy.example/verify?token=s3cret-verify"


def kit(settings: Settings, client: Client, clock: Clock) -> Kit:
    return Kit(settings, clock, Dice(1), client, cast("Store", None), SECRET.derive)


def opening(title: str = "DATA STRUCTURES", *, link: str = LINK, dedupe_key: str = "dedupe-1") -> Opening:
    payload = {"term": "12025", "campus": "NB", "index": "12345", "courseTitle": title, "link": link}
    item = OpenItem("12345", 1, payload, 7, "12025", "NB", "12345")
    at = datetime(2026, 1, 5, 11, 59, 30, tzinfo=UTC)
    return Opening(
        41, dedupe_key, "trace-1", "soc", "12025|NB", at, "open_sections", "Closed", "Open", "America/New_York", (item,)
    )


def person(contact: str, **more: Any) -> Person:
    return Person(9, contact, **({"locale": "en-US", "manage_url": MANAGE} | more))


def alert(contact: str, told: Opening | None = None, *, key: str = "key-1", **more: Any) -> Parcel:
    return Parcel(1, Kind.ALERT, key, "trace-1", 1, person(contact, **more), told or opening())


def verification(contact: str, verify_url: str = VERIFY) -> Parcel:
    return Parcel(3, Kind.VERIFICATION, "key-3", "trace-3", 1, person(contact, verify_url=verify_url))


def notice(contact: str, number: int = 9) -> Parcel:
    whom = Person(number, contact, "en-US", manage_url=MANAGE if number else "")
    return Parcel(2, Kind.NOTICE, "key-2", "trace-2", 1, whom, notice=Notice("ended", {"title": "Data Structures"}))
