"""What is polled, and how fresh it is: one query, and one pure rule for the word that sums it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import select

from vacancy.store.engine import Tx
from vacancy.store.schema import targets

NEW: Final = "new"
FRESH: Final = "fresh"
STALE: Final = "stale"
HELD: Final = "held"
PAUSED: Final = "paused"

# It feeds the course list with titles; what it polls is nothing that opens.
CATALOGUE: Final = "soc_catalogue"
# A target may be late by one poll and its fetch before it is called stale.
_GRACE: Final = timedelta(seconds=15)
# For a source that nobody named an interval for: better late than alarming.
_DEFAULT_INTERVAL_S: Final = 60.0

_COLUMNS: Final = (
    targets.c.source, targets.c.key, targets.c.polls, targets.c.last_complete_at, targets.c.last_attempt_at,
    targets.c.next_poll_at, targets.c.open_count, targets.c.failures, targets.c.failing_since, targets.c.last_error,
    targets.c.held_since, targets.c.baseline_at, targets.c.paused_at,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TargetView:
    source: str
    key: str
    state: str
    polls: int
    last_complete_at: datetime | None
    last_attempt_at: datetime | None
    next_poll_at: datetime
    open_count: int
    failures: int
    failing_since: datetime | None
    last_error: Mapping[str, Any] | None
    held_since: datetime | None
    baseline_at: datetime | None


def overview(tx: Tx, intervals: Mapping[str, float], *, everything: bool = False) -> Sequence[TargetView]:
    query = select(*_COLUMNS).order_by(targets.c.source, targets.c.key)
    if not everything:
        query = query.where(targets.c.source != CATALOGUE, targets.c.configured)
    now = tx.now()
    views = []
    for row in tx.execute(query).mappings():
        columns = dict(row)
        interval_s = intervals.get(columns["source"], _DEFAULT_INTERVAL_S)
        columns["state"] = state(
            now,
            interval_s,
            paused_at=columns.pop("paused_at"),
            held_since=columns["held_since"],
            baseline_at=columns["baseline_at"],
            failures=columns["failures"],
            last_complete_at=columns["last_complete_at"],
        )
        views.append(TargetView(**columns))
    # The database's collation is not Python's: sorted here, the order is the same everywhere.
    return sorted(views, key=lambda view: (view.source, view.key))


def state(
    now: datetime,
    interval_s: float,
    *,
    paused_at: datetime | None,
    held_since: datetime | None,
    baseline_at: datetime | None,
    failures: int,
    last_complete_at: datetime | None,
) -> str:
    """The first that is true. A target without a baseline is new however often it failed: nothing of it is shown."""
    if paused_at is not None:
        return PAUSED
    if held_since is not None:
        return HELD
    if baseline_at is None:
        return NEW
    late = last_complete_at is None or now - last_complete_at > patience(interval_s)
    return STALE if failures > 0 or late else FRESH


def patience(interval_s: float) -> timedelta:
    """After a whole answer, how long no other one may come before it is called stale."""
    return timedelta(seconds=2 * interval_s) + _GRACE
