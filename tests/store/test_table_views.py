"""The names that the seed gives what is known of tables."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import text

from tests.support.clock import ManualClock
from tests.support.open_tables import KEY, OTHER_DAY, OTHER_KEY, Maitre, table
from tests.support.rows import course_event, insert_events, insert_target
from vacancy.store import item_facts, venue_history
from vacancy.store.engine import Store, Tx

VIEWS = {
    "discovery_buckets": "bucket_id date_str time_slot baseline_slot_ids_json prev_slot_ids_json scanned_at",
    "slot_availability": "bucket_id slot_id state opened_at last_seen_at closed_at venue_id venue_name payload",
    "drop_events": "id bucket_id slot_id dedupe_key opened_at venue_id venue_name payload",
    "open_section_snapshots": "snapshot_id term_id campus_code index_number seen_open_at closed_at source_hash",
}
_ALL = {
    "discovery_buckets": text("SELECT * FROM discovery_buckets ORDER BY bucket_id"),
    "slot_availability": text("SELECT * FROM slot_availability ORDER BY venue_id, slot_id"),
    "drop_events": text("SELECT * FROM drop_events ORDER BY id"),
    "open_section_snapshots": text("SELECT * FROM open_section_snapshots"),
}


@pytest.fixture
def maitre(store: Store, clock: ManualClock) -> Maitre:
    store.write_now(insert_target, source="soc", key="12025|NB")
    store.write_now(insert_events, [course_event(1)])
    made = Maitre(store, clock, KEY, OTHER_KEY)
    made.now({KEY: [CARBONE, MISI], OTHER_KEY: [table("lilia", "19:30", OTHER_DAY)]})
    made.now({KEY: [MISI]})
    return made


CARBONE, MISI = table("carbone", "20:30"), table("misi", "18:00")


def rows(store: Store, view: str) -> list[dict[str, Any]]:
    return store.read_now(lambda tx: [dict(row) for row in tx.execute(_ALL[view]).mappings()])


def moment(value: Any) -> str:
    at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return f"{at:%H:%M:%S}"


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_the_columns_that_are_named(store: Store, view: str) -> None:
    assert list(store.read_now(lambda tx: tx.execute(_ALL[view]).keys())) == VIEWS[view].split()


def test_a_bucket_tells_what_is_open_in_it(store: Store, maitre: Maitre) -> None:
    first, second = rows(store, "discovery_buckets")
    assert (first["bucket_id"], first["date_str"], first["time_slot"]) == (KEY, "2026-01-06", "20:30")
    assert first["prev_slot_ids_json"] == first["baseline_slot_ids_json"] == f'["{MISI.key}"]'
    assert (moment(first["scanned_at"]), moment(second["scanned_at"])) == ("12:02:04", "12:01:33")
    maitre.now({KEY: [], OTHER_KEY: []})
    assert [row["prev_slot_ids_json"] for row in rows(store, "discovery_buckets")] == ["[]", "[]"]
    maitre.now({KEY: [CARBONE, MISI]})
    assert json.loads(rows(store, "discovery_buckets")[0]["prev_slot_ids_json"]) == sorted([CARBONE.key, MISI.key])


def test_a_bucket_that_is_no_longer_polled_is_none(store: Store, maitre: Maitre) -> None:
    maitre.source.keys = (OTHER_KEY,)
    maitre.configure()
    assert [row["bucket_id"] for row in rows(store, "discovery_buckets")] == [OTHER_KEY]


def test_a_slot_tells_its_state_and_its_venue(store: Store, maitre: Maitre) -> None:
    carbone, lilia, misi = rows(store, "slot_availability")
    assert (carbone["bucket_id"], carbone["slot_id"], carbone["state"]) == (KEY, CARBONE.key, "closed")
    assert (carbone["venue_id"], carbone["venue_name"]) == ("carbone", "Carbone")
    # It was last there in the answer before the one that it was missing from.
    times = ("opened_at", "last_seen_at", "closed_at")
    assert [moment(carbone[name]) for name in times] == ["12:01:33", "12:01:33", "12:02:04"]
    assert json.loads(misi["payload"]) == MISI.payload
    assert (misi["state"], moment(misi["last_seen_at"]), misi["closed_at"]) == ("open", "12:02:04", None)
    assert lilia["bucket_id"] == OTHER_KEY


def test_a_drop_is_an_opening_that_was_told(store: Store, maitre: Maitre) -> None:
    drops = rows(store, "drop_events")
    assert [(drop["bucket_id"], drop["venue_id"], drop["venue_name"]) for drop in drops] == [
        *sorted([(KEY, "carbone", "Carbone"), (KEY, "misi", "Misi")], key=lambda drop: _slot_of(drop[1])),
        (OTHER_KEY, "lilia", "Lilia"),
    ]
    first = drops[0]
    assert first["dedupe_key"] == f"{KEY}|{first['slot_id']}|2026-01-05T12:01"
    assert moment(first["opened_at"]) == "12:01:33"
    assert json.loads(first["payload"])["venueName"] == first["venue_name"]


def _slot_of(venue: str) -> str:
    return {"carbone": CARBONE.key, "misi": MISI.key}[venue]


def test_courses_are_in_none_of_them(store: Store, maitre: Maitre) -> None:
    for view in ("discovery_buckets", "drop_events", "slot_availability"):
        assert not [row for row in rows(store, view) if "NB" in row["bucket_id"]]


def test_what_concerns_one_venue_is_found_by_an_index(sqlite_store: Store, clock: ManualClock) -> None:
    """The databases choose by themselves; SQLite tells how, whatever the size of a table."""
    maitre = Maitre(sqlite_store, clock, KEY)
    maitre.now({KEY: [CARBONE]})

    def plans(tx: Tx) -> list[str]:
        found: list[str] = []
        raw = tx.connection.connection.dbapi_connection
        assert raw is not None
        raw.set_trace_callback(found.append)
        item_facts.of_group(tx, "resy", "carbone")
        venue_history.of_group(tx, "resy", "carbone", clock.now())
        raw.set_trace_callback(None)
        about = [statement for statement in found if "group_key =" in statement and "IN (" not in statement]
        assert len(about) == 5
        return [
            " / ".join(row[3] for row in raw.cursor().execute("EXPLAIN QUERY PLAN " + statement).fetchall())
            for statement in about
        ]

    for plan in sqlite_store.read_now(plans):
        assert "ix_availability_group" in plan or "ix_open_events_group" in plan, plan
