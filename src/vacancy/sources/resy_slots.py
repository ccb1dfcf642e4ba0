"""Times and venues as Resy writes them, made one: what decides is strict, what adorns is taken where it can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from vacancy.model.availability import Group, Item
from vacancy.model.markets import Market
from vacancy.sources.tables import Bucket, slot_id

PROVIDER: Final = "resy"
_MOMENT: Final = re.compile(
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt]| +))?"
    r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.0+)?)?"
    r"(?: *([AaPp])\.?[Mm]\.?)?",
    re.ASCII,
)
_SLUG: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_SITE: Final = "resy.com"
_CITIES: Final = f"https://{_SITE}/cities"
_LONGEST: Final = 200
_LONGEST_LINK: Final = 1000


class Adornments(msgspec.Struct, frozen=True, gc=False):
    """All else that a hit says and that is of use, as far as it can be read."""

    neighborhood: str | None = None
    price_range: int | str | None = None
    image_url: str | None = None
    rating: float | None = None
    slug: str | None = None
    city: str | None = None
    page: str | None = None


_NONE: Final = Adornments()


@dataclass(frozen=True, slots=True)
class Venue:
    """One hit of one page. `moments` are its free times, normalised."""

    venue_id: str
    name: str
    moments: tuple[str, ...]
    adornments: Adornments = _NONE


@lru_cache(maxsize=8192)  # every poll reads the same few hundred again
def normal_moment(text: str, day: date) -> str:
    """`YYYY-MM-DD HH:MM:SS`, however it was written; ValueError if it is no time. One that names a zone is refused: it
    could be that of the market or another, and a wrong guess would make every slot a new one."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text[:40]!r} is no time")
    try:
        on = date.fromisoformat(found[1]) if found[1] else day
        at = time(_hour(int(found[2]), found[5]), int(found[3]), int(found[4] or 0))
    except ValueError:
        raise ValueError(f"{text[:40]!r} is no time") from None
    return f"{on.isoformat()} {at.isoformat()}"


def _hour(hour: int, half: str | None) -> int:
    if half is None:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError("a clock of twelve hours has no such hour")
    return hour % 12 + (12 if half in "Pp" else 0)


Offers = list[tuple[int, Venue]]


class Shelf:
    """The slots of one bucket, from poll to poll: those of a venue that says what it said the last time stay the same
    objects. A bucket has thousands, and few of them change."""

    def __init__(self, market: Market, bucket: Bucket) -> None:
        self._market = market
        self._bucket = bucket
        self._venues: dict[str, tuple[Offers, Mapping[str, Item]]] = {}
        self._groups: dict[str, tuple[Venue, Group]] = {}

    def gather(self, seen: Sequence[tuple[int, Mapping[str, Venue]]]) -> dict[str, Item]:
        """Out of what was listed for each party size; a slot has the sizes that it was listed for."""
        offered: dict[str, Offers] = {}
        for size, listed in seen:
            for venue_id, venue in listed.items():
                if venue.moments:
                    offered.setdefault(venue_id, []).append((size, venue))
        before, self._venues = self._venues, {}
        slots: dict[str, Item] = {}
        for venue_id, offers in offered.items():
            known = before.get(venue_id)
            if known is None or known[0] != offers:
                known = offers, self._lay_out(offers)
            self._venues[venue_id] = known
            slots.update(known[1])
        return slots

    def groups(self, seen: Sequence[tuple[int, Mapping[str, Venue]]]) -> Mapping[str, Group]:
        """All that are listed, also those without a table."""
        before, self._groups = self._groups, {}
        for _, listed in seen:
            for venue_id, venue in listed.items():
                if venue_id not in self._groups:
                    known = before.get(venue_id)
                    is_same = known is not None and known[0] is venue
                    self._groups[venue_id] = known if known and is_same else (venue, _group(self._market, venue))
        return {venue_id: group for venue_id, (_, group) in self._groups.items()}

    def _lay_out(self, offers: Offers) -> Mapping[str, Item]:
        first, last = self._bucket.span
        sizes: dict[str, set[int]] = {}
        for size, venue in offers:
            for moment in venue.moments:
                if first <= moment <= last:
                    sizes.setdefault(moment, set()).add(size)
        return {slot.key: slot for slot in _slots_of(self._market, offers[0][1], sizes)} if sizes else {}


