"""Readers of open_events. An event never changes once it is committed, so it is encoded here once, for every reader.

What fan-out notes on an event is all that does change; it is the pipeline's own and is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import Select, Text, bindparam, func, select, type_coerce

from vacancy.clock import iso
from vacancy.store.engine import Tx
from vacancy.store.schema import house, open_events

# Upkeep keeps the highest number it ever pruned under this name: gaps in the numbers prove nothing by themselves.
PRUNED_TO: Final = "events_pruned_to"

_AS_TEXT: Final = ("event_at", "payload", "topics")
HIDDEN: Final = ("fanned_out_at", "fanout_topic", "fanout_after")


class _Shown(msgspec.Struct, rename="camel"):
    """An event as readers get it: the columns, in the order of the table."""

    open_event_id: int
    section_id: int | None
    term_id: str | None
    campus_code: str | None
    index_number: str | None
    subscription_id: int | None
    status_before: str
    status_after: str
    seat_delta: int
    event_at: str
    detected_by: str
    snapshot_id: int | None
    dedupe_key: str
    trace_id: str
    payload: msgspec.Raw
    source: str
    target_key: str
    item_key: str
    group_key: str | None
    episode: int
    lead_event_id: int | None
    topics: msgspec.Raw


# The database's own text is passed on: decoding it only to encode it again would cost more than all the rest.
_COLUMNS: Final = [
    type_coerce(column, Text).label(column.name) if column.name in _AS_TEXT else column
    for column in open_events.c
    if column.name not in HIDDEN
]
_ID, _EVENT_AT, _PAYLOAD, _SOURCE, _STATUS, _TOPICS = (
    [column.name for column in _COLUMNS].index(name)
    for name in ("open_event_id", "event_at", "payload", "source", "status_after", "topics")
)
_PRUNED_TO: Final = select(house.c.value).where(house.c.name == PRUNED_TO)
LARGEST: Final = 2**63 - 1
_encoder: Final = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Only:
    """Which events a reader wants; None is all of them."""

    source: str | None = None
    topic: str | None = None
    status: str | None = None


EVERYTHING: Final = Only()


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """An event as bytes, and what a filter asks of it. `topics` is JSON text."""

    id: int
    source: str
    status: str
    topics: str
    encoded: bytes


def after(
    tx: Tx, cursor: int, limit: int, only: Only = EVERYTHING, up_to: int = LARGEST
) -> tuple[list[FeedEvent], int]:
    """The next events in order, and how far the table was pruned.

    Asked in this order: if a pruning is committed in between, the second answer tells of the first one's gap.
    """
    return _page(tx, cursor, limit, only, up_to, newest_first=False), pruned_to(tx)


def newest(tx: Tx, limit: int, only: Only = EVERYTHING) -> tuple[list[FeedEvent], int]:
    """The last events, in order, and how far the table was pruned."""
    events = _page(tx, 0, limit, only, LARGEST, newest_first=True)
    events.reverse()
    return events, pruned_to(tx)


def oldest_kept(tx: Tx) -> int:
    """The oldest event there is, or the number after which the next one will come."""
    oldest: int | None = tx.execute(select(func.min(open_events.c.open_event_id))).scalar()
    return pruned_to(tx) + 1 if oldest is None else oldest


def pruned_to(tx: Tx) -> int:
    return int(tx.execute(_PRUNED_TO).scalar() or 0)


def topic_needle(topic: str) -> str:
    """What the JSON text of a list of topics contains if and only if the topic is in it.

    An unescaped quote can only stand at the end of a member; `","` between two members is not a topic.
    """
    return _encoder.encode(topic).decode()


def _page(tx: Tx, cursor: int, limit: int, only: Only, up_to: int, *, newest_first: bool) -> list[FeedEvent]:
    parameters: dict[str, Any] = {"cursor": cursor, "up_to": up_to, "most": limit}
    if only.source is not None:
        parameters["source"] = only.source
    if only.topic is not None:
        parameters["needle"] = topic_needle(only.topic)
    if only.status is not None:
        parameters["status"] = only.status
    statement = _statement(tx.dialect, frozenset(parameters), newest_first)
    return [_event(row) for row in tx.execute(statement, parameters)]


@cache
def _statement(dialect: str, parameters: frozenset[str], newest_first: bool) -> Select[Any]:
    """Built once: putting it together costs as much as running it."""
    number = open_events.c.open_event_id
    query = select(*_COLUMNS).where(number > bindparam("cursor"), number <= bindparam("up_to"))
    if "source" in parameters:
        # `|| ''` keeps both planners on the primary key: by the index on source they would sort a whole source
        # to find one page of it.
        query = query.where((open_events.c.source + "") == bindparam("source"))
    if "needle" in parameters:
        # LIKE would fold case on SQLite and give % and _ a meaning.
        position = func.strpos if dialect == "postgresql" else func.instr
        query = query.where(position(type_coerce(open_events.c.topics, Text), bindparam("needle", type_=Text)) > 0)
    if "status" in parameters:
        query = query.where(open_events.c.status_after == bindparam("status"))
    return query.order_by(number.desc() if newest_first else number).limit(bindparam("most"))


def _event(row: Sequence[Any]) -> FeedEvent:
    columns = list(row)
    number, status, source = columns[_ID], columns[_STATUS], columns[_SOURCE]
    moment, topics = columns[_EVENT_AT], columns[_TOPICS]
    # SQLite keeps a time as the text we show; PostgreSQL gives a datetime.
    if isinstance(moment, datetime):
        columns[_EVENT_AT] = iso(moment)
    columns[_PAYLOAD] = _one_line(columns[_PAYLOAD])
    columns[_TOPICS] = _one_line(topics)
    return FeedEvent(number, source, status, topics, _encoder.encode(_Shown(*columns)))


def _one_line(text: str) -> msgspec.Raw:
    # A payload that an operator wrote by hand may be laid out over lines; a line break ends a field of a stream.
    if "\n" in text or "\r" in text:
        return msgspec.Raw(msgspec.json.format(text, indent=-1).encode())
    return msgspec.Raw(text.encode())
