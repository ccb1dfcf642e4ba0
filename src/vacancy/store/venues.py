"""`venues`: every venue that a provider listed, whether or not a table was ever free there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.model.availability import Group
from vacancy.model.catalogue import words
from vacancy.store.engine import Tx
from vacancy.store.prepared import Prepared
from vacancy.store.schema_venues import venues

_c: Final = venues.c
# Below what either database takes as parameters of one statement.
_AT_ONCE: Final = 10_000
_SAID: Final = ("name", "search_text", "neighborhood", "image_url", "book_url")
_KNOWN: Final = select(_c.venue_id, _c.name, _c.neighborhood, _c.image_url, _c.book_url).where(
    _c.provider == bindparam("provider"), _c.venue_id.in_(bindparam("wanted", expanding=True))
)


def _upsert(insert: Any) -> Prepared:
    row = insert(venues)
    new = {name: row.excluded[name] for name in (*_SAID, "updated_at")}
    statement = row.on_conflict_do_update(index_elements=[_c.provider, _c.venue_id], set_=new)
    return Prepared(statement, tuple(column.name for column in _c))


# Two buckets may list a venue at the same moment; neither poll is lost for it.
_KEEP: Final = {"sqlite": _upsert(sqlite_insert), "postgresql": _upsert(postgres_insert)}


class Venue(NamedTuple):
    venue_id: str
    name: str
    neighborhood: str | None
    image_url: str | None
    book_url: str | None


def keep(tx: Tx, now: datetime, provider: str, listed: Mapping[str, Group]) -> int:
    """Writes those that are new or say something else, and no others; answers how many."""
    wanted = sorted(listed)
    known: dict[str, Venue] = {}
    for start in range(0, len(wanted), _AT_ONCE):
        rows = tx.execute(_KNOWN, {"provider": provider, "wanted": wanted[start : start + _AT_ONCE]})
        known |= {row.venue_id: Venue(*row) for row in rows}
    # In one order, or two polls of overlapping lists could wait for each other for ever.
    found = (Venue(key, group.name, group.place, group.image_url, group.link) for key, group in sorted(listed.items()))
    changed = [venue for venue in found if known.get(venue.venue_id) != venue]
    if changed:
        tx.write(_KEEP[tx.dialect], [_row(provider, venue, now) for venue in changed])
    return len(changed)


def _row(provider: str, venue: Venue, now: datetime) -> Mapping[str, Any]:
    said = {"provider": provider, "search_text": _searched(venue.name), "first_seen_at": now, "updated_at": now}
    return {**venue._asdict(), **said}


def _searched(name: str) -> str:
    return f" {' '.join(words(name))}"


def search(tx: Tx, provider: str, query: str, at_most: int) -> Sequence[Venue]:
    """Those whose name has a word that begins like each of these, by name; without words the first by name."""
    begins = [_c.search_text.contains(f" {word}", autoescape=True) for word in words(query)]
    rows = tx.execute(
        select(_c.venue_id, _c.name, _c.neighborhood, _c.image_url, _c.book_url)
        .where(_c.provider == provider, *begins)
        .order_by(_c.search_text, _c.venue_id)
        .limit(at_most)
    )
    return [Venue(*row) for row in rows]


def find(tx: Tx, provider: str, venue_id: str) -> Venue | None:
    row = tx.execute(_KNOWN, {"provider": provider, "wanted": [venue_id]}).one_or_none()
    return Venue(*row) if row else None