def _group(market: Market, venue: Venue) -> Group:
    told = venue.adornments
    return Group(venue.name, told.neighborhood, told.image_url, _booking_page(market, venue))


def _slots_of(market: Market, venue: Venue, moments: Mapping[str, set[int]]) -> Iterator[Item]:
    """What does not differ from slot to slot is made once."""
    who = {"provider": PROVIDER, "market": market.name, "venueId": venue.venue_id, "venueName": venue.name}
    facts, page = _facts(venue), _booking_page(market, venue)
    takes_a_day = page.startswith(_CITIES) and not {"?", "#"} & set(page)
    for moment, many in moments.items():
        day, at, sizes = moment[:10], moment[11:16], sorted(many)
        link = f"{page}?date={day}&seats={sizes[0]}" if takes_a_day else page
        payload = {**who, "date": day, "time": at, "partySizes": sizes, **facts, "bookUrl": link}
        yield Item(slot_id(PROVIDER, venue.venue_id, moment), venue.venue_id, payload)


def read_adornments(told: Mapping[str, Any]) -> Adornments:
    place = _inside(told, "location")
    return Adornments(
        one_line(told.get("neighborhood")) or one_line(place.get("neighborhood")),
        _price(told.get("price_range")),
        _image(told),
        _rating(_inside(told, "rating").get("average")),
        _slug(told.get("url_slug")) or _slug(told.get("slug")),
        _slug(place.get("url_slug")),
        _own_page(told.get("url")) or _own_page(told.get("resy_url")),
    )


def _facts(venue: Venue) -> dict[str, Any]:
    """Only what is there: a reader need not tell null from absent."""
    told = venue.adornments
    found = {
        "neighborhood": told.neighborhood,
        "priceRange": told.price_range,
        "imageUrl": told.image_url,
        "rating": told.rating,
    }
    return {name: value for name, value in found.items() if value is not None}


def _booking_page(market: Market, venue: Venue) -> str:
    """The venue's page where a name of it is known, else what the upstream calls its page, else the city's."""
    told = venue.adornments
    if told.slug:
        return f"{_CITIES}/{told.city or market.city}/venues/{told.slug}"
    return told.page or city_page(market)


def city_page(market: Market) -> str:
    return f"{_CITIES}/{market.city}"


def _own_page(value: object) -> str | None:
    """A page of the site itself: nobody is sent elsewhere on an upstream's word."""
    link = _link(value)
    host = (urlsplit(link).hostname or "") if link else ""
    return link if host == _SITE or host.endswith(f".{_SITE}") else None


def _image(told: Mapping[str, Any]) -> str | None:
    images = told.get("images")
    first = images[0] if isinstance(images, list) and images else None
    return _link(told.get("hero_image")) or _link(told.get("image_url")) or _link(first)


def _link(value: object) -> str | None:
    return _checked_link(value) if isinstance(value, str) and len(value) <= _LONGEST_LINK else None


@lru_cache(maxsize=2048)  # every poll reads the same few hundred again
def _checked_link(value: str) -> str | None:
    if not value.isascii() or not value.isprintable():
        return None
    try:
        parts = urlsplit(value)
    except ValueError:
        return None
    return value if parts.scheme == "https" and parts.hostname and " " not in value else None


def _slug(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= _LONGEST and _SLUG.fullmatch(value) else None


def _price(value: object) -> int | str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 < value < 10 else None
    return one_line(value)


def _rating(value: object) -> float | None:
    """To one place: it moves with every guest, and would make every answer a new one."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 5:
        return None
    return round(float(value), 1)


def one_line(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    if not value.isprintable():
        value = "".join(mark if mark.isprintable() else " " for mark in value)
    return " ".join(value.split())[:_LONGEST] or None


def _inside(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = told.get(name)
    return value if isinstance(value, dict) else {}
