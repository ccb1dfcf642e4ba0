"""What an alert is about: the events of one poll and group, and whether they are still so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Text, and_, bindparam, select, type_coerce

from vacancy.model.availability import OPEN
from vacancy.model.messages import OpenItem
from vacancy.store.engine import Tx
from vacancy.store.events import of_group
from vacancy.store.prepared import PreparedSelect
from vacancy.store.schema import availability, open_events, targets

_e: Final = open_events.c
_OF_GROUP: Final = and_(of_group(_e, bindparam("lead")), _e.status_after == OPEN)
_FACTS: Final = PreparedSelect(
    select(
        _e.open_event_id, _e.dedupe_key, _e.trace_id, _e.source, _e.target_key, _e.event_at, _e.detected_by,
        _e.status_before, _e.status_after, _e.topics, _e.item_key, _e.episode, _e.payload, _e.section_id, _e.term_id,
        _e.campus_code, _e.index_number,
    )
    .where(_OF_GROUP)
    .order_by(_e.open_event_id)
)  # fmt: skip
_STILL: Final = PreparedSelect(
    select(
        _e.open_event_id, _e.source, _e.item_key, type_coerce(availability.c.payload, Text), availability.c.opened_at,
        targets.c.last_complete_at,
    )
    .join_from(open_events, availability, and_(
        availability.c.snapshot_id == _e.snapshot_id, availability.c.state == OPEN,
        availability.c.episode == _e.episode,
    ))
    .join(targets, targets.c.target_id == availability.c.target_id)
    .where(_OF_GROUP)
    .order_by(_e.open_event_id)
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OpeningFacts:
    """An event as it was written down; it never changes."""

    open_event_id: int
    dedupe_key: str
    trace_id: str
    source: str
    target_key: str
    event_at: datetime
    detected_by: str
    status_before: str
    status_after: str
    topics: Sequence[str]
    item: OpenItem


@dataclass(frozen=True, slots=True)
class Still:
    """Events of the group whose item is open now, in their own episode, and when that was last seen. `words` is what
    each item says now, as it is kept: some of it may have changed since it opened."""

    source: str
    events: frozenset[int]
    items: frozenset[str]
    words: tuple[tuple[int, str | None], ...]
    seen_at: datetime | None

    def says(self) -> Mapping[int, Mapping[str, Any]]:
        return {number: msgspec.json.decode(text) if text else {} for number, text in self.words}


def facts_of(tx: Tx, lead: int) -> Sequence[OpeningFacts]:
    rows = tx.read(_FACTS, {"lead": lead})
    return [OpeningFacts(*[*row[:10], OpenItem(*row[10:])]) for row in rows]


def ask_still(tx: Tx, leads: Iterable[int]) -> Callable[[], dict[int, Still | None]]:
    """Answered later; None for a lead of whose group nothing is open any more. To have seen an item open is to know it,
    whatever saw it: an opening that was not seen in the list itself is as fresh as its own moment."""
    asked = {lead: tx.ask(_STILL, {"lead": lead}) for lead in leads}
    return lambda: {lead: _still(answer()) for lead, answer in asked.items()}


def _still(rows: Sequence[tuple[Any, ...]]) -> Still | None:
    if not rows:
        return None
    seen = [moment for *_, opened_at, complete_at in rows for moment in (opened_at, complete_at) if moment]
    events, items = frozenset(row[0] for row in rows), frozenset(row[2] for row in rows)
    return Still(rows[0][1], events, items, tuple((row[0], row[3]) for row in rows), max(seen, default=None))
