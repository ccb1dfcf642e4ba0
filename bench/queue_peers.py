"""The queues that others use, each with a task that does nothing, as fast as it goes: how many jobs a second.

They come with the extra `bench`, and are left out of the table where that is not installed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.common import Stopwatch
from bench.scene import SQLITE, plain_dsn

_TURNS: Final = 3
_BATCHES: Final = (20, 100, 500)


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    rate: float
    bar: float


def rates(kind: str, folder: Path, url: str) -> list[Peer]:
    return list(_of_sqlite(folder) if kind == SQLITE else _of_postgres(plain_dsn(url)))


def _of_sqlite(folder: Path) -> Iterator[Peer]:
    if _is_here("huey"):
        yield Peer("huey with fsync", _typical(lambda turn: _huey(folder / f"huey{turn}.db", 3000)), 3.0)


def _of_postgres(dsn: str) -> Iterator[Peer]:
    if _is_here("pgqueuer") and _is_here("asyncpg"):
        rates = [_typical(lambda _: asyncio.run(_pgqueuer(dsn, 5000, batch))) for batch in _BATCHES]  # noqa: B023
        yield Peer("pgqueuer's best batch", max(rates), 1.0)
    if _is_here("procrastinate"):
        rates = [_typical(lambda _: asyncio.run(_procrastinate(dsn, 500, at_once))) for at_once in (1, 20)]  # noqa: B023
        yield Peer("procrastinate", max(rates), 15.0)


def _is_here(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _typical(rate: Callable[[int], float]) -> float:
    return median(rate(turn) for turn in range(_TURNS))


def _huey(path: Path, jobs: int) -> float:
    logging.getLogger("huey").setLevel(logging.ERROR)
    queue: Any = import_module("huey").SqliteHuey("bench", filename=str(path), fsync=True)
    seen: list[int] = []
    queued = queue.task()(seen.append)
    for number in range(jobs):
        queued(number)
    with Stopwatch() as watch:
        while (task := queue.dequeue()) is not None:
            queue.execute(task)
    assert len(seen) == jobs
    return jobs / watch.cost.wall


async def _pgqueuer(dsn: str, jobs: int, batch: int) -> float:
    package, types = import_module("pgqueuer"), import_module("pgqueuer.types")
    connection = await import_module("asyncpg").connect(dsn)
    queries = package.Queries(package.AsyncpgDriver(connection))
    await queries.install()
    await queries.enqueue(["bench"] * jobs, [None] * jobs, [0] * jobs)
    manager = package.QueueManager(queries)
    seen = 0

    async def take(_job: Any) -> None:
        nonlocal seen
        seen += 1

    manager.entrypoint("bench")(take)
    with Stopwatch() as watch:
        await manager.run(batch_size=batch, mode=types.QueueExecutionMode.drain, dequeue_timeout=timedelta(seconds=0.1))
    assert seen == jobs
    left = await import_module("asyncpg").connect(dsn)
    await package.Queries(package.AsyncpgDriver(left)).uninstall()
    await left.close()
    return jobs / watch.cost.wall


async def _procrastinate(dsn: str, jobs: int, at_once: int) -> float:
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    package = import_module("procrastinate")
    app = package.App(connector=package.PsycopgConnector(conninfo=dsn))
    seen = 0

    async def take() -> None:
        nonlocal seen
        seen += 1

    task = app.task(name="bench")(take)
    async with app.open_async():
        if not await app.check_connection_async():
            await app.schema_manager.apply_schema_async()
        await task.batch_defer_async(*({} for _ in range(jobs)))
        with Stopwatch() as watch:
            await app.run_worker_async(wait=False, concurrency=at_once, install_signal_handlers=False)
    assert seen == jobs
    return jobs / watch.cost.wall
