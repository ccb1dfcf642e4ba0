"""The bot beside the real house, each a process: a report goes from chat to chat, and a chat waits for a section."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.chat_rooms import until
from tests.support.desks import SECRET
from tests.support.houses import PATIENCE_S, Person, house
from tests.support.people import ADA, PAT, PORTERS, hire
from vacancy.clock import SystemClock
from vacancy.model.subscriptions import Status
from vacancy.simulator.telegram import TOKEN, Telegram
from vacancy.store import migrate
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store

ROOT = Path(__file__).parents[2]
SERVICE_TOKEN = "a-token-of-the-service-long-and-random"
SERVE = ("-m", "vacancy", "serve", "--only", "web,deliver")
ADAS_CHAT, PATS_CHAT = 501, 502


@pytest.fixture
def shared(database_url: str) -> Store:
    store = Store(database_url, SystemClock())
    migrate.upgrade(store)
    store.write_now(hire)
    store.close()
    return store


def environment(fake: Telegram, url: str, folder: Path, **more: str) -> Mapping[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("VACANCY_")}
    return {
        **own,
        "PYTHONPATH": str(ROOT / "src"),
        "VACANCY_DATABASE_URL": url,
        "VACANCY_SECRET_KEY": "a key for tests",
        "VACANCY_WEB__PORT": "0",
        "VACANCY_TELEGRAM__TOKEN": TOKEN,
        "VACANCY_TELEGRAM__API_BASE": fake.origin,
        "VACANCY_TELEGRAM__LISTEN": "false",
        "VACANCY_TASKS__SERVICE_TOKEN": SERVICE_TOKEN,
        "VACANCY_SOC__BASE_URL": "http://127.0.0.1:1",
        "VACANCY_SOC__TERMS": "12025",
        "VACANCY_SOC__CAMPUSES": "NB",
        "VACANCY_BOT__SERVICE_TOKEN": SERVICE_TOKEN,
        "VACANCY_BOT__DATABASE_URL": f"sqlite:///{folder}/bot.db",
        "VACANCY_BOT__HEALTHCHECK_USER_ID": str(ADA),
        "VACANCY_BOT__INTERVAL_S": "1",
        **more,
    }


@asynccontextmanager
async def bot(settings: Mapping[str, str]) -> AsyncIterator[None]:
    """As soon as it looks for events; it must end well when it is asked to."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vacancy", "bot", env=settings, cwd=ROOT, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    said = []
    try:
        async with asyncio.timeout(PATIENCE_S):
            while "looking for events" not in (line := (await process.stderr.readline()).decode()):
                said.append(line)
                assert line, said
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        rest = (await asyncio.wait_for(process.communicate(), PATIENCE_S))[1].decode()
    assert process.returncode == 0, rest
    assert TOKEN not in rest
    assert SERVICE_TOKEN not in rest


class Office:
    """Two people with a chat each, and the house behind them."""

    def __init__(self, fake: Telegram, person: Person) -> None:
        self.fake, self.person = fake, person

    async def ask(self, who: int, method: str, path: str, **options: object) -> dict[str, object]:
        headers = {"X-User-Id": str(who), "Authorization": f"Bearer {SERVICE_TOKEN}"}
        answer: dict[str, object] = await self.person.ask(method, path, headers=headers, **options)
        return answer

    async def bind(self, who: int, chat: int) -> None:
        code = (await self.ask(who, "POST", "/tasks/me/telegram-code"))["code"]
        await self.says(chat, f"/bind {code}", "Bound to")

    async def says(self, chat: int, text: str, reply: str) -> None:
        """Events may come in between."""
        before = self.heard(chat, reply)
        self.fake.write(chat, text)
        await until(lambda: self.heard(chat, reply) > before)

    def texts(self, chat: int) -> list[str]:
        return [message.text for message in self.fake.join(chat).messages]

    async def hears(self, chat: int, pattern: str) -> None:
        await until(lambda: self.heard(chat, pattern))

    def heard(self, chat: int, pattern: str) -> int:
        return sum(re.search(pattern, text) is not None for text in self.texts(chat))


def test_a_report_goes_from_chat_to_chat_and_a_chat_waits_for_a_section(
    shared: Store, database_url: str, tmp_path: Path
) -> None:
    async def play() -> None:
        fake = Telegram()
        await fake.start()
        try:
            async with house(environment(fake, database_url, tmp_path), database_url, SERVE) as person:
                office = Office(fake, person)
                settings = environment(fake, database_url, tmp_path, VACANCY_BOT__BACKEND_URL=person.base)
                async with bot(settings):
                    await the_whole_way(office)
                    await office.says(ADAS_CHAT, "/watch 12345", "12345")
                told = {chat: office.texts(chat) for chat in (ADAS_CHAT, PATS_CHAT)}
                async with bot(settings):
                    await office.says(ADAS_CHAT, "/whoami", "Ada")
                assert {chat: office.texts(chat) for chat in told} == told | {
                    ADAS_CHAT: [*told[ADAS_CHAT], office.texts(ADAS_CHAT)[-1]]
                }
                await asyncio.to_thread(waits_for_it, person.store)
        finally:
            await fake.stop()

    asyncio.run(play())


async def the_whole_way(office: Office) -> None:
    await office.bind(ADA, ADAS_CHAT)
    await office.bind(PAT, PATS_CHAT)
    made = await office.ask(ADA, "POST", "/tasks", json={"title": "Tea <for> two", "executor_role_id": PORTERS})
    number = made["task_id"]
    await office.says(PATS_CHAT, f"/tasks {number} report https://example.com/tea hot", "(?i)waits for approval")
    await office.hears(ADAS_CHAT, r"Report submitted.*\n(.*\n)*.*Tea <for> two")
    await office.says(ADAS_CHAT, f"/tasks {number} approve well done", "well done")
    for chat in (ADAS_CHAT, PATS_CHAT):
        await office.hears(chat, r"^Approved · task #1\nTea <for> two\n")
    await office.says(ADAS_CHAT, f"/tasks {number} approve", "(?i)not in a state")


def waits_for_it(store: Store) -> None:
    found = store.write_now(rows.of_contact, SECRET.hash_contact(str(ADAS_CHAT)), "telegram")
    assert [(row.topic, row.status) for row in found] == [("soc:12025:NB:12345", Status.ACTIVE)]
