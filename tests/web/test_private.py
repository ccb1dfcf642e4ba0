"""A whole flow over a real socket: whatever is logged, at whatever level, names nobody and lets nobody in."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import aiohttp
import pytest
import structlog
import uvicorn
from fastapi import FastAPI
from starlette.types import Scope
from tests.web.calling import until
from tests.web.subscribing import INDEX, MAIL, SECTION, link_token

from vacancy import logs
from vacancy.web.app import create_app
from vacancy.web.context import House

ADDRESS = "ada@example.com"
TOKEN = "0123456789abcdef" * 2


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()


async def served(app: FastAPI, story: Any) -> None:
    """As `serve` runs it, but for the access log: that it is safe as well must not rest on being off."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", log_config=None, access_log=True)
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve())
    await until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
            await story(client)
    finally:
        server.should_exit = True
        await serving


def test_a_whole_flow_leaves_no_token_and_no_address_in_the_log(app: FastAPI, house: House) -> None:
    log = io.StringIO()
    logs.configure("json", "debug", log)
    # Everything that is nobody's business, as it comes to be known.
    secrets = [ADDRESS, "Lovelace", "192.0.2.77"]

    async def flow(client: aiohttp.ClientSession) -> None:
        body = {**SECTION, **MAIL, "contactValue": f"Ada Lovelace <{ADDRESS}>", "clientContext": {"ip": "192.0.2.77"}}
        async with client.post("/api/subscribe", json=body) as answer:
            told = await answer.json()
            assert answer.status == 201
        number, manage, leave = told["subscriptionId"], told["manageToken"], told["unsubscribeToken"]
        link = await asyncio.to_thread(link_token, house, number)
        secrets.extend((manage, leave, link))
        await expect(client, 200, "GET", f"/verify?token={link}")
        await expect(client, 200, "POST", "/verify", data={"token": link})
        await expect(client, 410, "POST", "/api/verify", json={"token": link})
        await expect(client, 200, "GET", f"/manage/{number}?token={manage}")
        await expect(client, 200, "POST", f"/manage/{number}", data={"token": manage, "do": "pause"})
        await expect(client, 200, "GET", f"/api/subscriptions/{number}?token={manage}")
        bearer = {"Authorization": f"Bearer {manage}"}
        await expect(client, 200, "PATCH", f"/api/subscriptions/{number}", json={"status": "active"}, headers=bearer)
        await expect(client, 400, "PATCH", f"/api/subscriptions/{number}", json={"token": manage}, headers=bearer)
        await expect(client, 400, "POST", "/api/subscribe", json={**SECTION, **MAIL, "contactValue": "ada@@x"})
        await expect(client, 200, "GET", f"/unsubscribe?token={leave}")
        await expect(client, 200, "POST", f"/unsubscribe?token={leave}", data={"List-Unsubscribe": "One-Click"})
        await expect(client, 404, "GET", f"/no/such/page?token={leave}&email={ADDRESS}")

    asyncio.run(served(app, flow))
    written = log.getvalue()
    assert "/api/subscribe" in written
    assert INDEX not in secrets
    assert [secret for secret in secrets if secret in written] == []


class Failing(House):
    """With a fault of ours in the middle of a request."""

    def count_attempt(self, scope: Scope) -> None:
        raise RuntimeError(f"while {ADDRESS} was read, token={TOKEN}")


def test_a_failing_request_names_nobody_either(house: House) -> None:
    """The traceback quotes what was at hand."""
    log = io.StringIO()
    logs.configure("json", "debug", log)
    app = create_app(Failing(**{each.name: getattr(house, each.name) for each in fields(house)}))

    async def flow(client: aiohttp.ClientSession) -> None:
        await expect(client, 500, "POST", "/api/subscribe", json={**SECTION, **MAIL})

    asyncio.run(served(app, flow))
    written = log.getvalue()
    assert "a request failed" in written
    assert ADDRESS not in written
    assert TOKEN not in written


async def expect(client: aiohttp.ClientSession, status: int, verb: str, path: str, **sent: Any) -> None:
    async with client.request(verb, path, **sent) as answer:
        assert answer.status == status, (verb, path, await answer.text())
