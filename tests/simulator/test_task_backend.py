"""The simulated backend keeps the contract that the bot is tested against."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from vacancy.simulator.task_backend import TOKEN, TaskBackend

Get = Callable[[str], Awaitable[tuple[int, Any]]]


def ask(story: Callable[[TaskBackend, Get], Awaitable[None]], **headers: str) -> None:
    async def main() -> None:
        backend = TaskBackend()
        await backend.start()
        given = {"X-User-Id": "1", "Authorization": f"Bearer {TOKEN}", **headers}
        async with aiohttp.ClientSession(backend.origin, headers=given) as session:

            async def get(path: str) -> tuple[int, Any]:
                async with session.get(path) as answer:
                    return answer.status, await answer.json()

            try:
                await story(backend, get)
            finally:
                await backend.stop()

    asyncio.run(main())


def test_the_feed_is_ascending_exclusive_and_limited() -> None:
    async def story(backend: TaskBackend, get: Get) -> None:
        backend.person(2)
        numbers = backend.history(1, 70)
        backend.happens(2)
        status, page = await get("/tasks/me/events")
        assert (status, [event["event_id"] for event in page]) == (200, numbers[:50])
        status, page = await get(f"/tasks/me/events?after_id={numbers[49]}&limit=200")
        assert [event["event_id"] for event in page] == numbers[50:]
        assert set(page[0]) == {
            "event_id", "task_id", "event_type", "actor_user_id", "actor_role_id", "created_at", "payload"
        }  # fmt: skip
        for wrong in ("limit=0", "limit=201", "after_id=-1", "since=3"):
            assert (await get(f"/tasks/me/events?{wrong}"))[0] == 422

    ask(story)


def test_who_is_not_known_or_not_proven_gets_nothing() -> None:
    async def story(_: TaskBackend, get: Get) -> None:
        assert (await get("/tasks/me/events"))[0] == 401

    ask(story)
    ask(story, Authorization="Bearer another")
