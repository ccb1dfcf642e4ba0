"""Bots killed between a message and its cursor: one repeat for a kill at most, none lost, none to the wrong chat."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.bot_rooms import ADA, EVE, EVES_CHAT, HER_CHAT, HER_OTHER_CHAT, Room, open_room
from tests.support.chat_rooms import until
from tests.support.clock import ManualClock
from vacancy.simulator import telegram
from vacancy.simulator.task_backend import TOKEN
from vacancy.store import bot_chats
from vacancy.store.engine import Store

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0


class Nursery:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, room: Room, url: str, after: int = 0) -> int:
        """A bot that dies before it writes down the message of that number; its number."""
        environment = {
            "VACANCY_BOT__DATABASE_URL": url,
            "VACANCY_BOT__BACKEND_URL": room.backend.origin,
            "VACANCY_BOT__SERVICE_TOKEN": TOKEN,
            "VACANCY_BOT__INTERVAL_S": "1",
            "VACANCY_TELEGRAM__TOKEN": telegram.TOKEN,
            "VACANCY_TELEGRAM__API_BASE": room.fake.origin,
        }
        return self._ask({"environment": environment, "after": after})

    async def end(self, number: int) -> int:
        try:
            return await asyncio.wait_for(asyncio.to_thread(self._ask, {"wait": number}), PATIENCE_S)
        except BaseException:
            os.kill(number, signal.SIGKILL)  # or the thread would wait for ever
            raise

    def _ask(self, what: Any) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(what), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, "the nursery is gone"
        return int(answer)


@pytest.fixture(scope="module")
def bots() -> Iterator[Nursery]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("VACANCY_")}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.flow.bot_victim"],
        env=own | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}, cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        yield Nursery(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0


def play(store: Store, story: Callable[[Room], Awaitable[None]]) -> None:
    async def main() -> None:
        async with open_room(store, ManualClock()) as room:
            await asyncio.wait_for(story(room), 120)

    asyncio.run(main())


def repeats_in(told: Sequence[int]) -> int:
    """How often the same one came again, each right behind itself: never an older one."""
    assert all(later >= earlier for earlier, later in pairwise(told))
    return len(told) - len(set(told))


def test_a_backlog_of_five_pages_through_kills_and_faults(store: Store, bots: Nursery) -> None:
    chance = random.Random(11)

    async def story(room: Room) -> None:
        for chat, user in ((HER_CHAT, ADA), (EVES_CHAT, EVE)):
            room.sits(chat, user)
        hers, eves = room.happen(820, ADA), room.happen(100, EVE)
        hers += room.happen(100, ADA)
        room.sits(HER_OTHER_CHAT, ADA, cursor=hers[820])
        for kill in range(4):
            if kill % 2:
                room.backend.fault(path="/tasks/me/events?after", status=503)
                room.fake.refuse(429, "Too Many Requests: retry after 1", "sendMessage", retry_after=1)
            assert await bots.end(bots.start(room, store.url, after=chance.randrange(1, 300))) == -signal.SIGKILL
        last = bots.start(room, store.url)
        chats = {HER_CHAT: hers, HER_OTHER_CHAT: hers[821:], EVES_CHAT: eves}
        await until(lambda: all(room.told(chat)[-1:] == made[-1:] for chat, made in chats.items()))
        os.kill(last, signal.SIGTERM)
        assert await bots.end(last) == 0
        for chat, made in chats.items():
            assert sorted(set(room.told(chat))) == made
            assert room.seat(chat).cursor == made[-1]
        assert sum(repeats_in(room.told(chat)) for chat in chats) <= 4 * len(chats)
        assert all(repeats_in(room.told(chat)) <= 4 for chat in chats)

    play(store, story)


def test_one_repeat_for_a_kill(sqlite_store: Store, bots: Nursery) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        made = room.happen(5, ADA)
        assert await bots.end(bots.start(room, sqlite_store.url, after=3)) == -signal.SIGKILL
        assert room.told(HER_CHAT) == made[:3]
        last = bots.start(room, sqlite_store.url)
        await until(lambda: room.told(HER_CHAT)[-1:] == made[-1:])
        os.kill(last, signal.SIGTERM)
        assert await bots.end(last) == 0
        assert room.told(HER_CHAT) == [*made[:3], *made[2:]]

    play(sqlite_store, story)


def test_a_kill_while_a_new_chat_reads_up_pushes_no_history(sqlite_store: Store, bots: Nursery) -> None:
    async def story(room: Room) -> None:
        room.happen(650, ADA)
        room.fake.join(HER_CHAT)
        room.store.write_now(bot_chats.bind, HER_CHAT, ADA, "", "en-US")
        assert await bots.end(bots.start(room, sqlite_store.url, after=3)) == -signal.SIGKILL
        assert room.seat(HER_CHAT).cursor == 400
        last = bots.start(room, sqlite_store.url)
        await until(lambda: not room.seat(HER_CHAT).is_reading_up)
        made = room.happen(1, ADA)
        await until(lambda: room.told(HER_CHAT))
        os.kill(last, signal.SIGTERM)
        assert await bots.end(last) == 0
        assert room.told(HER_CHAT) == made

    play(sqlite_store, story)
