"""One whole poll whose body has not changed: claim, ask over HTTP, settle. The processor's time, not the wall's.

The poller's own steps are called for one target after another: `_start_due`, which claims and starts a worker, then the
worker's end. Only time is ours: a clock that does not sleep takes out the 250 ms that a worker rests after a request.
The looks that `run` takes every 5 s when nothing is due are no part of a poll, and are not in it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Final

import aiohttp

from bench.common import Cost, Row, Stopwatch, child, copy_database, quiet_folder, typical
from bench.world import AT_ONCE_S, TERM, new_store, soc
from vacancy.clock import Dice, SystemClock
from vacancy.metrics import Metrics
from vacancy.pipeline.poll import Polled, Poller
from vacancy.pipeline.settle import Came
from vacancy.store.engine import Store

MEMBERS: Final = 11_250  # of eight bytes each: 90 KB
_POLLS: Final = 300
_WARM_UP: Final = 20


class Restless(SystemClock):
    async def sleep(self, seconds: float) -> None:  # noqa: ARG002
        await asyncio.sleep(0)


class OnePoller(Poller):
    """The poller, one poll at a time."""

    async def one(self) -> Polled:
        await self._start_due("soc")
        (ended,) = await self._first_to_end()
        return ended.result()


class Bare:
    """A GET, and the two updates that claim a target and settle it, each its own durable transaction."""

    def __init__(self, session: aiohttp.ClientSession, url: str, path: Path) -> None:
        self._session = session
        self._url = url
        self._db = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            self._db.execute(f"PRAGMA {pragma}")
        self._before = b""

    async def one(self) -> None:
        self._db.execute(
            "UPDATE targets SET lease_owner = ?, lease_until = ?, last_attempt_at = ? WHERE target_id = 1",
            ("bench#1", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"),
        )
        async with self._session.get(self._url) as response:
            body = await response.read()
        same, self._before = body == self._before, body
        self._db.execute(
            "UPDATE targets SET last_complete_at = ?, next_poll_at = ?, polls = polls + ?, lease_owner = NULL, "
            "lease_until = NULL WHERE target_id = 1",
            ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z", same),
        )

    def close(self) -> None:
        self._db.close()


def run() -> list[Row]:
    with quiet_folder("unchanged") as folder, child("-m", "bench.peer", "body", str(MEMBERS)) as upstream:
        path = folder / "ours.db"
        store = new_store(path)
        store.close()
        copy_database(path, folder / "bare.db")
        store = new_store(path)
        ours, bare = asyncio.run(_measure(store, folder / "bare.db", upstream.line()))
        store.close()
    one, other = typical(ours), typical(bare)
    return [
        Row("poll_unchanged, CPU", one.cpu * 1e3, "ms", other.cpu * 1e3, at_most=2.0),
        Row("poll_unchanged, wall", one.wall * 1e3, "ms", other.wall * 1e3),
    ]


async def _measure(store: Store, bare_path: Path, base_url: str) -> tuple[list[Cost], list[Cost]]:
    source, client = soc(base_url)
    poller = OnePoller(store, [source], [], Restless(), Dice(1), Metrics())
    await poller.configure()
    _give_the_bare_one_a_target(store, bare_path)
    ours, bare = [], []
    async with aiohttp.ClientSession() as session:
        reference = Bare(session, f"{base_url}/openSections.json?year=2025&term=1&campus=NB", bare_path)
        for turn in range(_POLLS + _WARM_UP):
            await asyncio.sleep(2 * AT_ONCE_S)  # until the target is due, outside of what is measured
            with Stopwatch() as watch:
                polled = await poller.one()
            with Stopwatch() as least:
                await reference.one()
            if turn >= _WARM_UP:
                assert polled.came is Came.UNCHANGED, polled
                ours.append(watch.cost)
                bare.append(least.cost)
        reference.close()
    await client.close()
    return ours, bare


def _give_the_bare_one_a_target(store: Store, bare_path: Path) -> None:
    assert store.path is not None
    with sqlite3.connect(store.path) as db:
        (created,) = db.execute("SELECT created_at FROM targets").fetchone()
    db.close()
    other = sqlite3.connect(bare_path, isolation_level=None)
    other.execute(
        "INSERT INTO targets (source, key, budget, question_hash, next_poll_at, scheduled_at, created_at) "
        "VALUES ('soc', ?, 'soc', '', ?, ?, ?)",
        (f"{TERM}|NB", created, created, created),
    )
    other.close()
