"""What the readers of tables answer, as the OpenAPI document tells it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

State = Literal["new", "fresh", "stale", "held", "paused"]


class _Shown(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class OpenVenue(_Shown):
    venue_id: str = Field(examples=["834"])
    name: str | None
    neighborhood: str | None
    times: list[str] = Field(description="Each once, sorted.", examples=[["19:30", "20:30"]])
    party_sizes: list[int] = Field(description="Those that a table shown here is free for.")
    book_url: str | None = Field(description="Where the first of these times is booked.")
    image_url: str | None
    opened_at: str = Field(description="When the newest of these tables opened; of `just-opened`, its event.")


class _Day(_Shown):
    date: str = Field(examples=["2026-02-28"])
    state: State = Field(description="That of the day's worst bucket: held, stale, paused, new, fresh.")
    checked_at: str | None = Field(description="The oldest whole answer among the day's buckets; null: one has none.")


class OpenDay(_Day):
    venues: list[OpenVenue]


class CountedDay(_Day):
    venues: int = Field(description="How many have a table.")
    just_opened: int


class _AsOf(_Shown):
    as_of_event_id: int = Field(description="All events up to this one are counted in; go on after it.")


class OpenDays(_AsOf):
    """Every day that is watched and asked for, in order, also one with nothing on it."""

    days: list[OpenDay]


class CountedDays(_AsOf):
    days: list[CountedDay]


class DayOfVenue(_Shown):
    date: str
    openings: int
    slots: int


class OpenFor(_Shown):
    episodes: int = Field(description="Tables that opened and were taken again, each by its last time.")
    median_s: float | None
    p90_s: float | None = Field(alias="p90S")


class FoundVenue(_Shown):
    venue_id: str = Field(examples=["834"])
    name: str
    neighborhood: str | None
    image_url: str | None
    book_url: str | None
    topic: str = Field(description="What to subscribe to.", examples=["resy:venue/834"])


class FoundVenues(_Shown):
    items: list[FoundVenue]


class VenuePage(_AsOf):
    venue_id: str
    name: str | None
    neighborhood: str | None
    image_url: str | None
    time_zone: str = Field(examples=["America/New_York"])
    since: str
    openings: int
    by_day: list[DayOfVenue] = Field(description="By the day on which they were seen, the oldest first.")
    by_hour: list[int] = Field(description="Openings by the hour of the day, from midnight on.", min_length=24)
    open_for: OpenFor
    open_now: list[OpenDay]
