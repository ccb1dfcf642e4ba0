"""JSON endpoints from the settings that the documents show, polled over HTTP into a real database."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sqlalchemy import select

from tests.support.clock import ManualClock
from vacancy.clock import Dice, SystemClock
from vacancy.metrics import Metrics
from vacancy.net.client import Client
from vacancy.pipeline.poll import Polled, Poller
from vacancy.settings import load
from vacancy.simulator.json_boards import Board
from vacancy.simulator.server import Simulator
from vacancy.simulator.traffic import Record
from vacancy.sources import build
from vacancy.sources.base import Source
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import availability, open_events, targets

_PAGE: Final = Path(__file__).parents[2] / "docs" / "sources.md"
_BLOCK: Final = re.compile(r"^```toml\n(\[\[json\]\]\n.*?)^```$", re.MULTILINE | re.DOTALL)


def documented() -> dict[str, dict[str, Any]]:
    """The examples of docs/sources.md, by their names."""
    tables = [table for block in _BLOCK.findall(_PAGE.read_text("utf-8")) for table in tomllib.loads(block)["json"]]
    return {table["name"]: table for table in tables}


class Restless(ManualClock):
    """Time passes at once for whoever waits."""

    async def sleep(self, seconds: float) -> None:
        self.pass_time(seconds)
        await asyncio.sleep(0)


class Watch:
    """One process's poller on a store, and the one board that it asks."""

    def __init__(self, store: Store, simulator: Simulator, client: Client, table: Mapping[str, Any]) -> None:
        self.store = store
        self._simulator, self._client, self._table = simulator, client, table
        self.upstream = simulator.json
        self.requests: Callable[[], Sequence[Record]] = lambda: simulator.requests
        self.origin = simulator.json_url.removesuffix("/json")
        self.board: Board = simulator.json.boards.board(str(table["name"]))
        here = {**table, "url": f"{simulator.json_url}/{table['name']}", "jitter": 0}
        lists, references = build(load(None, {}, {"json": [here]}), client, store)
        self.source: Source = lists[0]
        self._poller = Poller(store, lists, references, store.clock, Dice(1), Metrics())

    def again(self, **changed: Any) -> Watch:
        """As after a start with other settings."""
        return Watch(self.store, self._simulator, self._client, {**self._table, **changed})

    async def poll(self, after_s: float = 31) -> Polled:
        assert isinstance(self.store.clock, ManualClock)
        self.store.clock.pass_time(after_s)
        (polled,) = await self._poller.poll_once(lambda _: None)
        return polled

    async def baseline(self) -> None:
        for _ in range(3):
            await self.poll()
        assert self.target().baseline_at is not None

    def target(self) -> Any:
        return self.store.read_now(_rows, targets)[0]

    def open_now(self) -> set[str]:
        return {row.item_key for row in self.store.read_now(_rows, availability) if row.state == "Open"}

    def events(self, status: str = "Open") -> Sequence[Any]:
        return [row for row in self.store.read_now(_rows, open_events) if row.status_after == status]


def _rows(tx: Tx, table: Any) -> Sequence[Any]:
    return tx.execute(select(table)).all()


def watching(store: Store, table: Mapping[str, Any], story: Callable[[Watch], Awaitable[None]]) -> None:
    async def run() -> None:
        simulator, client = Simulator(SystemClock(), scale=0.02), Client(store.clock, user_agent="test")
        await simulator.start()
        try:
            await story(Watch(store, simulator, client, table))
        finally:
            await client.close()
            await simulator.stop()

    asyncio.run(run())
