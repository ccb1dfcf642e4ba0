"""Processes that listen to the bot: one at a time, killed at the worst moment, and each with another to take over."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.chat_rooms import ADA, EVE, until
from tests.support.desks import SECRET, make_desk
from tests.support.houses import house
from vacancy.clock import SystemClock
from vacancy.model.subscriptions import Status
from vacancy.simulator.telegram import TOKEN, Telegram
from vacancy.store import migrate
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store
from vacancy.subscriptions import chat_links
from vacancy.subscriptions.chat_links import Plan

ROOT = Path(__file__).parents[2]
TOPIC = "soc:12025:NB:12345"
LISTENING, STANDING_BY = b"listening to the bot", b"standing by"
_PATIENCE_S = 60.0


def environment(fake: Telegram, database_url: str) -> Mapping[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}",
        "VACANCY_DATABASE_URL": database_url,
        "VACANCY_SECRET_KEY": "a key for tests",
        "VACANCY_TELEGRAM__TOKEN": TOKEN,
        "VACANCY_TELEGRAM__API_BASE": fake.origin,
        "VACANCY_SOC__BASE_URL": "http://127.0.0.1:1",
        "VACANCY_SOC__TERMS": "12025",
        "VACANCY_SOC__CAMPUSES": "NB",
    }


async def start(fake: Telegram, database_url: str, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", *words, env=environment(fake, database_url), cwd=ROOT, stderr=asyncio.subprocess.PIPE
    )


@asynccontextmanager
async def deliverer(
    fake: Telegram, database_url: str, says: bytes = LISTENING
) -> AsyncIterator[asyncio.subprocess.Process]:
    """`vacancy serve --only deliver`, as soon as it says so; unless it was killed it must end well."""
    serving = await start(fake, database_url, "vacancy", "serve", "--only", "deliver")
    try:
        await said(serving, says)
        yield serving
    finally:
        if serving.returncode is None:
            serving.terminate()
        _, rest = await asyncio.wait_for(serving.communicate(), _PATIENCE_S)
    assert serving.returncode in (0, -signal.SIGKILL), rest.decode()
    assert TOKEN.encode() not in rest


async def said(process: asyncio.subprocess.Process, words: bytes) -> None:
    assert process.stderr is not None
    async with asyncio.timeout(_PATIENCE_S):
        async for line in process.stderr:
            if words in line:
                return
    raise AssertionError(f"it ended before it said {words.decode()}")


def run(story: Callable[[Telegram], Awaitable[None]]) -> None:
    async def main() -> None:
        fake = Telegram()
        await fake.start()
        try:
            await story(fake)
        finally:
            await fake.stop()

    asyncio.run(main())


@pytest.fixture
def shared(database_url: str) -> Iterator[Store]:
    store = Store(database_url, SystemClock())
    migrate.upgrade(store)
    yield store
    store.close()


def link(store: Store) -> str:
    """As the web hands it out; answers its code."""
    source, topic = make_desk().topic(TOPIC)
    code = chat_links.new_code()
    store.write_now(chat_links.plan, Plan(source, topic), code)
    return f"https://t.me/vacancy_bot?start={code}"


def waiting(store: Store, chat: int) -> list[str]:
    found = store.write_now(rows.of_contact, SECRET.hash_contact(str(chat)), "telegram")
    return [row.status for row in found]


@pytest.mark.parametrize("moment", ["inside_the_transaction", "before_the_reply", "before_the_confirmation"])
def test_killed_between_claim_and_confirmation_it_is_neither_lost_nor_made_twice(
    shared: Store, database_url: str, moment: str
) -> None:
    async def story(fake: Telegram) -> None:
        fake.follow(ADA, link(shared))
        victim = await start(fake, database_url, "tests.flow.chat_victim", moment)
        await asyncio.wait_for(victim.communicate(), _PATIENCE_S)
        assert victim.returncode == -signal.SIGKILL
        assert fake.unconfirmed == 1
        assert len(waiting(shared, ADA)) == (0 if moment == "inside_the_transaction" else 1)
        async with deliverer(fake, database_url):
            await until(lambda: fake.unconfirmed == 0)
        assert waiting(shared, ADA) == [Status.ACTIVE]
        answers = {message.text for message in fake.chats[ADA].messages}
        assert len(answers) == 1
        assert answers.pop().startswith("You hear of it here: section 12345, New Brunswick, Spring 2025.")

    run(story)


def test_a_house_that_does_not_listen_hears_what_another_process_hands_on(shared: Store, database_url: str) -> None:
    async def story(fake: Telegram) -> None:
        not_listening = {"VACANCY_TELEGRAM__LISTEN": "false", "VACANCY_WEB__PORT": "0"}
        serve = ("-m", "vacancy", "serve", "--only", "web,deliver")
        async with house({**environment(fake, database_url), **not_listening}, database_url, serve) as person:
            fake.write(ADA, "/watch 12345")
            (update,) = fake.pending
            await person.ask("POST", "/api/telegram/update", json=update)
            await person.ask("POST", "/api/telegram/update", json=update)
            status, answer = await person.try_to("POST", "/api/telegram/update", json={})
            assert (status, answer["error"]["code"]) == (422, "validation_failed")
        assert waiting(shared, ADA) == [Status.ACTIVE]
        assert [message.text.split(".")[0] for message in fake.chats[ADA].messages] == [
            "You hear of it here: section 12345, New Brunswick, Spring 2025"
        ]
        assert fake.unconfirmed == 1
        assert fake.path("getUpdates") not in [record.path for record in fake.records]

    run(story)


def test_of_two_processes_one_asks_and_the_other_takes_over_when_it_dies(shared: Store, database_url: str) -> None:
    async def story(fake: Telegram) -> None:
        async with deliverer(fake, database_url) as first, deliverer(fake, database_url, STANDING_BY) as second:
            fake.follow(ADA, link(shared))
            for number in range(20):
                fake.write(number + 1, "/start")
            await until(lambda: fake.unconfirmed == 0)
            assert fake.conflicts == 0
            assert {len(chat.messages) for chat in fake.chats.values()} == {1}
            first.kill()
            await first.wait()
            fake.follow(EVE, link(shared))
            await said(second, LISTENING)
            await until(lambda: fake.unconfirmed == 0)
        assert [waiting(shared, chat) for chat in (ADA, EVE)] == [[Status.ACTIVE], [Status.ACTIVE]]
        assert [len(fake.chats[chat].messages) for chat in (ADA, EVE)] == [1, 1]

    run(story)
