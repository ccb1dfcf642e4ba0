"""A page says in words what an address of the API says in JSON."""

from __future__ import annotations

from typing import Final

from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import Response

from vacancy.errors import StoreError, UserError
from vacancy.web.errors import log_store_error, retry_after
from vacancy.web.pages.render import page

# What came in a form is the body's: its status is 400, as it is in the API.
_BODY_STATUS: Final = 400


class Page(HTTPEndpoint):
    """`get` shows, `post` does; whatever they cannot do is a page as well."""

    async def dispatch(self) -> None:
        request = Request(self.scope, self.receive)
        try:
            await super().dispatch()
        except UserError as error:
            await trouble(request, error)(self.scope, self.receive, self.send)
        except StoreError as error:
            log_store_error(self.scope, error)
            busy = UserError("unavailable", "the database does not answer right now")
            await trouble(request, busy)(self.scope, self.receive, self.send)


def trouble(request: Request, error: UserError) -> Response:
    return page(request, "trouble.html", status_of(error), headers_of(error), code=error.code)


def status_of(error: UserError) -> int:
    return _BODY_STATUS if error.code == "validation_failed" else error.status


def headers_of(error: UserError) -> dict[str, str]:
    if error.code not in ("rate_limited", "unavailable"):
        return {}
    return {"Retry-After": retry_after(error.code, error.details)}
