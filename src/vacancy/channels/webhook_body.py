"""What is posted to webhooks. The part that all who hear of an opening get is encoded once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from vacancy.channels.told import web_link
from vacancy.clock import Clock, iso
from vacancy.model.messages import Kind, Opening, Parcel

_KEPT: Final = 64
_TYPES: Final[Mapping[Kind, str]] = {
    Kind.ALERT: "opening.opened",
    Kind.VERIFICATION: "subscription.verification",
    Kind.NOTICE: "subscription.notice",
    Kind.OPERATOR: "operator.trouble",
}


class _Item(msgspec.Struct, rename="camel"):
    item_key: str
    episode: int
    section_id: int | None
    term_id: str | None
    campus_code: str | None
    index_number: str | None
    link: str | None
    payload: Mapping[str, Any]


class _Told(msgspec.Struct, rename="camel"):
    """An opening in the words of `/api/events`; `items` are those that are still open."""

    open_event_id: int
    dedupe_key: str
    trace_id: str
    source: str
    target_key: str
    event_at: str
    detected_by: str
    status_before: str
    status_after: str
    time_zone: str
    items: list[_Item]


class _Word(msgspec.Struct, rename="camel"):
    code: str
    trace_id: str
    facts: Mapping[str, Any]


class _Person(msgspec.Struct, rename="camel"):
    subscription_id: int
    topic: str
    locale: str
    is_last: bool
    manage_url: str
    unsubscribe_url: str


class _Asked(msgspec.Struct, rename="camel"):
    trace_id: str
    verify_url: str


def _plain(value: object) -> str:
    """Facts may hold what JSON has no word for."""
    return str(value)


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)


class Bodies:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[int, tuple[Opening, bytes]] = {}

    def of(self, parcel: Parcel) -> bytes:
        """An opening's is the same through all tries, byte for byte."""
        if parcel.opening is not None:
            begun = self._begun(parcel.opening)
        else:
            begun = _begin(parcel.kind, self._clock.now(), _about(parcel))
        if parcel.kind is Kind.OPERATOR:
            return begun + b"}}"
        return begun + b"," + _ENCODER.encode(_person(parcel))[1:] + b"}"

    def _begun(self, opening: Opening) -> bytes:
        kept = self._kept.get(opening.open_event_id)
        # Between two batches items may have closed: then it is another message.
        if kept is not None and (kept[0] is opening or kept[0] == opening):
            return kept[1]
        begun = _begin(Kind.ALERT, opening.event_at, _told(opening))
        if len(self._kept) >= _KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[opening.open_event_id] = (opening, begun)
        return begun


def _begin(kind: Kind, at: datetime, data: msgspec.Struct) -> bytes:
    """All but the end of `data`, so that a person's part can follow."""
    return b'{"type":"%b","timestamp":"%b","data":%b' % (
        _TYPES[kind].encode(), iso(at).encode(), _ENCODER.encode(data)[:-1]
    )  # fmt: skip


def _told(opening: Opening) -> _Told:
    items = [
        _Item(item.item_key, item.episode, item.section_id, item.term_id, item.campus_code, item.index_number,
              web_link(item.payload), item.payload)
        for item in opening.items
    ]  # fmt: skip
    return _Told(
        opening.open_event_id, opening.dedupe_key, opening.trace_id, opening.source, opening.target_key,
        iso(opening.event_at), opening.detected_by, opening.status_before, opening.status_after, opening.time_zone,
        items,
    )  # fmt: skip


def _about(parcel: Parcel) -> msgspec.Struct:
    if parcel.notice is not None:
        facts = {_camel(name): fact for name, fact in parcel.notice.facts.items()}
        return _Word(parcel.notice.code, parcel.trace_id, facts)
    return _Asked(parcel.trace_id, parcel.person.verify_url)


def _person(parcel: Parcel) -> _Person:
    person = parcel.person
    return _Person(
        person.subscription_id, person.topic, person.locale, parcel.is_last, person.manage_url, person.unsubscribe_url
    )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)
