"""`GET /api/events?after_id=` of 50 events, beside a bare ASGI app with sqlite3 and msgspec that returns the same.

Rates are requests in a second of the server's own processor time. `newest` asks for the last 50, as readers that keep
up do; `old` for 50 that are older than what the product keeps in memory. Over loopback both run under uvicorn, and the
client is a process of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.common import Child, Row, Stopwatch, child, quiet_folder
from bench.feed_apps import Message, bare_app, our_app
from bench.world import TERM, configure, new_store, soc
from vacancy.model.availability import Item
from vacancy.sources.soc import Soc
from vacancy.store import events
from vacancy.store.engine import Store, Tx
from vacancy.store.events import Edge, Sighting

EVENTS: Final = 12_000
_CURSORS: Final = {"newest": EVENTS - 50, "old": 1000}
_ROUNDS: Final = 8
_IN_PROCESS: Final = 150
_OVER_HTTP: Final = 300
_CONNECTIONS: Final = 4


def run() -> list[Row]:
    with quiet_folder("feed") as folder:
        path = folder / "feed.db"
        store = new_store(path)
        _fill(store)
        store.close()
        return [*asyncio.run(_in_process(path)), *_over_http(path)]


def _fill(store: Store) -> None:
    source, _ = soc()
    configure(store, source)
    for first in range(0, EVENTS, 1000):
        store.write_now(_append, source, range(first, first + 1000))


def _append(tx: Tx, source: Soc, numbers: Sequence[int]) -> None:
    key, now = f"{TERM}|NB", datetime.now(UTC)
    about = source.describe(tx, key, [Item(f"{number:05d}") for number in numbers])
    edges = [
        Edge(
            item_key=f"{number:05d}",
            group=None,
            is_opening=number % 2 == 0,
            episode=1,
            snapshot_id=number,
            dedupe_key=source.dedupe_key(key, f"{number:05d}", "Open", 1, 0, at=now),
            description=about[f"{number:05d}"],
        )
        for number in numbers
    ]
    sighting = Sighting("soc", key, "open_sections", "0" * 32, now, "0" * 40)
    events.append(tx, sighting, edges)


async def _call(app: Any, cursor: int) -> bytes:
    """One request as a server hands it over."""
    body = b""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal body
        assert message.get("status", 200) == 200
        body += message.get("body", b"")

    await app(_scope(cursor), receive, send)
    return body


def _scope(cursor: int) -> Message:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/api/events",
        "raw_path": b"/api/events",
        "query_string": f"after_id={cursor}".encode(),
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1:8000"), (b"accept", b"*/*")],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }


async def _in_process(path: Path) -> list[Row]:
    app, store = our_app(path)
    bare = bare_app(path)
    rows = []
    for name, cursor in _CURSORS.items():
        assert await _call(app, cursor) == await _call(bare, cursor)
        ours, reference = [], []
        for _ in range(_ROUNDS):
            ours.append(await _rate(app, cursor))
            reference.append(await _rate(bare, cursor))
        least = 0.6 if name == "newest" else None
        rows.append(Row(f"events_feed, {name}, in process", median(ours), "/s", median(reference), at_least=least))
    app.state.feed.close()
    store.close()
    return rows


async def _rate(app: Any, cursor: int) -> float:
    with Stopwatch() as watch:
        for _ in range(_IN_PROCESS):
            await _call(app, cursor)
    return _IN_PROCESS / watch.cost.cpu


def _over_http(path: Path) -> list[Row]:
    rows = []
    with (
        child("-m", "bench.peer", "feed", "ours", str(path)) as our_server,
        child("-m", "bench.peer", "feed", "bare", str(path)) as bare_server,
        child("-m", "bench.peer", "client") as client,
    ):
        addresses = our_server.line(), bare_server.line()
        for name, cursor in _CURSORS.items():
            totals = [(0.0, 0.0), (0.0, 0.0)]
            for turn in range(_ROUNDS + 1):
                for nth, server in enumerate((our_server, bare_server)):
                    cpu, wall = _ask(server, client, f"{addresses[nth]}/api/events?after_id={cursor}")
                    if turn:
                        totals[nth] = totals[nth][0] + cpu, totals[nth][1] + wall
            count = _ROUNDS * _OVER_HTTP
            (our_cpu, our_wall), (bare_cpu, bare_wall) = totals
            least = 0.6 if name == "newest" else None
            rows += [
                Row(f"events_feed, {name}, uvicorn", count / our_cpu, "/s", count / bare_cpu, at_least=least),
                Row(f"events_feed, {name}, uvicorn, wall", count / our_wall, "/s", count / bare_wall),
            ]
    return rows


def _ask(server: Child, client: Child, address: str) -> tuple[float, float]:
    before = server.cpu_s()
    client.say(f"{address} {_OVER_HTTP} {_CONNECTIONS}")
    wall = float(client.line())
    return server.cpu_s() - before, wall
