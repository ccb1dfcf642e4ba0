"""From an event's commit to its notification in a worker's hand: fanned out, judged, locked, handed to its channel.

In one process a bell wakes the next step. Between two it is LISTEN/NOTIFY, and the reference is a bare listener that
does the same steps by hand: it hears, queues the row and commits, takes the row and commits. Whoever emits notes the
moment right before its commit, and whoever has the message in hand the moment after; both by the machine's one clock.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from statistics import quantiles
from typing import Final

import psycopg

from bench.common import Child, Row, child, quiet_folder
from bench.scene import OPENED, POSTGRES, SQLITE, AtOnce, Scene, opened, plain_dsn
from vacancy import logs
from vacancy.app import spare_the_collector
from vacancy.channels.base import Channel
from vacancy.clock import Dice, SystemClock
from vacancy.metrics import Metrics
from vacancy.model.messages import Outcome, Parcel
from vacancy.pipeline.fanout import FanOut
from vacancy.pipeline.settle import Settled, settle_answer
from vacancy.runner import Stop
from vacancy.store.engine import Store, Tx

_TURNS: Final = 300
_WARM: Final = 20
_REST_S: Final = 0.005
_BARE: Final = """
    CREATE TABLE bare_events (id bigserial PRIMARY KEY, topic text NOT NULL, fanned_out boolean DEFAULT false);
    CREATE TABLE bare_people (id bigserial PRIMARY KEY, topic text NOT NULL, contact text NOT NULL);
    CREATE INDEX ON bare_people (topic, id);
    CREATE TABLE bare_queue (
        id bigserial PRIMARY KEY, event bigint NOT NULL, who bigint NOT NULL, state text NOT NULL DEFAULT 'pending',
        locked_by text, UNIQUE (event, who)
    );
    CREATE INDEX ON bare_queue (id) WHERE state = 'pending';
    INSERT INTO bare_people (topic, contact) VALUES ('seven', 'ada@example.com');
"""
_QUEUE: Final = """
    WITH fresh AS (UPDATE bare_events SET fanned_out = true WHERE NOT fanned_out RETURNING id, topic)
    INSERT INTO bare_queue (event, who)
    SELECT fresh.id, bare_people.id FROM fresh JOIN bare_people ON bare_people.topic = fresh.topic
"""
_TAKE: Final = """
    UPDATE bare_queue SET locked_by = 'me', state = 'locked' WHERE id IN (
        SELECT id FROM bare_queue WHERE state = 'pending' ORDER BY id LIMIT 20 FOR UPDATE SKIP LOCKED
    ) RETURNING who
"""


def run() -> list[Row]:
    rows = []
    for kind in (SQLITE, POSTGRES):
        with quiet_folder("wake") as folder, opened(kind, folder) as store:
            scene = _scene(store)
            spare_the_collector()
            half, most = _spread(asyncio.run(_in_one_process(scene)))
            rows += [
                Row(f"wake, {kind}, one process, p50", half, "ms", at_most=2.0),
                Row(f"wake, {kind}, one process, p99", most, "ms", at_most=5.0),
            ]
            if kind == POSTGRES:
                rows += _between_processes(scene)
    return rows


def _scene(store: Store) -> Scene:
    scene = Scene(store)
    scene.invite(1)
    return scene


def _spread(seconds: list[float]) -> tuple[float, float]:
    """In milliseconds: the median, and what one in a hundred is above."""
    cuts = quantiles(seconds[_WARM:], n=100)
    return cuts[49] * 1000, cuts[98] * 1000


class _Hand(AtOnce):
    def __init__(self, told: Callable[[float], None]) -> None:
        self._told = told

    async def send(self, parcel: Parcel) -> Outcome:
        self._told(time.perf_counter())
        return await super().send(parcel)


@asynccontextmanager
async def working(scene: Scene, channel: Channel) -> AsyncIterator[None]:
    """Fan-out, a courier and the ear for other processes, as `serve` has them."""
    stop = Stop(scene.store.clock)
    loops = [
        asyncio.create_task(FanOut(scene.store, scene.store.clock, Metrics()).run(stop)),
        asyncio.create_task(scene.courier(channel).run(stop)),
    ]
    listening = asyncio.create_task(scene.store.listen())
    try:
        yield
    finally:
        stop.request()
        await asyncio.gather(*loops)
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _in_one_process(scene: Scene) -> list[float]:
    heard: asyncio.Queue[float] = asyncio.Queue()
    async with working(scene, _Hand(heard.put_nowait)):
        return await _turns(scene, heard.get)


async def _turns(scene: Scene, hear: Callable[[], Awaitable[float]]) -> list[float]:
    took = []
    for _ in range(_TURNS + _WARM):
        committed = await _emit(scene)
        took.append(await asyncio.wait_for(hear(), 10) - committed)
        await asyncio.sleep(_REST_S)
        await asyncio.to_thread(scene.close)
        await asyncio.sleep(_REST_S)
    return took


async def _emit(scene: Scene) -> float:
    """The moment at which there was nothing left to do but to commit."""
    hand = scene.hand
    claim = hand.claim()
    assert claim is not None
    state, hand.state = hand.state, None

    def settle(tx: Tx) -> tuple[Settled, float]:
        return settle_answer(tx, claim, scene.source, OPENED, state, Dice(1)), time.perf_counter()

    settled, at = await scene.store.write(settle)
    hand.state = settled.state
    return at


def _between_processes(scene: Scene) -> list[Row]:
    url, dsn = scene.store.url, plain_dsn(scene.store.url)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(_BARE)
    with child("-m", "bench.wake", "ours", url) as worker, child("-m", "bench.wake", "bare", dsn) as bare:
        for each in (worker, bare):
            assert each.line() == "ready"
        half, most = _spread(asyncio.run(_turns(scene, lambda: _heard(worker))))
        least_half, least_most = _spread(asyncio.run(_bare_turns(dsn, bare)))
    return [
        Row("wake, over LISTEN/NOTIFY, p50", half, "ms", least_half, at_most=1.3),
        Row("wake, over LISTEN/NOTIFY, p99", most, "ms", least_most, at_most=2.0),
    ]


async def _heard(worker: Child) -> float:
    return float(await asyncio.to_thread(worker.line, 10.0))


async def _bare_turns(dsn: str, bare: Child) -> list[float]:
    took = []
    with psycopg.connect(dsn) as connection:
        for _ in range(_TURNS + _WARM):
            connection.execute("INSERT INTO bare_events (topic) VALUES ('seven')")
            connection.execute("SELECT pg_notify('bare', '')")
            committed = time.perf_counter()
            connection.commit()
            took.append(await _heard(bare) - committed)
            await asyncio.sleep(_REST_S)
    return took


async def _work(url: str) -> None:
    logs.configure("json", "error", sys.stderr)
    store = Store(url, SystemClock())
    async with working(Scene(store, is_new=False), _Hand(lambda at: _say(f"{at:.9f}"))):
        await asyncio.sleep(1)
        _say("ready")
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    store.close()


async def _listen(dsn: str) -> None:
    async with (
        await psycopg.AsyncConnection.connect(dsn, autocommit=True) as ear,
        await psycopg.AsyncConnection.connect(dsn, autocommit=True) as hand,
    ):
        await ear.execute("LISTEN bare")
        _say("ready")
        async for _ in ear.notifies():
            await hand.execute(_QUEUE, prepare=True)
            rows = await (await hand.execute(_TAKE, prepare=True)).fetchall()
            assert len(rows) == 1
            _say(f"{time.perf_counter():.9f}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run({"ours": _work, "bare": _listen}[sys.argv[1]](sys.argv[2]))
