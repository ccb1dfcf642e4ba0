"""Who asks below /tasks. The header names somebody, and the service token proves that whoever sent it may name him."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any, Final

from fastapi import Depends, Header
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from vacancy.errors import UserError
from vacancy.model.tasks import LARGEST
from vacancy.tasks import workflow
from vacancy.web.context import house
from vacancy.web.operators import check_service
from vacancy.web.parameters import refuse

_HEADER: Final = "X-User-Id"
_UNKNOWN: Final = "identity_unknown"
_INTEGER: Final = re.compile(r"-?[0-9]+", re.ASCII)
_LONGEST: Final = len(str(LARGEST))

Handle = Callable[[Request], Awaitable[Response]]
Token = Annotated[str | None, Header(alias="Authorization", description="`Bearer` and `tasks.service_token`.")]


class ServiceRoute(APIRoute):
    """For whoever has the service token. Asked before the body is so much as read: identity comes first."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        plain = super().get_route_handler()

        async def handle(request: Request) -> Response:
            check_service(house(request), request.scope, request.headers.get("authorization"), _UNKNOWN)
            return await self.admit(request, plain)

        return handle

    async def admit(self, request: Request, plain: Handle) -> Response:
        _once_each(request)
        return await plain(request)


class CallerRoute(ServiceRoute):
    """For one of the users. The step itself looks him up, in its own transaction."""

    async def admit(self, request: Request, plain: Handle) -> Response:
        user_id = _user_id(request)
        try:
            return await super().admit(request, plain)
        except (RequestValidationError, HTTPException, UserError) as wrong:
            # What is wrong with the input is for known users to hear.
            if not isinstance(wrong, UserError) or wrong.code == "validation_failed":
                await house(request).store.read(workflow.caller, user_id)
            raise


def _caller(
    x_user_id: Annotated[int, Header(ge=1, le=LARGEST, description="Who asks: a number of `users`.")],
    _authorization: Token = None,
) -> int:
    return x_user_id


def _service(_authorization: Token = None) -> None:
    """Checked by the route; stands here to be described."""


Caller = Annotated[int, Depends(_caller)]
Service = Annotated[None, Depends(_service)]


def _user_id(request: Request) -> int:
    """Who is named by no number that a user can have is not known; what is no number at all is malformed."""
    given = request.headers.getlist(_HEADER)
    if not given:
        raise UserError(_UNKNOWN, "X-User-Id is needed: the number of the user who asks.")
    if len(given) > 1 or not _INTEGER.fullmatch(given[0]):
        raise RequestValidationError([
            {"type": "int_parsing", "loc": ("header", _HEADER), "msg": "must be one whole number"}
        ])  # fmt: skip
    if len(given[0]) > _LONGEST or not 1 <= int(given[0]) <= LARGEST:
        raise UserError(_UNKNOWN, "X-User-Id names no active user.")
    return int(given[0])


def _once_each(request: Request) -> None:
    """Of a cursor that is given twice nobody knows which is meant."""
    counts = Counter(name for name, _ in request.query_params.multi_items())
    refuse([f"{name[:64]}: must not be given twice" for name, count in counts.items() if count > 1])
