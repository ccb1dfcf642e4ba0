"""Every error an answer can be, in one shape: {"error": {"code", "message", "traceId", "details"?}}. Below /tasks the
shape is another: see `detail`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec
import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from vacancy.errors import CODES, StoreError, UserError
from vacancy.web.detail import detail, speaks_detail
from vacancy.web.trace import trace_id

_log = structlog.stdlib.get_logger(__name__)

Details = Sequence[str] | Mapping[str, object] | None

_BY_STATUS: Final = {404: "not_found", 405: "method_not_allowed"}
_PREFIX: Final = "Value error, "  # which pydantic puts before our own words
_CHALLENGES: Final = {"unauthorized": "Bearer", "identity_unknown": "Bearer"}
_RETRY_AFTER_S: Final = {"too_many_streams": "5", "unavailable": "5", "rate_limited": "60"}


class ErrorBody(BaseModel):
    code: str = Field(description="Stable; what a program decides by.", examples=["validation_failed"])
    message: str = Field(description="One line for a person: what is wrong, and what to do.")
    traceId: str = Field(description="The same as the header X-Trace-Id; finds this request in the log.")  # noqa: N815
    details: list[str] | dict[str, Any] | None = Field(
        default=None, description="Where there is more to say: one line for each bad value, or named values."
    )


class Error(BaseModel):
    """How every error looks."""

    error: ErrorBody


def documented(*codes: str, in_body: bool = False) -> dict[int | str, dict[str, Any]]:
    """These codes as FastAPI wants its `responses`. What is wrong in a body is 400, not 422."""
    found: dict[int | str, dict[str, Any]] = {}
    told = [(CODES[code].status, code) for code in codes]
    for status, code in [*([(400, "validation_failed")] if in_body else []), *told]:
        entry = found.setdefault(status, {"model": Error, "description": ""})
        entry["description"] = f"{entry['description']} `{code}`: {CODES[code].summary}".strip()
    return found


def error_response(
    scope: Scope,
    code: str,
    message: str,
    details: Details = None,
    headers: Mapping[str, str] | None = None,
    status: int | None = None,
) -> Response:
    error: dict[str, Any] = {"code": code, "message": message, "traceId": trace_id(scope)}
    if details is not None:
        error["details"] = details
    body: dict[str, object] = {"error": error}
    if speaks_detail(scope):
        body, status = {"detail": detail(code, message, details)}, CODES[code].status
    sent = {"Cache-Control": "no-store", **(headers or {})}
    if code in _CHALLENGES:
        sent.setdefault("WWW-Authenticate", _CHALLENGES[code])
    if code in _RETRY_AFTER_S:
        sent.setdefault("Retry-After", retry_after(code, details))
    return Response(
        msgspec.json.encode(body), status or CODES[code].status, headers=sent, media_type="application/json"
    )


def add_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(UserError, _user_error)
    app.add_exception_handler(StoreError, _store_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)


def last_resort() -> Middleware:
    """Whatever nobody expected. Inside the trace layer, so that even this answer carries its trace id."""
    return Middleware(ExceptionMiddleware, handlers={Exception: _unexpected})


async def _user_error(request: Request, error: Exception) -> Response:
    known = cast("UserError", error)
    return error_response(request.scope, known.code, known.message, known.details)


async def _store_error(request: Request, error: Exception) -> Response:
    log_store_error(request.scope, error)
    return error_response(request.scope, "unavailable", "The database does not answer right now; try again shortly.")


def log_store_error(scope: Scope, error: Exception) -> None:
    _log.error("the store failed a request", error=str(error), trace_id=trace_id(scope))


async def _http_error(request: Request, error: Exception) -> Response:
    known = cast("HTTPException", error)
    code = _BY_STATUS.get(known.status_code) or ("validation_failed" if known.status_code < 500 else "unavailable")
    message = {
        "not_found": f"There is nothing at {request.url.path}; /docs lists every address.",
        "method_not_allowed": f"{request.url.path} does not take {request.method}.",
    }.get(code, str(known.detail))
    # A body that cannot even be taken apart is the framework's own 400.
    status = known.status_code if code == "validation_failed" else None
    return error_response(request.scope, code, message, headers=known.headers, status=status)


async def _validation_error(request: Request, error: Exception) -> Response:
    wrongs = cast("RequestValidationError", error).errors()
    if speaks_detail(request.scope):
        return error_response(request.scope, "validation_failed", "", {"wrongs": wrongs})
    lines = [f"{_place(wrong['loc'])}: {wrong['msg'].removeprefix(_PREFIX)}" for wrong in wrongs]
    in_body = any(wrong["loc"][0] == "body" for wrong in wrongs)
    return error_response(request.scope, "validation_failed", lines[0], lines, status=400 if in_body else None)


async def _unexpected(request: Request, error: Exception) -> Response:
    where = f"{request.method} {request.url.path}"
    _log.error("a request failed", request=where, trace_id=trace_id(request.scope), exc_info=error)
    return error_response(request.scope, "internal_error", CODES["internal_error"].summary)


def _place(location: Sequence[object]) -> str:
    # FastAPI says where a value came from before it says which one.
    return ".".join(str(step) for step in location[1:]) or str(location[0])


def retry_after(code: str, details: Details) -> str:
    given = details.get("retryAfterS") if isinstance(details, Mapping) else None
    return _RETRY_AFTER_S[code] if given is None else str(given)
