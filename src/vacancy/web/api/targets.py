"""`GET /api/targets`: what is polled, and how fresh it is."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, field_serializer
from pydantic.alias_generators import to_camel

from vacancy.clock import iso
from vacancy.store import target_overview
from vacancy.web.context import HouseDep

router = APIRouter(prefix="/api", tags=["targets"])


class _Shown(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, from_attributes=True)


class TargetError(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    code: str
    message: str


class Target(_Shown):
    source: str = Field(examples=["soc"])
    key: str = Field(examples=["12025|NB"])
    state: Literal["new", "fresh", "stale", "held", "paused"]
    polls: int = Field(description="Answered polls.")
    last_complete_at: datetime | None
    last_attempt_at: datetime | None
    next_poll_at: datetime
    open_count: int
    failures: int = Field(description="Failures in a row.")
    failing_since: datetime | None
    last_error: TargetError | None
    held_since: datetime | None = Field(description="Since when answers are not believed until they are confirmed.")
    baseline_at: datetime | None

    @field_serializer("last_complete_at", "last_attempt_at", "next_poll_at", "failing_since", "held_since",
                      "baseline_at")  # fmt: skip
    def _time(self, moment: datetime | None) -> str | None:
        return None if moment is None else iso(moment)


class TargetList(BaseModel):
    items: list[Target]


@router.get("/targets", summary="What is polled, and how fresh it is")
async def targets(
    house: HouseDep,
    everything: Annotated[bool, Query(alias="all", description="Also targets that feed others.")] = False,
) -> TargetList:
    views = await house.store.read(target_overview.overview, house.intervals, everything=everything)
    return TargetList(items=[Target.model_validate(view) for view in views])
