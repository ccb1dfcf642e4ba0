"""Tables, from the search over HTTP to the rows: the engine is the one that courses use."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from sqlalchemy import select

from tests.support.clock import ManualClock
from vacancy.clock import Dice, SystemClock
from vacancy.metrics import Metrics
from vacancy.net.client import Client
from vacancy.pipeline.poll import Polled, Poller
from vacancy.pipeline.settle import Came
from vacancy.settings import Settings, load
from vacancy.simulator.resy_world import FIRST_NUMBER, Tables
from vacancy.simulator.server import Simulator
from vacancy.sources import build
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import availability, open_events, targets

DAY = "2026-01-06"
KEY = f"{DAY}_20:30"


class Restless(ManualClock):
    """Time passes at once for whoever waits."""

    async def sleep(self, seconds: float) -> None:
        self.pass_time(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> Restless:
    return Restless()


class House:
    """One process's poller on a store, and the upstream that it asks."""

    def __init__(self, store: Store, simulator: Simulator, client: Client) -> None:
        self.store = store
        self.tables: Tables = simulator.resy.tables
        self.upstream = simulator.resy
        lists, references = build(_settings(simulator.resy_url), client, store)
        self._poller = Poller(store, lists, references, store.clock, Dice(1), Metrics())

    async def poll(self) -> Polled:
        polled = await self._poller.poll_once(lambda _: None)
        return next(each for each in polled if each.key == KEY)

    def rows(self, table: Any) -> Sequence[Any]:
        return self.store.read_now(_rows, table)

    def states(self) -> Mapping[str, str]:
        return {row.item_key: row.state for row in self.rows(availability)}

    def events(self) -> Sequence[Any]:
        return [row for row in self.rows(open_events) if row.target_key == KEY]


def _rows(tx: Tx, table: Any) -> Sequence[Any]:
    return tx.execute(select(table)).all()


def _settings(base_url: str) -> Settings:
    return load(None, {}, {"resy": {
        "enabled": True, "base_url": base_url, "time_slots": ["20:30"], "window_days": 2, "per_page": 20, "jitter": 0,
    }})  # fmt: skip


def walk(store: Store, story: Any) -> None:
    async def run() -> None:
        simulator, client = Simulator(SystemClock(), scale=0.02), Client(store.clock, user_agent="test")
        await simulator.start()
        try:
            simulator.resy.tables.close_all(DAY, FIRST_NUMBER)
            await story(House(store, simulator, client))
        finally:
            await client.close()
            await simulator.stop()

    asyncio.run(run())


def test_a_venue_that_had_nothing_opens_and_everybody_can_read_of_it(store: Store) -> None:
    async def story(house: House) -> None:
        assert [(await house.poll()).came for _ in range(3)] == [Came.WAITING, Came.BELIEVED, Came.UNCHANGED]
        assert {row.key for row in house.rows(targets)} == {"2026-01-05_20:30", KEY}
        assert house.events() == []
        house.tables.open(DAY, FIRST_NUMBER, "20:30")
        assert (await house.poll()).opened == 1
        (event,) = house.events()
        assert (event.source, event.detected_by, event.group_key) == ("resy", "resy", str(FIRST_NUMBER))
        assert (event.status_before, event.status_after) == ("Closed", "Open")
        at = event.event_at.strftime("%Y-%m-%dT%H:%M")
        assert event.dedupe_key == f"{KEY}|{event.item_key}|{at}"
        assert event.topics == [f"resy:venue/{FIRST_NUMBER}@{DAY}", f"resy:venue/{FIRST_NUMBER}"]
        assert event.payload["title"] == house.tables.restaurants[FIRST_NUMBER].name
        assert event.payload["bookUrl"].startswith("https://resy.com/cities/")
        assert (event.section_id, event.term_id, event.campus_code, event.index_number) == (None, None, None, None)
        # One miss takes a slot out of the list; the state says so, and no event.
        house.tables.close(DAY, FIRST_NUMBER, "20:30")
        await house.poll()
        (row,) = [row for row in house.rows(availability) if row.item_key == event.item_key]
        assert (row.state, row.group_key) == ("Closed", str(FIRST_NUMBER))
        assert len(house.events()) == 1

    walk(store, story)


def test_an_expired_token_a_cut_page_and_an_hour_of_drift_close_nothing(store: Store) -> None:
    async def story(house: House) -> None:
        for _ in range(2):
            await house.poll()
        before = house.states()
        house.upstream.fault("short_page", page=1)
        await house.poll()
        assert house.states() == before
        house.upstream.faults.clear()
        house.upstream.fault("time_format", format="t_short")
        assert (await house.poll()).came in (Came.UNCHANGED, Came.BELIEVED)
        house.upstream.faults.clear()
        house.upstream.expire_tokens()
        failed = (await house.poll()).failed
        assert failed is not None
        assert failed.trouble == "unauthorized"
        assert house.states() == before
        assert house.rows(open_events) == []

    walk(store, story)
