"""Resy's source over real HTTP against its simulator, on a clock that lets nobody wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

from tests.support.clock import START
from vacancy.clock import SystemClock
from vacancy.model.availability import Claim, Complete, Partial, PollOutcome
from vacancy.net.client import Client
from vacancy.settings_sections import ResySettings
from vacancy.simulator.resy import Resy as Upstream
from vacancy.simulator.server import Simulator
from vacancy.sources.resy import Resy
from vacancy.sources.resy_search import ResySearch

T = TypeVar("T")
DAY: Final = "2026-01-07"
KEY: Final = f"{DAY}_20:30"
TOKEN: Final = "token-of-a-test"


class Hasty(SystemClock):
    """Measures real time, says that it is another day, and notes the gaps that it does not wait for."""

    def __init__(self, today: datetime = START) -> None:
        self.today = today
        self.gaps: list[float] = []

    def now(self) -> datetime:
        return self.today

    async def sleep(self, seconds: float) -> None:
        self.gaps.append(seconds)
        await asyncio.sleep(0)


@dataclass
class Desk:
    """`ask` is one poll of the bucket."""

    simulator: Simulator
    source: Resy
    clock: Hasty
    marks: list[bytes | None] = field(default_factory=list)

    @property
    def upstream(self) -> Upstream:
        return self.simulator.resy

    async def ask(self, key: str = KEY, last_mark: bytes | None = None, *, slowed: bool = False) -> PollOutcome:
        return await self.source.ask(claim(key, slowed=slowed), last_mark)

    async def whole(self, key: str = KEY) -> Complete:
        answer = await self.ask(key)
        assert isinstance(answer, Complete), answer
        return answer

    async def part(self, key: str = KEY) -> Partial:
        answer = await self.ask(key)
        assert isinstance(answer, Partial), answer
        return answer


def claim(key: str = KEY, *, slowed: bool = False) -> Claim:
    return Claim(1, "resy", key, 0, 0, "test", "test", False, (), None, 0, None, slowed)


def asking(story: Callable[[Desk], Awaitable[T]], **given: Any) -> T:
    async def run() -> T:
        clock = Hasty()
        simulator = Simulator(SystemClock(), scale=0.02)
        client = Client(clock, user_agent="vacancy-tests")
        await simulator.start()
        try:
            settings = ResySettings(**{
                "enabled": True, "base_url": simulator.resy_url, "api_key": "key-of-a-test", "auth_token": TOKEN,
                "per_page": 10, "fetch_timeout_s": 20, **given,
            })  # fmt: skip
            source = Resy(settings, ResySearch(settings, client, clock), clock)
            return await story(Desk(simulator, source, clock))
        finally:
            await client.close()
            await simulator.stop()

    return asyncio.run(run())
