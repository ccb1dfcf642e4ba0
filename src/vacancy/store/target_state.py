"""Loads what we believe of a target, in one read, so that what is compared was true at one moment."""

from __future__ import annotations

from typing import Final

from sqlalchemy import bindparam, select

from vacancy.model.state import TargetState
from vacancy.store import availability, held
from vacancy.store.engine import Tx
from vacancy.store.schema import targets

_ROW: Final = select(targets.c.version, targets.c.baseline_at, targets.c.episode_floor, targets.c.wholes).where(
    targets.c.target_id == bindparam("target")
)


def load(tx: Tx, target_id: int) -> TargetState:
    row = tx.execute(_ROW, {"target": target_id}).one()
    state = TargetState(row.version, row.baseline_at is not None, row.episode_floor, wholes=row.wholes)
    for key, item in availability.load(tx, target_id).items():
        state.put(key, item)
    state.held = held.load(tx, target_id)
    return state
