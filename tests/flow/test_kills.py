"""Processes that die at the worst moments, for real, and two that share one database."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.flow.victim import MOMENTS
from vacancy.clock import SystemClock
from vacancy.simulator.server import Simulator
from vacancy.store import bells
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import open_events, targets

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def upstream(campuses: tuple[str, ...] = ("NB",)) -> AsyncIterator[Simulator]:
    simulator = Simulator(SystemClock(), scale=0.02, campuses=campuses)
    await simulator.start()
    try:
        yield simulator
    finally:
        await simulator.stop()


def environment(store: Store, simulator: Simulator, **more: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("VACANCY_")}
    url = store.url
    return own | {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}",
        "VACANCY_DATABASE_URL": url,
        "VACANCY_SOC__BASE_URL": simulator.base_url,
        "VACANCY_SOC__TERMS": "12025",
        **more,
    }


async def run(env: dict[str, str], *arguments: str) -> int:
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, env=env, cwd=ROOT)
    return await asyncio.wait_for(process.wait(), 60)


def openings(tx: Tx) -> list[str]:
    query = select(open_events.c.item_key).where(open_events.c.status_after == "Open")
    return list(tx.execute(query.order_by(open_events.c.open_event_id)).scalars())


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed(store: Store, moment: str) -> None:
    """Whatever was seen and not written is seen again; whatever was written is not written again."""

    async def story() -> None:
        async with upstream() as simulator:
            env = environment(store, simulator)
            world = simulator.world("12025", "NB")
            victim = ("-m", "tests.flow.victim")
            listed, new = list(world.catalogue_indexes[:100]), sorted(world.catalogue_indexes[100:102])
            world.override(listed)
            assert await run(env, *victim) == 0
            assert await run(env, *victim) == 0
            world.override([*listed, *new])
            assert await run(env, *victim, moment) == -signal.SIGKILL
            left = store.read_now(openings)
            assert left == (new if moment == "after_the_commit" else [])
            # The dead process holds its lease no longer: the next one asks at once.
            assert await run(env, *victim) == 0
            assert await run(env, *victim) == 0
            assert store.read_now(openings) == new

    asyncio.run(story())


def test_two_pollers_never_ask_for_one_target_at_once(store: Store) -> None:
    campuses = ("NB", "NK", "CM")

    async def story() -> None:
        async with upstream(campuses) as simulator:
            env = environment(
                store, simulator, VACANCY_SOC__INTERVAL_S="0.3", VACANCY_SOC__CATALOGUE_INTERVAL_S="5",
                VACANCY_LOG_LEVEL="warning", VACANCY_SOC__CAMPUSES=",".join(campuses),
            )  # fmt: skip
            simulator.fault("latency", seconds=0.2)
            serve = ("-m", "vacancy", "serve", "--only", "poll")
            pollers = [await asyncio.create_subprocess_exec(sys.executable, *serve, env=env, cwd=ROOT) for _ in "ab"]
            try:
                await until(store, lambda: store.read_now(fewest_polls) >= 8)
                world = simulator.world("12025", "NB")
                (index, *_) = sorted(set(world.catalogue_indexes) - world.open_indexes)
                world.open(index)
                await until(store, lambda: index in store.read_now(openings))
            finally:
                for poller in pollers:
                    poller.send_signal(signal.SIGTERM)
                codes = [await asyncio.wait_for(poller.wait(), 60) for poller in pollers]
            assert codes == [0, 0]
            assert set(simulator.traffic.most_in_flight_by_target.values()) == {1}
            assert store.read_now(openings) == [index]

    asyncio.run(story())


def fewest_polls(tx: Tx) -> int:
    polls = tx.execute(select(func.min(targets.c.polls)).where(targets.c.source == "soc")).scalar()
    return polls or 0


async def until(store: Store, holds: Callable[[], bool]) -> None:
    """Look again whenever something was committed, by whomever."""
    listening = asyncio.ensure_future(store.listen())
    clock = SystemClock()

    async def look() -> None:
        heard = 0
        while not holds():
            heard = await store.bells[bells.EVENTS].wait(heard, clock, 0.5)

    waiting: Awaitable[None] = look()
    try:
        await asyncio.wait_for(waiting, 60)
    finally:
        listening.cancel()
