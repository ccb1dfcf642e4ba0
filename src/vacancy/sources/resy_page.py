"""One page of Resy's search, decoded: the whole of it, or what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Final

import msgspec

from vacancy.sources.resy_slots import Venue, normal_moment, one_line

_VENUE_ID: Final = re.compile(r"[0-9A-Za-z_-]{1,64}", re.ASCII)
_MOST_PAGES: Final = 100_000


class _Ids(msgspec.Struct):
    resy: int | str


_Id = int | str | _Ids | None
_Total = Annotated[int, msgspec.Meta(ge=0, le=_MOST_PAGES)] | None


class _Named(msgspec.Struct):
    id: _Id = None


class _Start(msgspec.Struct):
    start: str


class _Offer(msgspec.Struct):
    date: _Start


class _Availability(msgspec.Struct):
    slots: list[_Offer] | None = None


class _Hit(msgspec.Struct):
    """Of what adorns a venue nothing is required, not even its type: a picture that is none spoils no page."""

    name: str
    id: _Id = None
    venue: _Named | None = None
    availability: _Availability | None = None  # null: listed, and nothing is free
    neighborhood: Any = None
    location: Any = None
    price_range: Any = None
    hero_image: Any = None
    image_url: Any = None
    images: Any = None
    rating: Any = None
    url_slug: Any = None
    slug: Any = None
    url: Any = None
    resy_url: Any = None


_DECISIVE: Final = ("name", "id", "venue", "availability")
_ADORNMENTS: Final = tuple(field for field in _Hit.__struct_fields__ if field not in _DECISIVE)


class _Pagination(msgspec.Struct):
    total_pages: _Total = None


class _Search(msgspec.Struct):
    hits: list[_Hit]
    total_pages: _Total = None
    pagination: _Pagination | None = None


class _Body(msgspec.Struct):
    search: _Search
    total_pages: _Total = None


_DECODER: Final = msgspec.json.Decoder(_Body)


@dataclass(frozen=True, slots=True)
class Page:
    """`total` is how many pages there are, where the answer says so. `hits` counts all, also a venue listed twice."""

    total: int | None
    hits: int
    venues: Mapping[str, Venue]


def read_page(body: bytes, day: date) -> Page | str:
    """One malformed hit rejects the whole; then the answer is why."""
    try:
        decoded = _DECODER.decode(body)
        venues = [_read_hit(hit, day) for hit in decoded.search.hits]
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
        return f"the page cannot be read: {error}"
    moments = [moment for venue in venues for moment in venue.moments]
    if moments and not any(moment.startswith(day.isoformat()) for moment in moments):
        return f"the page is of another day: asked for {day}, and its first time is {moments[0]}"
    merged: dict[str, Venue] = {}
    for venue in venues:
        before = merged.get(venue.venue_id)
        merged[venue.venue_id] = _joined(before, venue) if before else venue
    return Page(_total(decoded), len(venues), merged)


def _read_hit(hit: _Hit, day: date) -> Venue:
    venue_id = _venue_id(hit)
    name = one_line(hit.name)
    if name is None:
        raise ValueError(f"venue {venue_id} has no name")
    offers = (hit.availability.slots if hit.availability else None) or ()
    moments = tuple(normal_moment(offer.date.start, day) for offer in offers)
    return Venue(venue_id, name, moments, {field: getattr(hit, field) for field in _ADORNMENTS})


def _venue_id(hit: _Hit) -> str:
    found = hit.venue.id if hit.venue and hit.venue.id is not None else hit.id
    bare = found.resy if isinstance(found, _Ids) else found
    text = str(bare)
    if bare is None or (isinstance(bare, int) and bare < 1) or not _VENUE_ID.fullmatch(text):
        raise ValueError(f"a venue's id is {text[:40]!r}")
    return text


def _joined(first: Venue, second: Venue) -> Venue:
    return Venue(first.venue_id, first.name, first.moments + second.moments, first.adornments)


def _total(body: _Body) -> int | None:
    inner = body.search.pagination.total_pages if body.search.pagination else None
    return next((found for found in (body.total_pages, body.search.total_pages, inner) if found is not None), None)
