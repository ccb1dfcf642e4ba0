"""Rows put straight into the tables, for tests of whoever reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from vacancy.clock import later
from vacancy.model.availability import CLOSED, OPEN
from vacancy.store import bells
from vacancy.store.engine import Tx
from vacancy.store.event_feed import PRUNED_TO
from vacancy.store.schema import house, open_events, targets


def course_event(number: int, **columns: Any) -> dict[str, Any]:
    """The columns of an opening of section `number`; `now` is filled in by insert_events."""
    index = f"{number % 100_000:05d}"
    payload: Mapping[str, Any] = {
        "term": "12025", "campus": "NB", "index": index, "sectionNumber": "02", "courseString": "01:198:111",
        "courseTitle": "INTRO COMPUTER SCI", "subject": "198", "meetingSummary": "MW 10:20-11:40 LSH-AUD",
        "instructors": "CENTENO", "link": f"https://sis.rutgers.edu/soc/#keyword={index}&semester=12025",
        "detectedAt": "2026-01-05T12:00:00.000Z", "snapshotHash": "ab" * 20,
    }  # fmt: skip
    return {
        "term_id": "12025", "campus_code": "NB", "index_number": index, "status_before": CLOSED, "status_after": OPEN,
        "seat_delta": 1, "detected_by": "open_sections", "dedupe_key": f"key-{number}", "trace_id": f"{number:032x}",
        "payload": payload, "source": "soc", "target_key": "12025|NB", "item_key": index, "group_key": None,
        "episode": 1, "topics": [f"soc:12025:NB:{index}", "soc:12025:NB:course/01:198:111"],
        **columns,
    }  # fmt: skip


def insert_events(tx: Tx, events: Sequence[Mapping[str, Any]]) -> list[int]:
    """Numbered in commit order, as the emitter does it; the bell rings with the commit."""
    now = tx.now()
    ids = [
        tx.execute(
            insert(open_events).returning(open_events.c.open_event_id), [{"event_at": now, **event}]
        ).scalar_one()
        for event in events
    ]
    tx.ring(bells.EVENTS)
    return ids


def prune_events(tx: Tx, up_to: int) -> None:
    tx.execute(delete(open_events).where(open_events.c.open_event_id <= up_to))
    if tx.execute(update(house).where(house.c.name == PRUNED_TO).values(value=str(up_to))).rowcount == 0:
        tx.execute(insert(house).values(name=PRUNED_TO, value=str(up_to)))


def insert_target(tx: Tx, /, source: str, key: str, **columns: Any) -> None:
    now = tx.now()
    row = {
        "budget": source,
        "question_hash": "q",
        "scheduled_at": now,
        "next_poll_at": later(now, 15),
        "created_at": now,
    }
    tx.execute(insert(targets).values(source=source, key=key, **{**row, **columns}))


def count_events(tx: Tx) -> int:
    return int(tx.execute(select(func.count()).select_from(open_events)).scalar_one())
