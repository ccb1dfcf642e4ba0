"""How long a search of the catalogue takes at full size, all three campuses loaded and polled. There is no reference.

Each question goes through the whole web application, in this process; the wall's time, which is what a person waits.
"""

from __future__ import annotations

import asyncio
import time
from statistics import quantiles
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from bench.common import Row, quiet_folder
from bench.feed_apps import Message, our_app
from bench.world import CAMPUSES, TERM, Claims, catalogue_body, configure, load_catalogue, new_store, soc
from vacancy.clock import Dice
from vacancy.model.availability import Complete
from vacancy.pipeline.settle import settle_answer
from vacancy.store.engine import Store

_ROUNDS: Final = 6
_QUESTIONS: Final[tuple[dict[str, str], ...]] = (
    {"campus": "NB,NK,CM"},
    {"campus": "NB,NK,CM", "q": "intro"},
    {"campus": "NB", "q": "semin poetry"},
    {"campus": "NB", "hasOpenSection": "true"},
    {"campus": "NB", "level": "UG", "sortBy": "title"},
    {"campus": "NK", "meetingDays": "MW"},
    {"campus": "NB", "page": "40", "pageSize": "50"},
    {"campus": "CM", "delivery": "online"},
    {"campus": "NB", "sortBy": "sectionsOpen"},
    {"campus": "NB", "include": "sections"},
    {"campus": "NB", "include": "subjects"},
)


def run() -> list[Row]:
    with quiet_folder("search") as folder:
        path = folder / "search.db"
        store = new_store(path)
        _fill(store)
        store.close()
        took, slowest = asyncio.run(_measure(path))
    cuts = quantiles(took, n=100)
    return [
        Row("catalogue_search, p50", cuts[49] * 1e3, "ms"),
        Row("catalogue_search, p95", cuts[94] * 1e3, "ms"),
        Row(f"catalogue_search, slowest: {slowest[0]}", slowest[1] * 1e3, "ms"),
    ]


def _fill(store: Store) -> None:
    source, _ = soc(campuses=CAMPUSES)
    configure(store, source)
    lists: dict[str, Complete] = {}
    for campus in CAMPUSES:
        body, indexes = catalogue_body(campus)
        load_catalogue(store, campus, body)
        lists[f"{TERM}|{campus}"] = Complete(frozenset(indexes[: len(indexes) * 7 // 10]))
    claims, dice = Claims(store, source), Dice(1)
    asked: dict[str, int] = dict.fromkeys(lists, 0)
    while min(asked.values()) < 2:
        claim = claims.next()
        store.write_now(settle_answer, claim, source, lists[claim.key], None, dice)
        asked[claim.key] += 1


async def _measure(path: Any) -> tuple[list[float], tuple[str, float]]:
    app, store = our_app(path)
    took: list[float] = []
    slowest = ("", 0.0)
    for question in _QUESTIONS:
        query = urlencode({"term": TERM, **question})
        times = [await _ask(app, query) for _ in range(_ROUNDS)][1:]
        took += times
        if sorted(times)[len(times) // 2] > slowest[1]:
            slowest = (query.partition("&")[2] or "everything", sorted(times)[len(times) // 2])
    app.state.feed.close()
    store.close()
    return took, slowest


async def _ask(app: Any, query: str) -> float:
    status, body = 0, b""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, body
        status = message.get("status", status)
        body += message.get("body", b"")

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": "/api/courses", "raw_path": b"/api/courses", "query_string": query.encode(), "root_path": "",
        "headers": [(b"host", b"127.0.0.1")], "client": ("127.0.0.1", 50000), "server": ("127.0.0.1", 8000),
        "state": {},
    }  # fmt: skip
    began = time.perf_counter()
    await app(scope, receive, send)
    took = time.perf_counter() - began
    assert status == 200, body
    assert msgspec.json.decode(body)["meta"]["total"] > 0, query
    return took
