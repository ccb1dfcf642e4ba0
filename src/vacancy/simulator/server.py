"""The simulator as one object: a server on loopback and direct access to what it serves."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Sequence
from typing import Final

from aiohttp import web

from vacancy.clock import Clock
from vacancy.simulator.churn import Churn, Rates
from vacancy.simulator.control import Control, explain_errors
from vacancy.simulator.errors import SimulatorError
from vacancy.simulator.json_api import JsonApi
from vacancy.simulator.resy import Resy
from vacancy.simulator.soc import Soc
from vacancy.simulator.state import State
from vacancy.simulator.traffic import Record, Traffic
from vacancy.simulator.world import World

# Requests that wait on a clock nobody moves any more must not hold up the stop.
SHUTDOWN_SECONDS: Final = 0.05
MAX_CONTROL_BODY: Final = 8 * 1024 * 1024


class Simulator:
    def __init__(
        self,
        clock: Clock,
        *,
        seed: int = 1,
        scale: float = 1.0,
        terms: Sequence[str] = ("12025",),
        campuses: Sequence[str] = ("NB", "NK", "CM"),
        openings_per_minute: float = 0.0,
        closings_per_minute: float = 0.0,
        table_changes_per_minute: float = 0.0,
        board_changes_per_minute: float = 0.0,
    ) -> None:
        rates = Rates(openings_per_minute, closings_per_minute)
        self._state = State(clock, seed, scale, terms, campuses, rates)
        traffic = self._state.traffic
        self.resy = Resy(clock, traffic, seed, scale, _both_ways(table_changes_per_minute))
        self.json = JsonApi(clock, traffic, seed, _both_ways(board_changes_per_minute))
        self._runner: web.AppRunner | None = None
        self._churning: list[asyncio.Task[None]] = []
        self._origin = ""

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        _require_loopback(host)
        app = web.Application(client_max_size=MAX_CONTROL_BODY, middlewares=[explain_errors])
        app.add_routes([*Soc(self._state).routes(), *self.resy.routes(), *self.json.routes()])
        app.add_routes(Control(self._state).routes())
        # Cancelling handlers of clients that left is what ends a hanging request.
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        self._runner = runner
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError:
            await self.stop()
            raise
        name = f"[{host}]" if ":" in host else host
        self._origin = f"http://{name}:{runner.addresses[0][1]}"
        for churn in (self._state.churn, self.resy.churn, self.json.churn):
            self._churning.append(asyncio.create_task(churn.run(), name="simulator-churn"))

    async def stop(self) -> None:
        """Can be called twice, and on a simulator that never started."""
        self.clear_faults()
        while self._churning:
            task = self._churning.pop()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @property
    def base_url(self) -> str:
        return f"{self._started_origin()}/soc/api"

    @property
    def resy_url(self) -> str:
        """What `resy.base_url` is set to."""
        return f"{self._started_origin()}/resy"

    @property
    def json_url(self) -> str:
        """With the name of a board below it: what the `url` of an endpoint is set to."""
        return f"{self._started_origin()}/json"

    @property
    def control_url(self) -> str:
        return f"{self._started_origin()}/control"

    @property
    def churn(self) -> Churn:
        return self._state.churn

    @property
    def traffic(self) -> Traffic:
        return self._state.traffic

    @property
    def requests(self) -> tuple[Record, ...]:
        """The latest requests of the upstream addresses, oldest first; control requests are not among them."""
        return tuple(self._state.traffic.records)

    def world(self, term: str, campus: str) -> World:
        return self._state.world(term, campus)

    def fault(self, kind: str, **args: object) -> None:
        self._state.add_fault(kind, args)

    def clear_faults(self) -> None:
        self._state.faults.clear()
        self.resy.faults.clear()
        self.json.faults.clear()

    def _started_origin(self) -> str:
        if not self._origin:
            raise SimulatorError("the simulator has not been started")
        return self._origin


def _both_ways(changes_per_minute: float) -> Rates:
    return Rates(changes_per_minute / 2, changes_per_minute / 2)


def _require_loopback(host: str) -> None:
    """The control addresses have no password, so nobody outside this machine may reach them."""
    try:
        allowed = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        allowed = False
    if not allowed:
        raise SimulatorError(f"host {host!r}: the simulator listens on loopback only, such as 127.0.0.1")
