"""`GET /api/venues`: venues by name. `GET /api/venues/{venueId}`: how often one opens, how long it stays open, when."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, time, timedelta
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from vacancy.clock import iso
from vacancy.errors import UserError
from vacancy.model.markets import MARKETS
from vacancy.sources.resy_topics import venue_topic
from vacancy.store import venue_history
from vacancy.store import venues as venue_rows
from vacancy.store.venue_history import History, Opening
from vacancy.store.venues import Venue
from vacancy.web.api import slot_days
from vacancy.web.api.open_tables import SOURCE
from vacancy.web.api.slot_days import EVERYTHING
from vacancy.web.api.table_shapes import FoundVenues, VenuePage
from vacancy.web.api.tables import VENUE
from vacancy.web.context import House, HouseDep
from vacancy.web.errors import documented

router = APIRouter(prefix="/api", tags=["tables"])

DAYS: Final = 30
DEFAULT_LIMIT: Final = 20
MOST: Final = 100
_ERRORS: Final = documented("not_found", "unavailable")
_VENUE: Final = re.compile(VENUE, re.ASCII)


@router.get("/venues", summary="Venues by name", response_model=FoundVenues, responses=documented("unavailable"))
async def venues(
    house: HouseDep,
    q: Annotated[str, Query(max_length=200, description="Beginnings of words of its name, in any order.")] = "",
    limit: Annotated[int, Query(ge=1, le=MOST, description="How many venues at most.")] = DEFAULT_LIMIT,
) -> Response:
    """Every venue that was ever listed, also where no table was ever free: `topic` can be waited for. By name; case and
    accents do not matter. Without `q` the first by name.
    """
    found = await house.store.read(venue_rows.search, SOURCE, q, limit)
    return _json({"items": [_found(each) for each in found]})


def _found(venue: Venue) -> dict[str, Any]:
    return {
        "venueId": venue.venue_id, "name": venue.name, "neighborhood": venue.neighborhood,
        "imageUrl": venue.image_url, "bookUrl": venue.book_url, "topic": venue_topic(venue.venue_id),
    }  # fmt: skip


@router.get("/venues/{venue_id}", summary="One venue", response_model=VenuePage, responses=_ERRORS)
async def venue(house: HouseDep, venue_id: str) -> Response:
    """How it opened in the last 30 days, today included, and what is open there now. Days and hours are those of the
    city. Tables that opened at once are one opening.
    """
    zone = ZoneInfo(MARKETS[house.settings.resy.market].time_zone)
    first = house.clock.now().astimezone(zone).date() - timedelta(days=DAYS - 1)
    since = datetime.combine(first, time(), zone)
    history = None
    if _VENUE.fullmatch(venue_id):
        history = await house.store.read(venue_history.of_group, SOURCE, venue_id, since)
    if history is None:
        raise UserError("not_found", f"a venue {venue_id[:64]!r} was never listed here")
    return _json(_view(house, venue_id, history, since, zone))


def _view(house: House, venue_id: str, history: History, since: datetime, zone: ZoneInfo) -> dict[str, Any]:
    open_for = history.open_for
    return {
        "venueId": venue_id,
        **_words(history),
        "timeZone": zone.key,
        "since": iso(since),
        "openings": len(history.openings),
        "byDay": _by_day(history.openings, since, zone),
        "byHour": _by_hour(history.openings, zone),
        "openFor": {"episodes": open_for.episodes, "medianS": open_for.median_s, "p90S": open_for.p90_s},
        "openNow": _open_now(house, history),
        "asOfEventId": history.open_now.newest_event,
    }


def _words(history: History) -> dict[str, str | None]:
    """As its tables told last; of one that never had any, as it is listed."""
    if history.words:
        said = history.words
        return {"name": said.venue_name, "neighborhood": said.neighborhood, "imageUrl": said.image_url}
    listed = history.listed
    if listed:
        return {"name": listed.name, "neighborhood": listed.neighborhood, "imageUrl": listed.image_url}
    return {"name": None, "neighborhood": None, "imageUrl": None}


def _by_day(openings: Sequence[Opening], since: datetime, zone: ZoneInfo) -> list[dict[str, Any]]:
    times, slots = Counter[str](), Counter[str]()
    for opening in openings:
        day = opening.at.astimezone(zone).date().isoformat()
        times[day] += 1
        slots[day] += opening.slots
    dates = [(since.date() + timedelta(days=ahead)).isoformat() for ahead in range(DAYS)]
    return [{"date": day, "openings": times[day], "slots": slots[day]} for day in dates]


def _by_hour(openings: Sequence[Opening], zone: ZoneInfo) -> list[int]:
    counts = Counter(opening.at.astimezone(zone).hour for opening in openings)
    return [counts[hour] for hour in range(24)]


def _open_now(house: House, history: History) -> list[dict[str, Any]]:
    """Days on which something is."""
    found = []
    for day in slot_days.days(history.open_now, EVERYTHING, house.intervals.get(SOURCE, slot_days.DEFAULT_INTERVAL_S)):
        cards = slot_days.cards(day, EVERYTHING)
        if cards:
            found.append({**slot_days.day_fields(day), "venues": cards})
    return found


def _json(body: Any) -> Response:
    return Response(msgspec.json.encode(body), media_type="application/json", headers={"Cache-Control": "no-store"})
