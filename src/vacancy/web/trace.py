"""The outermost layer of every answer: its trace id, its count. Plain ASGI, since it is paid on every request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vacancy.web.context import House

TRACE_HEADER: Final = b"x-trace-id"
_ACCEPTED: Final = re.compile(rb"[A-Za-z0-9-]{8,64}")
_NOSNIFF: Final = (b"x-content-type-options", b"nosniff")
# A count by path would let anybody grow the metrics without end.
_NO_ROUTE: Final = "none"


class Trace:
    def __init__(self, app: ASGIApp, house: House, labels: Mapping[object, str]) -> None:
        """`labels`: the endpoint of a plain route, which is all that it leaves behind, and its pattern."""
        self._app = app
        self._labels = labels
        self._dice = house.dice
        self._metrics = house.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        trace_id = _inbound(scope["headers"]) or self._dice.token()
        scope.setdefault("state", {})["trace_id"] = trace_id
        added = ((TRACE_HEADER, trace_id.encode()), _NOSNIFF)
        # What is still unanswered when an exception comes through here becomes a 500.
        status = 500

        async def traced(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        try:
            await self._app(scope, receive, traced)
        finally:
            self._metrics.served(self._route(scope), status)

    def _route(self, scope: Scope) -> str:
        route: Any = scope.get("route")
        if route is not None:
            return str(route.path)
        return self._labels.get(scope.get("endpoint"), _NO_ROUTE)


def trace_id(scope: Scope) -> str:
    found: str = scope["state"]["trace_id"]
    return found


def _inbound(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    for name, value in headers:
        if name == TRACE_HEADER:
            return value.decode() if _ACCEPTED.fullmatch(value) else None
    return None
