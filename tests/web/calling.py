"""Calls an ASGI app as a server would, and lets the test be the client that stays, leaves, or reads slowly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from tests.support.clock import ManualClock

from vacancy.store.engine import Store, Tx
from vacancy.web.context import House

# Turns of the loop that even a slow machine's threads need far fewer of.
_TURNS = 2_000_000


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def error(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self.json()["error"])


@dataclass
class Call:
    """One request under way."""

    task: asyncio.Task[None]
    gone: asyncio.Event
    sent: list[Message] = field(default_factory=list)

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.sent).decode()

    async def answer(self) -> Answer:
        await self.task
        start = self.sent[0]
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], headers, b"".join(message.get("body", b"") for message in self.sent[1:]))


def begin(
    app: ASGIApp,
    target: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    client: str = "127.0.0.1",
) -> Call:
    path, _, query = target.partition("?")
    gone = asyncio.Event()
    asked = False
    sent: list[Message] = []

    async def receive() -> Message:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": body, "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(k.lower().encode(), v.encode()) for k, v in {"host": "test", **(headers or {})}.items()],
        "client": (client, 1), "server": ("test", 80),
    }  # fmt: skip
    return Call(asyncio.ensure_future(_run(app, scope, receive, send)), gone, sent)


async def _run(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


async def get(
    app: ASGIApp, target: str, method: str = "GET", headers: Mapping[str, str] | None = None, client: str = "127.0.0.1"
) -> Answer:  # fmt: skip
    return await begin(app, target, method, headers, client=client).answer()


def ask(
    app: ASGIApp, target: str, method: str = "GET", headers: Mapping[str, str] | None = None, client: str = "127.0.0.1"
) -> Answer:  # fmt: skip
    """For a test without a loop of its own."""
    return asyncio.run(get(app, target, method, headers, client))


def send(
    app: ASGIApp,
    method: str,
    target: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    client: str = "127.0.0.1",
) -> Answer:
    """A request with a body of JSON, or of bytes as they are."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    said = {"content-type": "application/json", **(headers or {})}

    async def story() -> Answer:
        return await begin(app, target, method, said, content, client).answer()

    return asyncio.run(story())


async def until(true: Callable[[], object]) -> None:
    """Let tasks and threads go on until it is true."""
    for _ in range(_TURNS):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never became true")


async def until_waiting(clock: ManualClock, sleepers: int = 1) -> None:
    await until(lambda: clock.sleepers == sleepers)


@contextmanager
def broken(store: Store, error: Exception) -> Iterator[None]:
    """Every read of this store fails."""

    def read(fn: Callable[..., object], *args: object, **kwargs: object) -> Awaitable[object]:
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        future.set_exception(error)
        return future

    store.read = read  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        del store.read


def fill(house: House, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    def step(tx: Tx) -> Any:
        return fn(tx, *args, **kwargs)

    return house.store.write_now(step)
