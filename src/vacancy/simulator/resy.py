"""The search for tables: one address, pages, tokens; and the control addresses that make it misbehave."""

from __future__ import annotations

from collections import deque
from typing import Annotated, Any, Final

import msgspec
from aiohttp import web

from vacancy.clock import Clock
from vacancy.simulator.answers import Answer, Manner
from vacancy.simulator.churn import Churn, Rates
from vacancy.simulator.control import Body, read_body, reply
from vacancy.simulator.delivery import Delivery
from vacancy.simulator.errors import SimulatorError
from vacancy.simulator.faults import Faults
from vacancy.simulator.knobs import Knobs
from vacancy.simulator.resy_faults import LOGIN, Asked, TableFault, read_table_fault
from vacancy.simulator.resy_world import Tables
from vacancy.simulator.traffic import KEPT_RECORDS, Traffic

SEARCH: Final = "venuesearch"
MARKET: Final = "nyc"
_DAY: Final = r"^\d{4}-\d{2}-\d{2}$"
_HOUR: Final = r"^\d{2}:00$"


class SlotFilter(msgspec.Struct):
    day: Annotated[str, msgspec.Meta(pattern=_DAY)]
    party_size: Annotated[int, msgspec.Meta(ge=1, le=20)]
    time_filter: Annotated[str, msgspec.Meta(pattern=_HOUR)] | None = None


class Geo(msgspec.Struct):
    bounding_box: tuple[float, float, float, float]


class Query(msgspec.Struct):
    slot_filter: SlotFilter
    geo: Geo
    page: Annotated[int, msgspec.Meta(ge=1)]
    per_page: Annotated[int, msgspec.Meta(ge=1, le=200)]
    types: list[str]
    availability: bool


class TablesOrder(Body):
    day: Annotated[str, msgspec.Meta(pattern=_DAY)]
    venue: int
    open: tuple[str, ...] = ()
    close: tuple[str, ...] = ()


class Step(Body):
    openings: int = 0
    closings: int = 0


class TokenOrder(Body):
    """Null: any token will do. None in the list: every one is expired."""

    accepted: list[str] | None


class Resy(Knobs):
    """What it serves, and how it misbehaves. `accepted` are the tokens that are not expired; None takes any."""

    def __init__(self, clock: Clock, traffic: Traffic, seed: int, scale: float, rates: Rates) -> None:
        self.tables = Tables(seed, scale, MARKET)
        self.faults: Faults[TableFault] = Faults()
        self.churn = Churn(clock, rates, lambda: [self.tables])
        self.accepted: frozenset[str] | None = None
        self.queries: deque[Query] = deque(maxlen=KEPT_RECORDS)
        self._traffic = traffic
        self._delivery = Delivery(clock, self.faults)

    def fault(self, kind: str, **args: object) -> None:
        self.faults.add(read_table_fault(kind, args))

    def expire_tokens(self) -> None:
        self.accepted = frozenset()

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/resy/3/venuesearch/search", self.search),
            web.get(LOGIN, self.login),
            web.get("/control/resy", self.show),
            web.get("/control/resy/tables", self.show_tables),
            web.post("/control/resy/faults", self.add_fault),
            web.delete("/control/resy/faults", self.clear_faults),
            web.post("/control/resy/tables", self.set_tables),
            web.post("/control/resy/step", self.step),
            web.post("/control/resy/tokens", self.set_tokens),
            web.post("/control/resy/churn", self.set_churn),
        ]

    async def search(self, request: web.Request) -> web.StreamResponse:
        try:
            query = msgspec.json.decode(await request.read(), type=Query)
        except msgspec.DecodeError as error:
            return web.json_response({"status": 400, "message": str(error)}, status=400)
        self.queries.append(query)
        asked = query.slot_filter
        with self._traffic.arrival(SEARCH, asked.day, f"{asked.party_size}", dict(request.headers)) as record:
            answer, names = self._answer(request, query)
            record.faults += names
            response = await self._delivery.send(request, answer)
            record.status = None if answer.manner is Manner.RESET else answer.status
            return response

    async def login(self, request: web.Request) -> web.StreamResponse:
        """Where those are sent whose token is expired: nobody should follow."""
        with self._traffic.arrival("login", "", "", dict(request.headers)):
            return web.Response(text="<h1>Log in</h1>", content_type="text/html")

    def _answer(self, request: web.Request, query: Query) -> tuple[Answer, list[str]]:
        if self._is_expired(request):
            answer = Answer(b"")
            fault = read_table_fault("login", {})
            _apply(answer, fault, Asked("", 0, 0))
            return answer, [fault.name]
        hits = self.tables.listed(query.slot_filter.day, query.slot_filter.party_size, query.slot_filter.time_filter)
        start = (query.page - 1) * query.per_page
        before = tuple(hits[max(0, start - query.per_page) : start])
        asked = Asked(query.slot_filter.day, query.slot_filter.party_size, query.page, before)
        content: dict[str, Any] = {
            "search": {"hits": hits[start : start + query.per_page], "total_pages": -(-len(hits) // query.per_page)}
        }
        met = self.faults.take(lambda fault: fault.meets(asked))
        for fault in met:
            if fault.kind.change:
                fault.kind.change(content, asked, fault.args)
        answer = Answer(msgspec.json.encode(content))
        for fault in met:
            _apply(answer, fault, asked)
        return answer, [fault.name for fault in met]

    def _is_expired(self, request: web.Request) -> bool:
        if self.accepted is None:
            return False
        is_keyed = request.headers.get("Authorization", "").startswith('ResyAPI api_key="')
        return not is_keyed or request.headers.get("x-resy-auth-token") not in self.accepted

    async def show(self, _request: web.Request) -> web.Response:
        rates = self.churn.rates_of(MARKET)
        return reply(
            {
                "market": MARKET,
                "venues": len(self.tables.restaurants),
                "days": self.tables.days,
                "tokens": None if self.accepted is None else sorted(self.accepted),
                "churn": {
                    "enabled": self.churn.enabled,
                    "openings_per_minute": rates.openings_per_minute,
                    "closings_per_minute": rates.closings_per_minute,
                },
                "faults": self.faults.shown(),
            }
        )

    async def show_tables(self, request: web.Request) -> web.Response:
        day = request.query.get("day", "")
        numbers = self.tables.restaurants
        return reply({str(number): sorted(self.tables.free(day, number)) for number in numbers})

    async def set_tables(self, request: web.Request) -> web.Response:
        order = await read_body(request, TablesOrder)
        self.tables.set_tables(order.day, order.venue, order.open, order.close)
        return reply({"free": sorted(self.tables.free(order.day, order.venue))})

    async def step(self, request: web.Request) -> web.Response:
        order = await read_body(request, Step)
        if min(order.openings, order.closings) < 0:
            raise SimulatorError("openings and closings: must not be negative")
        return reply({"moved": self.tables.step(openings=order.openings, closings=order.closings)})

    async def set_tokens(self, request: web.Request) -> web.Response:
        order = await read_body(request, TokenOrder)
        self.accepted = None if order.accepted is None else frozenset(order.accepted)
        return reply({"accepted": order.accepted})


def _apply(answer: Answer, fault: TableFault, asked: Asked) -> None:
    if fault.kind.effect:
        fault.kind.effect(answer, asked, fault.args)
