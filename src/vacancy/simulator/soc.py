"""The two addresses of the Schedule of Classes."""

from __future__ import annotations

import re
from typing import Final

from aiohttp import web

from vacancy.simulator.answers import COURSES, HTML_TYPE, OPEN_SECTIONS, Answer, Manner, Scene
from vacancy.simulator.delivery import Delivery
from vacancy.simulator.effects import page
from vacancy.simulator.errors import UnknownTargetError
from vacancy.simulator.state import State
from vacancy.simulator.traffic import Record
from vacancy.simulator.world import World

YEAR: Final = re.compile(r"\d{4}", re.ASCII)
ELSEWHERE: Final = "elsewhere"


class Soc:
    def __init__(self, state: State) -> None:
        self._state = state
        self._delivery = Delivery(state.clock, state.faults)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/soc/api/openSections.json", self.open_sections, allow_head=False),
            web.get("/soc/api/courses.json", self.courses, allow_head=False),
            web.get("/elsewhere", self.elsewhere),
        ]

    async def open_sections(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, OPEN_SECTIONS)

    async def courses(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, COURSES)

    async def elsewhere(self, request: web.Request) -> web.StreamResponse:
        """Where a redirect leads: a plausible list, so that a client which follows it is found out."""
        with self._state.traffic.arrival(ELSEWHERE, "", "", dict(request.headers)):
            return web.json_response([])

    async def _serve(self, request: web.Request, endpoint: str) -> web.StreamResponse:
        """`subject` and `level` are accepted and ignored, as upstream does."""
        query = request.query
        campus, year, digit = query.get("campus", ""), query.get("year", ""), query.get("term", "")
        with self._state.traffic.arrival(endpoint, digit + year, campus, dict(request.headers)) as record:
            if not campus or YEAR.fullmatch(year) is None or digit not in {"0", "1", "7", "9"}:
                return await self._refuse(request, record, 400, "400 Bad Request")
            try:
                world = self._state.world(digit + year, campus)
            except UnknownTargetError:
                return await self._refuse(request, record, 404, "404 Not Found")
            answer = self._answer(endpoint, world, record)
            response = await self._delivery.send(request, answer)
            record.status = None if answer.manner is Manner.RESET else answer.status
            return response

    async def _refuse(self, request: web.Request, record: Record, status: int, title: str) -> web.StreamResponse:
        record.status = status
        return await self._delivery.send(request, Answer(page(title), status, HTML_TYPE))

    def _answer(self, endpoint: str, world: World, record: Record) -> Answer:
        scene = Scene(endpoint, world, lambda campus: self._state.other_world(world, campus))
        answer = Answer(scene.body_of(world))
        for fault in self._state.faults.take(lambda fault: fault.meets(endpoint, world.term, world.campus)):
            fault.kind.effect(answer, scene, fault.args)
            record.faults.append(fault.name)
        return answer
