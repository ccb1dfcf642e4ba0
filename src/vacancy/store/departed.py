"""Targets that nobody asks about any more: days that have passed, terms that were taken out of the settings."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, and_, delete, exists, func, select, update

from vacancy.model.availability import CLOSED, OPEN
from vacancy.store import ids
from vacancy.store.engine import Tx
from vacancy.store.schema import availability, held_answers, subscriptions, targets

_t: Final = targets.c
_a: Final = availability.c
_s: Final = subscriptions.c
_IS_OPEN: Final = and_(_a.target_id == _t.target_id, _a.state == OPEN)


def retire(tx: Tx, now: datetime, before: datetime) -> int:
    """Whatever was open in those that left before that is known no longer: it closes without a word, and should the
    target come back, its first answers are a baseline."""
    gone = tx.execute(
        select(_t.target_id, _t.source, _t.key).where(_left(before), exists().where(_IS_OPEN))
    ).all()  # fmt: skip
    if not gone:
        return 0
    ids.emit_alone(tx)
    numbers = [row.target_id for row in gone]
    tx.execute(
        update(targets)
        .where(_t.target_id.in_(numbers))
        .values(baseline_at=None, held_since=None, open_count=0, recent_counts=[], version=_t.version + 1)
    )
    tx.execute(delete(held_answers).where(held_answers.c.target_id.in_(numbers)))
    closed = tx.execute(
        update(availability)
        .where(_a.target_id.in_(numbers), _a.state == OPEN)
        .values(state=CLOSED, closed_at=now, missed_polls=0, owed_from=None)
    ).rowcount
    for row in gone:
        tx.execute(
            update(subscriptions)
            .where(_s.source == row.source, _s.target_key == row.key, _s.item_key.is_not(None))
            .values(last_known_section_status=CLOSED)
        )
    return closed


def prune(tx: Tx, before: datetime) -> int:
    """Those of which no item is remembered any more."""
    nothing_left = ~exists().where(_a.target_id == _t.target_id)
    return tx.execute(delete(targets).where(_left(before), nothing_left)).rowcount


def _left(before: datetime) -> ColumnElement[bool]:
    """`last_attempt_at` says when it was asked for the last time."""
    return and_(~_t.configured, func.coalesce(_t.last_attempt_at, _t.created_at) < before)
