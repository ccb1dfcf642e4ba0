"""The bot's cycle: 1,000 users with ten events each, and with none, beside the bare requests that it takes.

Telegram's limits are lifted: with them the first would take six minutes, whoever counts.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import aiohttp
import msgspec
from pydantic import SecretStr

from bench.common import Cost, Row, Stopwatch, child, quiet_folder, typical
from vacancy.app import spare_the_collector
from vacancy.bot.pace import Pace
from vacancy.bot.run import House
from vacancy.clock import Dice, SystemClock
from vacancy.model.bot import Move
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_bot import BotSettings
from vacancy.settings_sections import TelegramSettings
from vacancy.simulator.telegram import TOKEN
from vacancy.store import bot_chats, migrate
from vacancy.store.engine import Store, Tx

USERS: Final = 1_000
EACH: Final = 10
_IN_FLIGHT: Final = 32
_TURNS: Final = 3
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_SAID: Final = b'{"ok":true,"result":{"message_id":1,"date":1767614400,"chat":{"id":1,"type":"private"},"text":"x"}}'


def run() -> list[Row]:
    with quiet_folder("bot") as folder, child("-m", "bench.bot_cycle") as world:
        return asyncio.run(_run(folder, world.line()))


async def _run(folder: Path, origin: str) -> list[Row]:
    clock = SystemClock()
    store = Store(f"sqlite:///{folder}/bot.db", clock)
    migrate.upgrade(store)
    store.write_now(_bind_all)
    client = Client(clock, user_agent="vacancy/bench")
    pace = Pace(clock, per_second=0, chat_gap_s=0)
    house = House(_settings(origin), store, client, clock, Dice(1), pace)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        bare = _Bare(session, origin)
        full = await _beside(bare, lambda: _cycle(house), EACH)
        idle = await _beside(bare, lambda: _cycle(house), 0)
    ends = {seat.cursor for seat in store.read_now(bot_chats.seats)}
    assert ends == {(_TURNS + 1) * EACH}, ends
    await client.close()
    store.close()
    return [*_rows("bot_cycle, ten events each", full), *_rows("bot_cycle, nothing new", idle)]


def _rows(name: str, measured: _Measured) -> list[Row]:
    ours, least = typical(measured.ours), typical(measured.bare)
    return [
        Row(f"{name}, wall", ours.wall, "s", least.wall),
        Row(f"{name}, CPU", ours.cpu, "s", least.cpu),
        Row(f"{name}, requests", measured.requests, "", measured.least_requests),
    ]


class _Measured:
    def __init__(self) -> None:
        self.ours: list[Cost] = []
        self.bare: list[Cost] = []
        self.requests = 0
        self.least_requests = 0


async def _beside(bare: _Bare, cycle: Callable[[], Awaitable[None]], events: int) -> _Measured:
    """The first turn is thrown away."""
    measured = _Measured()
    for turn in range(_TURNS + bool(events)):
        await bare.happen(events)
        if turn == 1:
            spare_the_collector()
        with Stopwatch() as ours:
            await cycle()
        measured.requests = await bare.count()
        with Stopwatch() as least:
            await bare.cycle(events)
        measured.least_requests = await bare.count()
        if turn or not events:
            measured.ours.append(ours.cost)
            measured.bare.append(least.cost)
    return measured


async def _cycle(house: House) -> None:
    await house.poller.begin_cycle()
    await house.poller.idle()


class _Bare:
    """The same questions and the same messages, from ready bytes; nothing is read, nothing is kept."""

    def __init__(self, session: aiohttp.ClientSession, origin: str) -> None:
        self._session = session
        self._origin = origin
        self._send = f"{origin}/bot{TOKEN}/sendMessage"
        self._end = 0

    async def happen(self, count: int) -> None:
        self._end += count
        async with self._session.get(f"{self._origin}/end?{self._end}") as answer:
            await answer.read()

    async def count(self) -> int:
        async with self._session.get(f"{self._origin}/count") as answer:
            return int(await answer.text())

    async def cycle(self, events: int) -> None:
        text = "<b>Approved · task #17</b>\nPaint the fence\nStatus: done\nComment: well done\n2026-01-05 12:00 UTC"
        form = {"chat_id": 1, "text": text, "parse_mode": "HTML", "link_preview_options": '{"is_disabled":true}'}
        body = urlencode(form).encode()
        waiting = iter(range(1, USERS + 1))
        await asyncio.gather(*(self._work(waiting, body, events) for _ in range(_IN_FLIGHT)))

    async def _work(self, users: Iterable[int], body: bytes, events: int) -> None:
        for user in users:
            url = f"{self._origin}/tasks/me/events?after_id={self._end - events}&limit=200"
            async with self._session.get(url, headers={"X-User-Id": str(user)}) as answer:
                await answer.read()
            for _ in range(events):
                async with self._session.post(self._send, data=body, headers=_FORM) as said:
                    await said.read()


def _bind_all(tx: Tx) -> None:
    for user in range(1, USERS + 1):
        seat = bot_chats.bind(tx, user, user, "Somebody", "en-US")
        bot_chats.advance(tx, [Move(seat, 0, 0, is_read_up=True)])


def _settings(origin: str) -> Settings:
    return Settings(
        telegram=TelegramSettings(token=SecretStr(TOKEN), api_base=origin), bot=BotSettings(backend_url=origin)
    )


class _World:
    """A backend and a Telegram that answer at once, from ready bytes."""

    def __init__(self) -> None:
        self._end = 0
        self._count = 0
        self._pages: dict[int, bytes] = {}

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                if length:
                    await reader.readexactly(int(length))
                body = self._answer(head.split(b" ", 2)[1])
                writer.write(_HEAD % len(body) + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, path: bytes) -> bytes:
        if path.startswith(b"/end?"):
            self._end, self._count = int(path[5:]), 0
            return b""
        if path == b"/count":
            counted, self._count = self._count, 0
            return str(counted).encode()
        self._count += 1
        if path.startswith(b"/bot"):
            return _SAID
        return self._page(int(path.partition(b"after_id=")[2].partition(b"&")[0] or 0))

    def _page(self, after: int) -> bytes:
        if after not in self._pages:
            self._pages[after] = msgspec.json.encode([_event(number) for number in range(after + 1, self._end + 1)])
        page = self._pages[after]
        return page if self._end > after else b"[]"


def _event(number: int) -> dict[str, Any]:
    payload = {"task_title": "Paint the fence", "current_comment": "well done", "status_to": "DONE"}
    return {
        "event_id": number, "task_id": 17, "event_type": "APPROVED", "actor_user_id": 3, "actor_role_id": 1,
        "created_at": "2026-01-05T12:00:00+00:00", "payload": payload,
    }  # fmt: skip


async def _serve() -> None:
    server = await asyncio.start_server(_World().connected, "127.0.0.1", 0)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
