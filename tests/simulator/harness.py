"""A running simulator and a client for it, inside one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from vacancy.clock import Clock, SystemClock
from vacancy.simulator.server import Simulator

NB = {"year": "2025", "term": "1", "campus": "NB"}


@dataclass
class Rig:
    simulator: Simulator
    session: aiohttp.ClientSession

    def ask(self, endpoint: str = "openSections", **changes: str) -> Any:
        """A request context, so that a test can look at headers and at half a body."""
        return self.session.get(
            f"{self.simulator.base_url}/{endpoint}.json", params=NB | changes, allow_redirects=False
        )

    async def json(self, endpoint: str = "openSections", **changes: str) -> Any:
        async with self.ask(endpoint, **changes) as response:
            assert response.status == 200
            return await response.json()

    async def body(self, endpoint: str = "openSections") -> bytes:
        async with self.ask(endpoint) as response:
            content: bytes = await response.read()
            return content

    async def control(self, method: str, path: str = "", body: object = None, status: int = 200) -> Any:
        url = f"{self.simulator.control_url}{path}"
        async with self.session.request(method, url, json=body) as response:
            assert response.status == status, await response.text()
            return await response.json()


@asynccontextmanager
async def running(clock: Clock | None = None, **options: Any) -> AsyncIterator[Rig]:
    simulator = Simulator(clock or SystemClock(), **({"scale": 0.02} | options))
    await simulator.start()
    try:
        async with aiohttp.ClientSession() as session:
            yield Rig(simulator, session)
    finally:
        await simulator.stop()


def with_rig(scenario: Callable[[Rig], Awaitable[None]], clock: Clock | None = None, **options: Any) -> None:
    async def play() -> None:
        async with running(clock, **options) as rig:
            await asyncio.wait_for(scenario(rig), 10)

    asyncio.run(play())


async def until(reached: Callable[[], bool]) -> None:
    """Let the loop turn until both ends of the socket have got that far."""
    for _ in range(100_000):
        if reached():
            return
        await asyncio.sleep(0)
    raise AssertionError("never got that far")
