"""What every stand-in for a message service shares: a server on loopback, its records, and faults on demand."""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Handler

from vacancy.simulator.errors import SimulatorError

# Requests that are held up on purpose must not hold up the stop.
SHUTDOWN_SECONDS: Final = 0.05
LARGEST_BODY: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str  # as it was asked for, with its query
    headers: Mapping[str, str]  # does not care about case
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Fault:
    """What is answered instead. Without a status the real answer comes, late if `delay_s` says so."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = ""  # text and bytes go out as they are, all else as JSON
    times: int = 1
    drop: bool = False  # hang up without an answer
    delay_s: float = 0
    path: str | None = None  # only requests whose path begins with this


class Provider:
    """A subclass says its routes. `records` holds every request, the faulty ones too, oldest first."""

    def __init__(self) -> None:
        self.origin = ""
        self.records: list[Request] = []
        self._faults: list[Fault] = []
        self._arrived = asyncio.Event()
        self._runner: web.AppRunner | None = None

    def routes(self) -> Sequence[web.RouteDef]:
        raise NotImplementedError

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        _require_loopback(host)
        app = web.Application(client_max_size=LARGEST_BODY, middlewares=[self._first])
        app.add_routes(list(self.routes()))
        # Cancelling handlers of clients that left is what ends a request that is held up.
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        self._runner = runner
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError:
            await self.stop()
            raise
        name = f"[{host}]" if ":" in host else host
        self.origin = f"http://{name}:{runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Can be called twice, and on a provider that never started."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def fault(
        self,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        body: object = "",
        times: int = 1,
        drop: bool = False,
        delay_s: float = 0,
        path: str | None = None,
    ) -> None:
        """The next `times` requests meet this; several faults are met in the order in which they were set."""
        self._faults.append(Fault(status, dict(headers or {}), body, times, drop, delay_s, path))

    def clear(self) -> None:
        """Forget faults and records."""
        self._faults.clear()
        self.records.clear()

    async def arrived(self, count: int = 1) -> None:
        """Until that many requests are on record."""
        while len(self.records) < count:
            self._arrived.clear()
            await self._arrived.wait()

    @web.middleware
    async def _first(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        body = await request.read()
        self.records.append(Request(request.method, request.path_qs, request.headers, body))
        self._arrived.set()
        fault = self._due(request.path)
        if fault is None:
            return await handler(request)
        if fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        if fault.drop:
            return _hang_up(request)
        return await handler(request) if fault.status is None else _answer(fault, fault.status)

    def _due(self, path: str) -> Fault | None:
        for fault in self._faults:
            if fault.path is None or path.startswith(fault.path):
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
                return fault
        return None


def _answer(fault: Fault, status: int) -> web.Response:
    if isinstance(fault.body, str | bytes):
        content = fault.body.encode() if isinstance(fault.body, str) else fault.body
        return web.Response(status=status, headers=fault.headers, body=content)
    return web.json_response(fault.body, status=status, headers=fault.headers)


def _hang_up(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()  # nobody is left to read it


def _require_loopback(host: str) -> None:
    """Whoever reaches it can have it say anything, so nobody outside this machine may."""
    try:
        allowed = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        allowed = False
    if not allowed:
        raise SimulatorError(f"host {host!r}: the simulator listens on loopback only, such as 127.0.0.1")
