"""A link that makes a Telegram chat the contact of a subscription."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from vacancy.clock import iso
from vacancy.subscriptions.chat_links import Plan
from vacancy.web.api.subscription_bodies import LinkAsked, LinkShown
from vacancy.web.api.wishes import read_locale, read_metadata, read_preferences, read_topic
from vacancy.web.context import HouseDep
from vacancy.web.errors import documented
from vacancy.web.telegram_links import make_link
from vacancy.web.trace import trace_id

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
