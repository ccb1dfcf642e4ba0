"""One opening to 2,000 webhooks at a local sink, twenty in flight, beside bare aiohttp posts of ready bytes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, TypeVar, cast

import aiohttp

from bench.common import Row, Stopwatch, child, quiet_folder, typical
from vacancy.app import spare_the_collector
from vacancy.channels.base import Kit
from vacancy.channels.webhook import WebhookChannel, build
from vacancy.channels.webhook_body import Bodies
from vacancy.clock import Dice, SystemClock
from vacancy.model.messages import Kind, Opening, OpenItem, Parcel, Person, Sent
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import WebhookSettings
from vacancy.store.engine import Store
from vacancy.subscriptions.contacts import Secret

Item = TypeVar("Item")
PEOPLE: Final = 2_000
_IN_FLIGHT: Final = 20
_TURNS: Final = 7
_TAKEN: Final = b"HTTP/1.1 204 No Content\r\n\r\n"
_SECRET: Final = Secret(b"a key for benchmarks")


def run() -> list[Row]:
    with quiet_folder("webhooks"), child("-m", "bench.webhooks") as sink:
        return asyncio.run(_run(sink.line()))


async def _run(origin: str) -> list[Row]:
    client = Client(SystemClock(), user_agent="vacancy/bench")
    channel = _channel(client)
    parcels = _parcels(origin)
    bodies = Bodies(SystemClock())
    ready = [(parcel.person.contact, bodies.of(parcel)) for parcel in parcels]
    ours, bare = [], []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        for turn in range(_TURNS + 1):
            if turn == 1:
                spare_the_collector()
            with Stopwatch() as mine:
                await _drain(parcels, lambda parcel: _send(channel, parcel))
            with Stopwatch() as least:
                await _drain(ready, lambda each: _post(session, *each))
            if turn:
                ours.append(mine.cost)
                bare.append(least.cost)
    await client.close()
    rate, most = PEOPLE / typical(ours).wall, PEOPLE / typical(bare).wall
    return [Row("webhooks to a local sink", rate, "/s", most, at_least=0.6)]


def _channel(client: Client) -> WebhookChannel:
    settings = Settings(webhook=WebhookSettings(allow_loopback=True))
    return build(Kit(settings, SystemClock(), Dice(1), client, cast("Store", None), _SECRET.derive))


def _parcels(origin: str) -> list[Parcel]:
    """Each to an address of its own, as it would be; all hear of the same opening."""
    payload = {"term": "12025", "campus": "NB", "index": "12345", "courseTitle": "DATA STRUCTURES",
               "courseString": "01:198:112", "sectionNumber": "03", "instructors": ["DOE, JANE"],
               "link": "https://sis.rutgers.edu/soc/#keyword=12345&semester=12025"}  # fmt: skip
    opening = Opening(
        1, "0" * 40, "1" * 32, "soc", "12025|NB", datetime(2026, 1, 5, tzinfo=UTC), "open_sections", "Closed", "Open",
        "America/New_York", (OpenItem("12345", 1, payload, 7, "12025", "NB", "12345"),),
    )  # fmt: skip
    return [
        Parcel(number, Kind.ALERT, f"{'0' * 40}:{number}", "1" * 32, 1, _person(origin, number), opening)
        for number in range(1, PEOPLE + 1)
    ]


def _person(origin: str, number: int) -> Person:
    return Person(
        number, f"{origin}/hooks/{number}", "en-US", "soc:12025:NB:12345",
        contact_hash=_SECRET.hash_contact(str(number)), manage_url=f"http://127.0.0.1:8000/manage/{number}",
        unsubscribe_url=f"http://127.0.0.1:8000/unsubscribe/{number}",
    )  # fmt: skip


async def _drain(items: list[Item], send: Callable[[Item], Awaitable[None]]) -> None:
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await send(item)

    await asyncio.gather(*(work() for _ in range(_IN_FLIGHT)))


async def _send(channel: WebhookChannel, parcel: Parcel) -> None:
    outcome = await channel.send(parcel)
    assert isinstance(outcome, Sent), outcome


async def _post(session: aiohttp.ClientSession, url: str, body: bytes) -> None:
    async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as answer:
        await answer.read()
        assert answer.status == 204


async def _sink() -> None:
    """Takes whatever it is sent, at once: what is measured is the sending."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length))
                writer.write(_TAKEN)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_sink())
