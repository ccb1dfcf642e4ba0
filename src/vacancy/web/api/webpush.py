"""`GET /api/webpush/key`: what a browser needs before it can be told."""

from __future__ import annotations

from typing import Final, cast

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from vacancy.channels.base import Keyed
from vacancy.web.context import HouseDep
from vacancy.web.errors import documented
from vacancy.web.trace import trace_id

router = APIRouter(prefix="/api", tags=["subscriptions"])
_CHANNEL: Final = "webpush"


class PushKey(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    public_key: str = Field(description="For `pushManager.subscribe`, as `applicationServerKey`: base64url.")
    trace_id: str


@router.get("/webpush/key", summary="The key that browsers subscribe under", responses=documented(
    "validation_failed", "channel_unavailable"
))  # fmt: skip
async def webpush_key(request: Request, response: Response, house: HouseDep) -> PushKey:
    """The subscription that the browser then makes, as JSON text, is a `contactValue` of type `webpush`."""
    channel = cast("Keyed", house.desk.channel(_CHANNEL))
    response.headers["Cache-Control"] = "no-store"
    return PushKey(public_key=channel.public_key, trace_id=trace_id(request.scope))
