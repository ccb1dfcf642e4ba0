"""Times and venues as Resy writes them, made one: what decides is strict, what adorns is taken where it can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from vacancy.model.markets import Market
from vacancy.sources.tables import Bucket, Slot, slot_id

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


@dataclass(frozen=True, slots=True)
class Venue:
    """One hit of one page. `moments` are its free times, normalised; `adornments` is all else that it says."""

    venue_id: str
    name: str
    moments: tuple[str, ...]
    adornments: Mapping[str, Any]


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


def gather(market: Market, bucket: Bucket, seen: Sequence[tuple[int, Mapping[str, Venue]]]) -> dict[str, Slot]:
    """The slots of a bucket out of what was listed for each party size, each with the sizes that it was listed for."""
    first, last = bucket.span
    venues: dict[str, Venue] = {}
    sizes: dict[str, dict[str, set[int]]] = {}
    for size, listed in seen:
        for venue_id, venue in listed.items():
            for moment in venue.moments:
                if first <= moment <= last:
                    venues.setdefault(venue_id, venue)
                    sizes.setdefault(venue_id, {}).setdefault(moment, set()).add(size)
    slots: dict[str, Slot] = {}
    for venue_id, moments in sizes.items():
        for slot in _slots_of(market, venues[venue_id], moments):
            slots[slot.slot_id] = slot
    return slots


def _slots_of(market: Market, venue: Venue, moments: Mapping[str, set[int]]) -> Iterator[Slot]:
    """What does not differ from slot to slot is made once: a bucket has thousands, and every poll makes them."""
    who = {"provider": PROVIDER, "market": market.name, "venueId": venue.venue_id, "venueName": venue.name}
    facts, page = _facts(venue), _booking_page(market, venue)
    takes_a_day = page.startswith(_CITIES) and not {"?", "#"} & set(page)
    for moment, many in moments.items():
        day, at, sizes = moment[:10], moment[11:16], sorted(many)
        link = f"{page}?date={day}&seats={sizes[0]}" if takes_a_day else page
        payload = {**who, "date": day, "time": at, "partySizes": sizes, **facts, "bookUrl": link}
        yield Slot(slot_id(PROVIDER, venue.venue_id, moment), venue.venue_id, venue.name, payload)


def _facts(venue: Venue) -> dict[str, Any]:
    """Only what is there: a reader need not tell null from absent."""
    told = venue.adornments
    place = _inside(told, "location")
    found = {
        "neighborhood": one_line(told.get("neighborhood")) or one_line(place.get("neighborhood")),
        "priceRange": _price(told.get("price_range")),
        "imageUrl": _image(told),
        "rating": _rating(_inside(told, "rating").get("average")),
    }
    return {name: value for name, value in found.items() if value is not None}


def _booking_page(market: Market, venue: Venue) -> str:
    """The venue's page where a name of it is known, else what the upstream calls its page, else the city's."""
    told = venue.adornments
    slug = _slug(told.get("url_slug")) or _slug(told.get("slug"))
    if slug:
        city = _slug(_inside(told, "location").get("url_slug")) or market.city
        return f"{_CITIES}/{city}/venues/{slug}"
    return _own_page(told.get("url")) or _own_page(told.get("resy_url")) or city_page(market)


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
    if not isinstance(value, str) or len(value) > _LONGEST_LINK or not value.isascii() or not value.isprintable():
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
    return " ".join("".join(mark if mark.isprintable() else " " for mark in value).split())[:_LONGEST] or None


def _inside(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = told.get(name)
    return value if isinstance(value, dict) else {}
