"""`section_status_events`: what the catalogue saw change; kept as long as events are."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, select

from vacancy.store.engine import Tx
from vacancy.store.schema import section_status_events


def prune(tx: Tx, before: datetime, at_most: int) -> int:
    old = (
        select(section_status_events.c.event_id)
        .where(section_status_events.c.snapshot_received_at < before)
        .order_by(section_status_events.c.snapshot_received_at)
        .limit(at_most)
    )
    return tx.execute(delete(section_status_events).where(section_status_events.c.event_id.in_(old))).rowcount
