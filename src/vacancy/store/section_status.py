"""`section_status_events`: what the catalogue saw change; kept as long as events are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import delete, select

from vacancy.model.availability import CLOSED, OPEN, Flips
from vacancy.store.engine import Tx
from vacancy.store.schema import section_status_events, sections


def flips_since(tx: Tx, term: str, campus: str, since: datetime) -> Flips:
    seen = section_status_events.c
    recorded = (
        select(sections.c.index_number, seen.current_status, seen.snapshot_received_at)
        .join_from(section_status_events, sections, seen.section_id == sections.c.section_id)
        .where(seen.snapshot_received_at > since, seen.snapshot_term == term, seen.snapshot_campus == campus)
        .where(sections.c.retired_at.is_(None))
        .order_by(seen.event_id)
    )
    last: dict[str, str] = {}
    newest = since
    for index, status, received_at in tx.execute(recorded):
        last[index] = status
        newest = max(newest, received_at)
    return Flips(_in_state(last, OPEN), _in_state(last, CLOSED), newest)


def _in_state(last: Mapping[str, str], state: str) -> frozenset[str]:
    return frozenset(index for index, status in last.items() if status == state)


def prune(tx: Tx, before: datetime, at_most: int) -> int:
    old = (
        select(section_status_events.c.event_id)
        .where(section_status_events.c.snapshot_received_at < before)
        .order_by(section_status_events.c.snapshot_received_at)
        .limit(at_most)
    )
    return tx.execute(delete(section_status_events).where(section_status_events.c.event_id.in_(old))).rowcount
