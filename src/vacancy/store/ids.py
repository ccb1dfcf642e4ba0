"""Numbers drawn before the rows are written, so that rows of one statement can point at each other."""

from __future__ import annotations

from typing import Final, Literal

from sqlalchemy import func, literal_column, select, text

from vacancy.store.engine import Tx
from vacancy.store.prepared import Prepared

Numbered = Literal["open_events", "availability"]

_SEQUENCES: Final[dict[Numbered, str]] = {
    "open_events": "open_events_open_event_id_seq",
    "availability": "availability_snapshot_id_seq",
}
_LAST_OF_SQLITE: Final = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
_NEXT_OF_POSTGRES: Final = text("SELECT nextval(CAST(:name AS regclass)) FROM generate_series(1, :count)")
_ONE_EMITTER: Final = text("SELECT pg_advisory_xact_lock(7310592047)")
_NO_EMITTER: Final = Prepared(select(func.pg_advisory_xact_lock_shared(literal_column("7310592047"))))


def emit_alone(tx: Tx) -> None:
    """Before anything of an edge is written, and until the commit. Whoever draws a number after us also commits after
    us, so a cursor never skips an event; and nobody subscribes between the edge and its commit, to be told what is not
    true any more and then to be passed over."""
    if tx.dialect == "postgresql":
        tx.execute(_ONE_EMITTER)


def hold_edges_off(tx: Tx) -> None:
    """For whoever reads what is open and acts on it: no edge is committed between the two. Many may at a time."""
    if tx.dialect == "postgresql":
        tx.post(_NO_EMITTER, ({},))


def draw(tx: Tx, table: Numbered, count: int) -> list[int]:
    if tx.dialect == "sqlite":
        # The one writer holds the database, and AUTOINCREMENT remembers the highest number ever used.
        last: int = tx.execute(_LAST_OF_SQLITE, {"name": table}).scalar() or 0
        return list(range(last + 1, last + count + 1))
    if table == "open_events":
        emit_alone(tx)
    rows = tx.execute(_NEXT_OF_POSTGRES, {"name": _SEQUENCES[table], "count": count})
    return sorted(rows.scalars())
