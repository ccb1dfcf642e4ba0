"""The feed twice: as the product serves it, and as the least that returns the same bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, Final

import msgspec
from fastapi import FastAPI

from vacancy.clock import SystemClock
from vacancy.settings import Settings
from vacancy.store.engine import Store
from vacancy.subscriptions.contacts import Secret
from vacancy.subscriptions.rules import Desk
from vacancy.web.app import create_app
from vacancy.web.context import House

Message = MutableMapping[str, Any]
App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]

_COLUMNS: Final = (
    "open_event_id, section_id, term_id, campus_code, index_number, subscription_id, status_before, status_after, "
    "seat_delta, event_at, detected_by, snapshot_id, dedupe_key, trace_id, payload, source, target_key, item_key, "
    "group_key, episode, lead_event_id, topics"
)
_PAYLOAD: Final = 14
_TOPICS: Final = 21
_PAGE: Final = f"SELECT {_COLUMNS} FROM open_events WHERE open_event_id > ? ORDER BY open_event_id LIMIT 50"


def our_app(database: Path) -> tuple[FastAPI, Store]:
    settings = Settings(database_url=f"sqlite:///{database}")
    clock = SystemClock()
    store = Store(settings.database_url, clock)
    return create_app(
        House(store, settings, clock, Desk(settings.subscriptions, Secret(b"bench"), {}, lambda _: None), dict)
    ), store


class _Event(msgspec.Struct, rename="camel"):
    open_event_id: int
    section_id: int | None
    term_id: str | None
    campus_code: str | None
    index_number: str | None
    subscription_id: int | None
    status_before: str
    status_after: str
    seat_delta: int
    event_at: str
    detected_by: str
    snapshot_id: int | None
    dedupe_key: str
    trace_id: str
    payload: msgspec.Raw
    source: str
    target_key: str
    item_key: str
    group_key: str | None
    episode: int
    lead_event_id: int | None
    topics: msgspec.Raw


class _Page(msgspec.Struct, rename="camel"):
    items: list[_Event]
    next_after_id: int


def bare_app(database: Path) -> App:
    """Plain ASGI, one connection, one query, one encoder; it knows one path, one parameter and no errors."""
    db = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
    encode = msgspec.json.Encoder().encode

    async def app(scope: Message, receive: Any, send: Any) -> None:  # noqa: ARG001
        cursor = int(scope["query_string"].rpartition(b"=")[2])
        rows = db.execute(_PAGE, (cursor,)).fetchall()
        items = [_event(list(row)) for row in rows]
        body = encode(_Page(items, items[-1].open_event_id if items else cursor))
        length = str(len(body)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def _event(columns: list[Any]) -> _Event:
    columns[_PAYLOAD] = msgspec.Raw(columns[_PAYLOAD].encode())
    columns[_TOPICS] = msgspec.Raw(columns[_TOPICS].encode())
    return _Event(*columns)


def bytes_app(file: Path) -> App:
    """The least that answers at all."""
    body = file.read_bytes()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]

    async def app(scope: Message, receive: Any, send: Any) -> None:  # noqa: ARG001
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app
