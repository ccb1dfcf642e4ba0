"""The control addresses: what a test, a benchmark or a person uses to make the upstream misbehave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from vacancy.simulator.churn import Rates
from vacancy.simulator.errors import SimulatorError, UnknownTargetError
from vacancy.simulator.state import State

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """An unknown member is an error: a misspelt one would silently do nothing."""


class Seats(Body):
    term: str
    campus: str
    open: list[str] = []
    close: list[str] = []


class OpenList(Body):
    term: str
    campus: str
    indexes: list[str] | None


class ChurnOrder(Body):
    enabled: bool | None = None
    campus: str | None = None
    openings_per_minute: float | None = None
    closings_per_minute: float | None = None


class Step(Body):
    term: str
    campus: str
    openings: int = 0
    closings: int = 0


class Control:
    def __init__(self, state: State) -> None:
        self._state = state

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/control", self.show),
            web.get("/control/world", self.show_world),
            web.post("/control/faults", self.add_fault),
            web.delete("/control/faults", self.clear_faults),
            web.post("/control/seats", self.set_seats),
            web.post("/control/open_list", self.set_open_list),
            web.post("/control/churn", self.set_churn),
            web.post("/control/step", self.step),
        ]

    async def show(self, _request: web.Request) -> web.Response:
        return reply(self._state.shown())

    async def show_world(self, request: web.Request) -> web.Response:
        world = self._state.world(request.query.get("term", ""), request.query.get("campus", ""))
        return reply(
            {
                "catalogue": world.catalogue_indexes,
                "orphans": world.orphans,
                "open": sorted(world.open_indexes),
                "overridden": world.overridden,
            }
        )

    async def add_fault(self, request: web.Request) -> web.Response:
        given = await read_body(request, dict[str, Any])
        kind = given.pop("kind", None)
        if not isinstance(kind, str):
            raise SimulatorError("kind: is missing or not a string")
        self._state.add_fault(kind, given)
        return reply({"faults": self._state.faults.shown()})

    async def clear_faults(self, _request: web.Request) -> web.Response:
        self._state.faults.clear()
        return reply({"faults": []})

    async def set_seats(self, request: web.Request) -> web.Response:
        order = await read_body(request, Seats)
        world = self._state.world(order.term, order.campus)
        world.set_seats(order.open, order.close)
        return reply({"open": len(world.open_indexes)})

    async def set_open_list(self, request: web.Request) -> web.Response:
        order = await read_body(request, OpenList)
        world = self._state.world(order.term, order.campus)
        world.override(order.indexes)
        return reply({"open": len(world.open_indexes), "overridden": world.overridden})

    async def set_churn(self, request: web.Request) -> web.Response:
        order = await read_body(request, ChurnOrder)
        churn = self._state.churn
        if order.campus is not None and order.campus not in self._state.campuses:
            raise UnknownTargetError(f"there is no campus {order.campus!r} here")
        if (order.openings_per_minute, order.closings_per_minute) != (None, None):
            now = churn.rates_of(order.campus or "")
            rates = Rates(
                _rate("openings_per_minute", order.openings_per_minute, now.openings_per_minute),
                _rate("closings_per_minute", order.closings_per_minute, now.closings_per_minute),
            )
            churn.set_rates(rates, order.campus)
            churn.set_enabled(True)
        if order.enabled is not None:
            churn.set_enabled(order.enabled)
        return reply(self._state.shown()["churn"])

    async def step(self, request: web.Request) -> web.Response:
        order = await read_body(request, Step)
        if min(order.openings, order.closings) < 0:
            raise SimulatorError("openings and closings: must not be negative")
        world = self._state.world(order.term, order.campus)
        opened, closed = world.step(openings=order.openings, closings=order.closings)
        return reply({"opened": opened, "closed": closed})


def _rate(name: str, wanted: float | None, now: float) -> float:
    if wanted is not None and wanted < 0:
        raise SimulatorError(f"{name}: must not be negative")
    return now if wanted is None else wanted


def reply(content: object, status: int = 200) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(content), content_type="application/json")


@web.middleware
async def explain_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except UnknownTargetError as error:
        return _error(404, "unknown_target", error)
    except SimulatorError as error:
        return _error(422, "invalid", error)


def _error(status: int, code: str, error: SimulatorError) -> web.Response:
    return reply({"error": {"code": code, "message": str(error)}}, status)


async def read_body(request: web.Request, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(await request.read(), type=shape)
    except msgspec.DecodeError as error:
        raise SimulatorError(str(error)) from error
