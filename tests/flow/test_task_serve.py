"""Tasks in a process of its own, as `vacancy serve` starts it: what it says at the start, and what never gets lost."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.houses import SERVE, Person, house
from tests.support.people import ADA, PAT, PORTERS, hire
from vacancy.clock import SystemClock
from vacancy.store import migrate
from vacancy.store.engine import Store

TOKEN = "a-token-of-the-service-long-and-random"
WEB = (*SERVE, "--only", "web")
STARTS = "tasks are served to this machine alone"


@pytest.fixture
def url(tmp_path: Path) -> str:
    store = Store(f"sqlite:///{tmp_path}/vacancy.db", SystemClock())
    migrate.upgrade(store)
    store.write_now(hire)
    store.close()
    return store.url


def environment(url: str, **more: str) -> Mapping[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("VACANCY_")}
    return {
        **own, "VACANCY_DATABASE_URL": url, "VACANCY_SECRET_KEY": "a key for tests", "VACANCY_LOG_FORMAT": "json",
        "VACANCY_WEB__PORT": "0", **more,
    }  # fmt: skip


async def whole_way(person: Person, **headers: str) -> str:
    """The answer is a code for the bot, to look for in the log."""

    def by(who: int) -> dict[str, str]:
        return {"X-User-Id": str(who), **headers}

    made = await person.ask("POST", "/tasks", json={"title": "x", "executor_role_id": PORTERS}, headers=by(ADA))
    report = f"/tasks/{made['task_id']}/actions/report"
    await person.ask("POST", report, json={"report_link": "https://example.com"}, headers=by(PAT))
    (event,) = await person.ask("GET", "/tasks/me/events", headers=by(ADA))
    assert event["payload"]["status_to"] == "WAITING_APPROVAL"
    return str((await person.ask("POST", "/tasks/me/telegram-code", headers=by(ADA)))["code"])


def test_without_a_token_the_start_says_so_once(url: str) -> None:
    async def play() -> None:
        async with house(environment(url), url, WEB) as person:
            await whole_way(person)
            proxied = await person.try_to(
                "GET", "/tasks/me", headers={"X-User-Id": str(ADA), "X-Forwarded-For": "203.0.113.9"}
            )
            assert proxied[0] == 401
            assert len(person.log(STARTS)) == 1

    asyncio.run(play())


def test_with_a_token_nothing_is_said_and_nothing_of_it_is_in_the_log(url: str) -> None:
    async def play() -> None:
        with_token = environment(url, VACANCY_TASKS__SERVICE_TOKEN=TOKEN, VACANCY_LOG_LEVEL="debug")
        async with house(with_token, url, WEB) as person:
            code = await whole_way(person, Authorization=f"Bearer {TOKEN}")
            assert (await person.try_to("GET", "/tasks/me", headers={"X-User-Id": str(ADA)}))[0] == 401
            said = "\n".join(person.said)
        assert STARTS not in said
        assert TOKEN not in said
        assert code not in said

    asyncio.run(play())
