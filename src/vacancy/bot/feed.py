"""A page of events, read. Pure: whatever a backend sends, a page or one line of what is wrong with it comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Any, Final

import msgspec

from vacancy.channels.telegram_api import whole
from vacancy.model.bot import LARGEST, Event, Garbled, Page

_LONGEST_TYPE: Final = 64


class _Member(msgspec.Struct, frozen=True, gc=False):
    """As the contract has it; read at once, which is the quick way."""

    event_id: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
    task_id: Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)] | None
    event_type: Annotated[str, msgspec.Meta(max_length=_LONGEST_TYPE)]
    created_at: Annotated[datetime, msgspec.Meta(tz=True)]
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Nothing of the page can be believed."""

    why: str


_quick: Final = msgspec.json.Decoder(list[_Member])


def read_page(body: bytes, after_id: int, limit: int) -> Page | Unreadable:
    try:
        members: Sequence[_Member] | None = _quick.decode(body)
    except (msgspec.DecodeError, RecursionError, ValueError):
        members = None
    if members is not None:
        return _page([_event(each) for each in members], [], after_id, limit)
    return _read_slowly(body, after_id, limit)


def _event(each: _Member) -> Event:
    return Event(each.event_id, each.event_type, each.task_id, _in_utc(each.created_at), each.payload)


def _read_slowly(body: bytes, after_id: int, limit: int) -> Page | Unreadable:
    """Member by member: one that is out of order must not take the others with it."""
    try:
        members = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return Unreadable("what it sent is not JSON")
    if not isinstance(members, list):
        return Unreadable("what it sent is not an array")
    events: list[Event] = []
    garbled: list[Garbled] = []
    for each in members:
        event = _lenient(each)
        if event is None:
            garbled.append(Garbled(hashlib.sha1(repr(each).encode("utf-8", "replace")).hexdigest()))  # noqa: S324
        else:
            events.append(event)
    return _page(events, garbled, after_id, limit)


def _lenient(member: object) -> Event | None:
    """With its number an event can be told of, whatever else is missing."""
    if not isinstance(member, dict):
        return None
    number = whole(member.get("event_id"))
    if number is None or number < 1:
        return None
    kind, payload = member.get("event_type"), member.get("payload")
    return Event(
        number,
        kind[:_LONGEST_TYPE] if isinstance(kind, str) else "",
        whole(member.get("task_id")),
        moment_of(member.get("created_at")),
        payload if isinstance(payload, dict) else {},
    )


def moment_of(value: object) -> datetime | None:
    """A time without a zone says nothing."""
    if not isinstance(value, str) or len(value) > _LONGEST_TYPE:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return _in_utc(moment) if moment.tzinfo else None


def _in_utc(moment: datetime) -> datetime | None:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return None


def _page(events: Sequence[Event], garbled: Sequence[Garbled], after_id: int, limit: int) -> Page | Unreadable:
    """One that is out of order may be the newest part of a longer list: to take it would lose the older part."""
    numbers = [event.event_id for event in events]
    if any(later <= earlier for earlier, later in pairwise(numbers)):
        return Unreadable("its events are not in ascending order")
    is_full = len(events) + len(garbled) >= limit
    new = [event for event in events if event.event_id > after_id]
    if is_full and not new:
        return Unreadable("it sends a whole page of what was read before" if events else "no event has a number")
    return Page(new, garbled, is_full)


def fields(body: object) -> Mapping[str, Any]:
    return body if isinstance(body, dict) else {}
