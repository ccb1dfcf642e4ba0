"""What upstreams beside the courses are made to do over their control addresses: misbehave, and move by themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from aiohttp import web

from vacancy.simulator.churn import Churn, Rates
from vacancy.simulator.control import Body, read_body, reply
from vacancy.simulator.errors import SimulatorError
from vacancy.simulator.faults import Faults


class ChurnOrder(Body):
    openings_per_minute: float
    closings_per_minute: float


class Knobs(ABC):
    faults: Faults[Any]
    churn: Churn

    @abstractmethod
    def fault(self, kind: str, **args: object) -> None:
        """From now on."""

    async def add_fault(self, request: web.Request) -> web.Response:
        given = await read_body(request, dict[str, Any])
        kind = given.pop("kind", None)
        if not isinstance(kind, str):
            raise SimulatorError("kind: is missing or not a string")
        self.fault(kind, **given)
        return reply({"faults": self.faults.shown()})

    async def clear_faults(self, _request: web.Request) -> web.Response:
        self.faults.clear()
        return reply({"faults": []})

    async def set_churn(self, request: web.Request) -> web.Response:
        order = await read_body(request, ChurnOrder)
        if min(order.openings_per_minute, order.closings_per_minute) < 0:
            raise SimulatorError("openings_per_minute and closings_per_minute: must not be negative")
        self.churn.set_rates(Rates(order.openings_per_minute, order.closings_per_minute))
        self.churn.set_enabled(order.openings_per_minute + order.closings_per_minute > 0)
        return reply({"enabled": self.churn.enabled})
