"""JSON endpoints of several shapes, and the control addresses that make them misbehave."""

from __future__ import annotations

import msgspec
from aiohttp import web

from vacancy.clock import Clock
from vacancy.simulator.answers import Answer, Manner
from vacancy.simulator.churn import Churn, Rates
from vacancy.simulator.control import Body, read_body, reply
from vacancy.simulator.delivery import Delivery
from vacancy.simulator.errors import SimulatorError
from vacancy.simulator.faults import Faults
from vacancy.simulator.json_boards import Board, Boards
from vacancy.simulator.json_faults import BoardFault, read_board_fault
from vacancy.simulator.knobs import Knobs
from vacancy.simulator.traffic import Traffic


class ItemsOrder(Body):
    board: str
    open: tuple[str, ...] = ()
    close: tuple[str, ...] = ()


class Step(Body):
    board: str
    openings: int = 0
    closings: int = 0


class JsonApi(Knobs):
    """What it serves, and how it misbehaves."""

    def __init__(self, clock: Clock, traffic: Traffic, seed: int, rates: Rates) -> None:
        self.boards = Boards(seed)
        self.faults: Faults[BoardFault] = Faults()
        self.churn = Churn(clock, rates, self.boards.every.values)
        self._traffic = traffic
        self._delivery = Delivery(clock, self.faults)

    def fault(self, kind: str, **args: object) -> None:
        fault = read_board_fault(kind, args)
        if fault.board is not None:
            self.boards.board(fault.board)
        self.faults.add(fault)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/json/{board}", self.serve),
            web.get("/control/json", self.show),
            web.post("/control/json/faults", self.add_fault),
            web.delete("/control/json/faults", self.clear_faults),
            web.post("/control/json/items", self.set_items),
            web.post("/control/json/step", self.step),
            web.post("/control/json/churn", self.set_churn),
        ]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        board = self.boards.board(request.match_info["board"])
        with self._traffic.arrival("json", board.term, board.name, dict(request.headers)) as record:
            answer, names = self._answer(board)
            record.faults += names
            response = await self._delivery.send(request, answer)
            record.status = None if answer.manner is Manner.RESET else answer.status
            return response

    def _answer(self, board: Board) -> tuple[Answer, list[str]]:
        content = board.content()
        met = self.faults.take(lambda fault: fault.meets(board.name))
        for fault in met:
            if fault.kind.change:
                content = fault.kind.change(content, board.shape, fault.args)
        answer = Answer(msgspec.json.encode(content))
        for fault in met:
            if fault.kind.effect:
                fault.kind.effect(answer, board, fault.args)
        return answer, [fault.name for fault in met]

    async def show(self, _request: web.Request) -> web.Response:
        boards = {
            name: {"items": list(board.things), "open": sorted(board.open_keys)}
            for name, board in self.boards.every.items()
        }
        return reply({"boards": boards, "faults": self.faults.shown(), "churn": {"enabled": self.churn.enabled}})

    async def set_items(self, request: web.Request) -> web.Response:
        order = await read_body(request, ItemsOrder)
        board = self.boards.board(order.board)
        board.set_items(order.open, order.close)
        return reply({"open": sorted(board.open_keys)})

    async def step(self, request: web.Request) -> web.Response:
        order = await read_body(request, Step)
        if min(order.openings, order.closings) < 0:
            raise SimulatorError("openings and closings: must not be negative")
        return reply({"moved": self.boards.board(order.board).step(openings=order.openings, closings=order.closings)})
