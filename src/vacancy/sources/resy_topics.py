"""What can be waited for at Resy: a venue, or a venue on one day."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from vacancy.errors import UserError
from vacancy.model.availability import Item
from vacancy.model.events import Description
from vacancy.model.markets import MARKETS
from vacancy.model.topics import ItemName, Topic
from vacancy.settings_sections import ResySettings
from vacancy.sources.resy_slots import city_page
from vacancy.sources.tables import read_bucket
from vacancy.store import item_facts
from vacancy.store.engine import Tx
from vacancy.store.item_facts import ItemFacts

SOURCE: Final = "resy"
_TOPIC: Final = re.compile(r"resy:venue/([0-9A-Za-z_-]{1,64})(?:@([0-9]{4}-[0-9]{2}-[0-9]{2}))?", re.ASCII)
_SHAPE: Final = "topic: must be resy:venue/VENUE or resy:venue/VENUE@YYYY-MM-DD"


def venue_topic(venue_id: str, day: date | None = None) -> str:
    return f"{SOURCE}:venue/{venue_id}" + (f"@{day.isoformat()}" if day else "")


def read_topic(settings: ResySettings, today: date, name: str) -> Topic:
    found = _TOPIC.fullmatch(name)
    if found is None:
        raise _refused(_SHAPE)
    if not settings.enabled:
        raise UserError("section_not_found", "tables are not watched here")
    venue_id, day = found[1], _day(found[2])
    link = city_page(MARKETS[settings.market])
    if day is None:
        return Topic(venue_topic(venue_id), SOURCE, link=link)
    _check_day(settings, today, day)
    return Topic(venue_topic(venue_id, day), SOURCE, link=f"{link}?date={day}", ends_at=_midnight_after(settings, day))


def _midnight_after(settings: ResySettings, day: date) -> datetime:
    """In the market."""
    zone = ZoneInfo(MARKETS[settings.market].time_zone)
    return datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC)


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise _refused(f"topic: there is no day {text}") from None


def _check_day(settings: ResySettings, today: date, day: date) -> None:
    if day < today:
        raise _refused(f"topic: {day} is over; today is {today} there")
    ahead = timedelta(days=settings.window_days - 1)
    if day > today + ahead:
        raise _refused(f"topic: {day} is not watched yet; from {day - ahead} on it can be waited for")


def _refused(problem: str) -> UserError:
    return UserError("validation_failed", problem, [problem])


def items_of(tx: Tx, topic: Topic) -> Sequence[ItemName]:
    venue_id, _, day = topic.name.removeprefix(venue_topic("")).partition("@")
    return item_facts.of_group(tx, SOURCE, venue_id, f"{day}_" if day else "")


def describe(tx: Tx, key: str, items: Sequence[Item]) -> Mapping[str, Description]:
    """An item that closed comes with its key alone: what it is stands in the state then."""
    day = read_bucket(key).day
    bare = [item.key for item in items if not item.payload]
    kept = item_facts.of_items(tx, SOURCE, key, bare) if bare else {}
    return {item.key: _description(day, item, kept.get(item.key)) for item in items}


def _description(day: date, item: Item, kept: ItemFacts | None) -> Description:
    venue_id = item.group or (kept.group if kept else None)
    payload = item.payload or (kept.payload if kept else {})
    topics = (venue_topic(venue_id, day), venue_topic(venue_id)) if venue_id else ()
    return Description(topics, {**payload, **_words(payload)} if payload else {})


def _words(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """As channels tell it. What an earlier version wrote down may say less."""
    when = f"{payload.get('date', '')} {payload.get('time', '')}".strip()
    people = " or ".join(str(size) for size in payload.get("partySizes", ()))
    lines = (when, people and f"for {people}", payload.get("neighborhood"))
    title, link = payload.get("venueName"), payload.get("bookUrl")
    return {"title": title, "lines": [line for line in lines if line], "link": link}
