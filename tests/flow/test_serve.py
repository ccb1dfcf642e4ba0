"""The whole house in one process, as `vacancy serve` starts it: real loops, real HTTP, the simulated upstream."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import aiohttp
import pytest
from sqlalchemy import select

from tests.simulator.harness import Rig, running
from vacancy.clock import SystemClock
from vacancy.store import outbox
from vacancy.store.engine import Store
from vacancy.store.schema import open_event_notifications

TERM, CAMPUS = "12025", "NB"
_PATIENCE_S = 30.0


def environment(rig: Rig, database_url: str) -> dict[str, str]:
    return {
        **os.environ,
        "VACANCY_DATABASE_URL": database_url,
        "VACANCY_SECRET_KEY": "a key for tests",
        "VACANCY_LOG_FORMAT": "json",
        "VACANCY_LOG_LEVEL": "debug",
        "VACANCY_WEB__PORT": "0",
        "VACANCY_SOC__BASE_URL": rig.simulator.base_url,
        "VACANCY_SOC__TERMS": TERM,
        "VACANCY_SOC__CAMPUSES": CAMPUS,
        "VACANCY_SOC__INTERVAL_S": "0.2",
        "VACANCY_SOC__JITTER": "0",
    }


class Person:
    """Somebody with a browser, and the mails of the house's outbox in view."""

    def __init__(self, base: str, session: aiohttp.ClientSession, store: Store) -> None:
        self._base, self._session, self._store = base, session, store
        self.secrets: list[str] = []  # what must not stand in any log

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        async with self._session.request(method, f"{self._base}{path}", **options) as answer:
            assert answer.status < 300, await answer.text()
            return await answer.json() if "json" in answer.content_type else await answer.text()

    async def until(self, found: Callable[[], Any]) -> Any:
        """As a person reloads a page."""
        async with asyncio.timeout(_PATIENCE_S):
            while not (seen := await asyncio.to_thread(found)):
                await asyncio.get_running_loop().run_in_executor(None, self._store.read_now, outbox.latest, 1)
            return seen

    def mail(self, template: str) -> Any:
        mails = self._store.read_now(outbox.latest, 10)
        return next((kept for kept in mails if kept.mail.template_id == template), None)

    async def fresh(self) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            while [each["state"] for each in (await self.ask("GET", "/api/targets"))["items"]] != ["fresh"]:
                await asyncio.to_thread(self._store.read_now, outbox.latest, 1)


@asynccontextmanager
async def house(rig: Rig, database_url: str) -> AsyncIterator[Person]:
    """`vacancy serve` in a process of its own; it must end well when it is asked to."""
    serving = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vacancy", "serve", env=environment(rig, database_url), stderr=asyncio.subprocess.PIPE
    )
    store = Store(database_url, SystemClock())
    try:
        base = await asyncio.wait_for(_address(serving), _PATIENCE_S)
        async with aiohttp.ClientSession() as session:
            person = Person(base, session, store)
            yield person
    finally:
        store.close()
        serving.terminate()
        _, said = await asyncio.wait_for(serving.communicate(), _PATIENCE_S)
    assert serving.returncode == 0, said.decode()
    assert b"vacancy.pipeline.fanout" in said
    assert [secret for secret in person.secrets if secret.encode() in said] == []


async def _address(serving: asyncio.subprocess.Process) -> str:
    assert serving.stderr is not None
    async for line in serving.stderr:
        if b"listens on" in line:
            return line.decode().rpartition(" ")[2].strip()
    raise AssertionError("it ended before it listened")


def link_in(mail: Any, path: str) -> str:
    found = re.search(rf"http://[^ \n]*({path}\?token=[A-Za-z0-9_.\-]+)", mail.mail.text)
    assert found is not None, mail.mail.text
    return found[1]


@pytest.mark.timeout(120)
def test_subscribe_confirm_a_seat_opens_the_mail_is_there_within_a_second_and_its_link_ends_it(
    database_url: str,
) -> None:
    async def story(person: Person, rig: Rig) -> None:
        await person.fresh()
        world = await rig.control("GET", f"/world?term={TERM}&campus={CAMPUS}")
        index = next(index for index in world["catalogue"] if index not in world["open"])
        wish = {"term": TERM, "campus": CAMPUS, "sectionIndex": index, "contactType": "email",
                "contactValue": "ada@example.com"}  # fmt: skip
        answer = await person.ask("POST", "/api/subscribe", json=wish)
        person.secrets += [wish["contactValue"], answer["manageToken"], answer["unsubscribeToken"]]
        asked = await person.until(lambda: person.mail("verification"))
        link = link_in(asked, "/verify").partition("=")[2]
        person.secrets.append(link)
        await person.ask("POST", "/verify", data={"token": link})
        await rig.control("POST", "/seats", {"term": TERM, "campus": CAMPUS, "open": [index]})
        told = await person.until(lambda: person.mail("open-seat"))
        assert index in told.mail.text
        (event,) = [each for each in (await person.ask("GET", "/api/events"))["items"] if each["itemKey"] == index]
        assert (told.created_at - datetime.fromisoformat(event["eventAt"])).total_seconds() < 1
        await person.ask("POST", link_in(told, "/unsubscribe"), data={"List-Unsubscribe": "One-Click"})
        path = f"/api/subscriptions/{answer['subscriptionId']}"
        left = await person.ask("GET", path, headers={"Authorization": f"Bearer {answer['manageToken']}"})
        assert left["status"] == "unsubscribed"

    async def play() -> None:
        async with (
            running(scale=0.01, terms=[TERM], campuses=[CAMPUS]) as rig,
            house(rig, database_url) as person,
        ):
            await story(person, rig)

    asyncio.run(play())
    store = Store(database_url, SystemClock())
    n = open_event_notifications.c
    rows = store.read_now(lambda tx: tx.execute(select(n.kind, n.fanout_status, n.fanout_attempts)).all())
    store.close()
    assert sorted(rows) == [("alert", "sent", 1), ("verification", "sent", 1)]
