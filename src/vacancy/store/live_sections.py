"""A section beside what the open list says of it now. The catalogue's own word is minutes old, and not asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, select

from vacancy.clock import iso
from vacancy.model.availability import CLOSED, OPEN
from vacancy.model.catalogue import LiveState, Payload, SectionDetail
from vacancy.store.engine import Tx
from vacancy.store.schema import availability, courses, open_events, sections, targets

UNKNOWN: Final = "Unknown"
SOURCE: Final = "soc"
HISTORY: Final = 50
_LIVE: Final = ("state", "opened_at", "closed_at", "last_seen_at", "missed_polls", "episode")


@dataclass(frozen=True, slots=True)
class Lists:
    """The open lists of some campuses: target ids, and by campus when each was last read; None before it was believed.

    Looked up once and put into the query as numbers: a join with `targets` would be made for every section.
    """

    targets: Sequence[int]
    checked: Mapping[str, datetime | None]

    @classmethod
    def of(cls, tx: Tx, term: str, campuses: Sequence[str]) -> Lists:
        t = targets.c
        keys = [f"{term}|{campus}" for campus in campuses]
        rows = tx.execute(
            select(t.target_id, t.key, t.last_complete_at).where(
                t.source == SOURCE, t.key.in_(keys), t.baseline_at.is_not(None)
            )
        ).all()
        return cls([row.target_id for row in rows], {row.key.partition("|")[2]: row.last_complete_at for row in rows})

    def joins(self) -> ColumnElement[bool]:
        return and_(availability.c.item_key == sections.c.index_number, availability.c.target_id.in_(self.targets))

    def is_open(self) -> ColumnElement[bool]:
        live = availability.alias("live")
        return (
            select(live.c.snapshot_id)
            .where(live.c.target_id.in_(self.targets), live.c.item_key == sections.c.index_number, live.c.state == OPEN)
            .correlate(sections)
            .exists()
        )

    def state(self, campus: str, row: Mapping[Any, Any]) -> LiveState:
        """A section that a believed list has never named is closed; without a believed list nothing is known."""
        if campus not in self.checked:
            return LiveState(UNKNOWN)
        checked = self.checked[campus]
        if row["live_state"] is None:
            return LiveState(CLOSED, last_checked_at=checked)
        # A poll with nothing new writes no item: an open one that was not missed was seen when the list was.
        seen = checked if row["live_state"] == OPEN and not row["live_missed_polls"] else row["live_last_seen_at"]
        return LiveState(
            row["live_state"], row["live_episode"], row["live_opened_at"], row["live_closed_at"], seen, checked
        )


def live_columns() -> list[Any]:
    return [availability.c[name].label(f"live_{name}") for name in _LIVE]


def when(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)


def section_view(row: Mapping[Any, Any], lists: Lists) -> dict[str, Any]:
    live = lists.state(row["campus_code"], row)
    return {
        "index": row["index_number"],
        "sectionNumber": row["section_number"],
        "status": live.status,
        "openedAt": when(live.opened_at),
        "lastCheckedAt": when(live.last_checked_at),
        "instructors": row["instructors"],
        "meetingSummary": row["meeting_summary"],
        "meetings": row["meetings"],
        "delivery": row["delivery"],
        "examCode": row["exam_code"],
        **row["payload"],
    }


def section_detail(tx: Tx, term: str, campus: str, index: str) -> SectionDetail | None:
    """None for an index that neither the catalogue nor the open list has ever named."""
    lists = Lists.of(tx, term, [campus])
    s = sections.c
    row = (
        tx.execute(
            select(sections, *live_columns())
            .outerjoin_from(sections, availability, lists.joins())
            .where(s.term_id == term, s.campus_code == campus, s.index_number == index)
        )
        .mappings()
        .one_or_none()
    )
    history = _history(tx, term, campus, index)
    if row is None:
        return _orphan(tx, lists, term, campus, index, history)
    course = tx.execute(select(courses).where(courses.c.course_id == row["course_id"])).mappings().one()
    return SectionDetail(
        term=term,
        campus=campus,
        index=index,
        section_id=row["section_id"],
        section=dict(row),
        course=dict(course),
        retired_at=row["retired_at"],
        live=lists.state(campus, row),
        history=history,
    )


def _orphan(
    tx: Tx, lists: Lists, term: str, campus: str, index: str, history: tuple[Payload, ...]
) -> SectionDetail | None:
    a = availability.c
    row: Mapping[Any, Any] | None = (
        tx.execute(select(*live_columns()).where(a.target_id.in_(lists.targets), a.item_key == index))
        .mappings()
        .one_or_none()
    )
    if row is None and not history:
        return None
    # Retention takes closed items before their events.
    row = row or dict.fromkeys((f"live_{name}" for name in _LIVE), None)
    return SectionDetail(term, campus, index, None, None, None, None, lists.state(campus, row), history)


def _history(tx: Tx, term: str, campus: str, index: str) -> tuple[Payload, ...]:
    """Openings and closes, newest first; read in the order of the index on items."""
    e = open_events.c
    rows = tx.execute(
        select(e.open_event_id, e.event_at, e.status_before, e.status_after, e.detected_by, e.episode)
        .where(e.source == SOURCE, e.target_key == f"{term}|{campus}", e.item_key == index)
        .order_by(e.open_event_id.desc())
        .limit(HISTORY)
    )
    return tuple(
        {
            "openEventId": row.open_event_id,
            "eventAt": iso(row.event_at),
            "statusBefore": row.status_before,
            "statusAfter": row.status_after,
            "detectedBy": row.detected_by,
            "episode": row.episode,
        }
        for row in rows
    )
