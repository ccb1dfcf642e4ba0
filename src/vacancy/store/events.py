"""`open_events`: append-only, numbered in commit order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, bindparam, delete, func, insert, or_, select

from vacancy.clock import iso, later
from vacancy.model.availability import CLOSED, OPEN
from vacancy.model.events import Description
from vacancy.store import bells, house
from vacancy.store.engine import Tx
from vacancy.store.ids import draw
from vacancy.store.prepared import Prepared
from vacancy.store.schema import open_events

PRUNED_TO: Final = "events_pruned_to"
_APPEND: Final = Prepared(
    insert(open_events),
    tuple(
        column.name
        for column in open_events.c
        if column.name not in ("subscription_id", "fanout_topic", "fanout_after")
    ),
)
_ENDS: Final = select(func.min(open_events.c.open_event_id), func.max(open_events.c.open_event_id))
# One that was written by a clock far ahead of ours would keep all that follow it for as long.
_FIRST_YOUNG: Final = select(func.min(open_events.c.open_event_id)).where(
    open_events.c.event_at.between(bindparam("before"), bindparam("soon"))
)
_A_DAY_S: Final = 86_400.0


def of_group(events: Any, lead: Any) -> ColumnElement[bool]:
    """The lead event and the others of its group; spelt so that each half has an index."""
    return or_(
        events.open_event_id == lead, and_(events.lead_event_id == lead, events.lead_event_id != events.open_event_id)
    )


@dataclass(frozen=True, slots=True)
class Edge:
    """One item that changed state, ready to be written down."""

    item_key: str
    group: str | None
    is_opening: bool
    episode: int
    snapshot_id: int
    dedupe_key: str
    description: Description


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the edges of one poll have in common."""

    source: str
    target_key: str
    detected_by: str
    trace_id: str
    seen_at: datetime
    snapshot_hash: str | None


def append(tx: Tx, sighting: Sighting, edges: Sequence[Edge]) -> list[int]:
    """A dedupe key that exists already is a fault of ours and fails the transaction; it is never skipped."""
    if not edges:
        return []
    numbers = draw(tx, "open_events", len(edges))
    leads: dict[tuple[str | None, bool], int] = {}
    rows = []
    for number, edge in zip(numbers, edges, strict=True):
        lead = number if edge.group is None else leads.setdefault((edge.group, edge.is_opening), number)
        rows.append(_row(sighting, edge, number, lead))
    tx.write(_APPEND, rows)
    tx.ring(bells.EVENTS)
    return numbers


def _row(sighting: Sighting, edge: Edge, number: int, lead: int) -> Mapping[str, Any]:
    about = edge.description
    return {
        "open_event_id": number,
        "section_id": about.section_id,
        "term_id": about.term_id,
        "campus_code": about.campus_code,
        "index_number": about.index_number,
        "status_before": CLOSED if edge.is_opening else OPEN,
        "status_after": OPEN if edge.is_opening else CLOSED,
        "seat_delta": 1 if edge.is_opening else -1,
        "event_at": sighting.seen_at,
        "detected_by": sighting.detected_by,
        "snapshot_id": edge.snapshot_id,
        "dedupe_key": edge.dedupe_key,
        "trace_id": sighting.trace_id,
        "payload": {
            **about.payload,
            "detectedAt": iso(sighting.seen_at),
            **({"snapshotHash": sighting.snapshot_hash} if sighting.snapshot_hash else {}),
        },
        "source": sighting.source,
        "target_key": sighting.target_key,
        "item_key": edge.item_key,
        "group_key": edge.group,
        "episode": edge.episode,
        "lead_event_id": lead,
        "topics": about.topics,
        # Nobody is told of a close: it has nothing to fan out.
        "fanned_out_at": None if edge.is_opening else sighting.seen_at,
    }


def prune(tx: Tx, before: datetime, at_most: int) -> int:
    """Oldest first, in small transactions; readers whose cursor lies before the mark are told so. It ends at the first
    that is young: a single one with a date long gone, from before the clock was set, must not take all before it."""
    oldest, newest = tx.execute(_ENDS).one()
    first_young = tx.execute(_FIRST_YOUNG, {"before": before, "soon": later(tx.now(), _A_DAY_S)}).scalar()
    if oldest is None or oldest == first_young:
        return 0
    upto = min(newest if first_young is None else first_young - 1, oldest + at_most - 1)
    gone = tx.execute(delete(open_events).where(open_events.c.open_event_id <= upto)).rowcount
    house.remember(tx, PRUNED_TO, str(upto))
    return gone
