"""One page of Resy's search, decoded: the whole of it, or what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Annotated, Any, Final

import msgspec

from vacancy.sources.resy_slots import Venue, normal_moment, one_line, read_adornments

NOTHING_READ: Final[Mapping[int, Venue]] = MappingProxyType({})
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


class _Pagination(msgspec.Struct):
    total_pages: _Total = None


class _Search(msgspec.Struct):
    hits: list[msgspec.Raw]
    total_pages: _Total = None
    pagination: _Pagination | None = None


class _Body(msgspec.Struct):
    search: _Search
    total_pages: _Total = None


_BODY: Final = msgspec.json.Decoder(_Body)
_HIT: Final = msgspec.json.Decoder(_Hit)


@dataclass(frozen=True, slots=True)
class Page:
    """`total` is how many pages there are, where the answer says so. `hits` counts all, also a venue listed twice."""

    total: int | None
    hits: int
    venues: Mapping[str, Venue]


class Reader:
    """Reads the pages of one poll. A hit of the same bytes as in the poll before is what it was then: few change."""

    def __init__(self, day: date, before: Mapping[int, Venue] = NOTHING_READ) -> None:
        self._day = day
        self._before = before
        self.hits: dict[int, Venue] = {}  # by the hash of its bytes

    def read(self, body: bytes) -> Page | str:
        """One malformed hit rejects the whole; then the answer is why."""
        try:
            decoded = _BODY.decode(body)
            venues = [self._read_hit(bytes(hit)) for hit in decoded.search.hits]
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
            return f"the page cannot be read: {error}"
        if why := self._of_another_day(venues):
            return why
        merged: dict[str, Venue] = {}
        for venue in venues:
            before = merged.get(venue.venue_id)
            merged[venue.venue_id] = _joined(before, venue) if before else venue
        return Page(_total(decoded), len(venues), merged)

    def _read_hit(self, hit: bytes) -> Venue:
        number = hash(hit)
        venue = self._before.get(number) or _read_hit(_HIT.decode(hit), self._day)
        self.hits[number] = venue
        return venue

    def _of_another_day(self, venues: Sequence[Venue]) -> str | None:
        day = self._day.isoformat()
        if any(moment.startswith(day) for venue in venues for moment in venue.moments):
            return None
        first = next((venue.moments[0] for venue in venues if venue.moments), None)
        return first and f"the page is of another day: asked for {day}, and its first time is {first}"


def _read_hit(hit: _Hit, day: date) -> Venue:
    venue_id = _venue_id(hit)
    name = one_line(hit.name)
    if name is None:
        raise ValueError(f"venue {venue_id} has no name")
    offers = (hit.availability.slots if hit.availability else None) or ()
    moments = tuple(normal_moment(offer.date.start, day) for offer in offers)
    return Venue(venue_id, name, moments, read_adornments(msgspec.structs.asdict(hit)))


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
