"""A link that makes a Telegram chat the contact of a subscription; and what another process heard from the bot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vacancy.clock import iso
from vacancy.errors import UserError
from vacancy.subscriptions.chat_links import Plan
from vacancy.web.api.subscription_bodies import LinkAsked, LinkShown
from vacancy.web.api.wishes import read_locale, read_metadata, read_preferences, read_topic
from vacancy.web.context import HouseDep
from vacancy.web.errors import documented
from vacancy.web.operators import services_only
from vacancy.web.telegram_links import make_link
from vacancy.web.trace import trace_id

_LARGEST: Final = 1 << 20
_JSON: Final = "application/json"
_UPDATE: Final = {
    "type": "object",
    "description": "An Update of Telegram's Bot API, as getUpdates had it.",
    "required": ["update_id"],
    "properties": {"update_id": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}},
    "additionalProperties": True,
}

router = APIRouter(prefix="/api/telegram", tags=["subscriptions"])


@router.post(
    "/link",
    status_code=201,
    summary="Wait for something in a Telegram chat",
    response_model=LinkShown,
    responses={
        **documented("validation_failed", "section_not_found", "section_conflict", "rate_limited", "unavailable"),
        400: documented("channel_unavailable")[400],
    },
)
async def link(request: Request, house: HouseDep, asked: LinkAsked) -> Response:
    """The chat that opens the link first, within a day, is the contact. It needs no other confirmation."""
    house.count_attempt(request.scope)
    source, topic = read_topic(house.desk, asked)
    made = await make_link(
        house,
        Plan(source, topic, read_locale(asked.locale), read_preferences(asked.preferences), read_metadata(asked)),
    )
    body = {"url": made.url, "expiresAt": iso(made.expires_at), "traceId": trace_id(request.scope)}
    return Response(
        msgspec.json.encode(body), 201, media_type="application/json", headers={"Cache-Control": "no-store"}
    )


@router.post(
    "/update",
    status_code=204,
    summary="Hand on what the bot was told",
    dependencies=[Depends(services_only)],
    responses={
        **documented("unauthorized", "validation_failed", "rate_limited", "unavailable"),
        400: documented("channel_unavailable")[400],
    },
    openapi_extra={"requestBody": {"required": True, "content": {_JSON: {"schema": _UPDATE}}}},
)
async def update(request: Request, house: HouseDep) -> Response:
    """For a process that reads the bot's updates in place of this one (`telegram.listen`). 204 once it is done and
    answered, also when it does not concern us; the same update again does nothing more."""
    if house.relay is None:
        line = "there is no bot here: telegram.token is not set"
        raise UserError("channel_unavailable", line, [line])
    await house.relay.take(await _read_update(request))
    return Response(status_code=204)


async def _read_update(request: Request) -> Mapping[str, Any]:
    # A page of somebody else's can make a browser on this machine post anything but this.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        raise _no_update(f"Content-Type must be {_JSON}")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST:
            raise _no_update(f"at most {_LARGEST} bytes are taken")
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise _no_update("it is not JSON") from None
    if not isinstance(said, dict):
        raise _no_update("it is not an object")
    return said


def _no_update(why: str) -> UserError:
    line = f"this is no update of Telegram's: {why}"
    return UserError("validation_failed", line, [line])
