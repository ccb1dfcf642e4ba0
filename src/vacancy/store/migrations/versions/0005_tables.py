"""What readers of tables need: the names that the seed gives them, and ways to find a venue.

A later migration that rebuilds `targets`, `availability` or `open_events` drops these views first and makes them anew.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# Of both lists of ids the state knows one: what is open now. A baseline that was taken once and never again would say
# nothing that anybody is judged by.
_BUCKETS: Final = """
CREATE VIEW discovery_buckets AS
SELECT bucket_id, date_str, time_slot, slot_ids AS baseline_slot_ids_json, slot_ids AS prev_slot_ids_json, scanned_at
FROM (SELECT t.key AS bucket_id, substr(t.key, 1, 10) AS date_str, substr(t.key, 12) AS time_slot,
             t.last_complete_at AS scanned_at, {slot_ids} AS slot_ids
      FROM targets t WHERE t.source = 'resy' AND t.configured) AS buckets
"""
_SLOT_IDS: Final = {
    "sqlite": """(SELECT json_group_array(item_key) FROM
        (SELECT a.item_key FROM availability a
         WHERE a.target_id = t.target_id AND a.state = 'Open' ORDER BY a.item_key))""",
    "postgresql": """(SELECT coalesce('[' || string_agg(to_json(a.item_key)::text, ','
                                                        ORDER BY a.item_key COLLATE "C") || ']', '[]')
        FROM availability a WHERE a.target_id = t.target_id AND a.state = 'Open')""",
}
_SLOTS: Final = """
CREATE VIEW slot_availability AS
SELECT t.key AS bucket_id, a.item_key AS slot_id, lower(a.state) AS state, a.opened_at,
       CASE WHEN a.state = 'Open' AND a.missed_polls = 0
            THEN t.last_complete_at ELSE a.last_seen_at END AS last_seen_at,
       a.closed_at, a.group_key AS venue_id, {venue_name} AS venue_name, a.payload
FROM availability a JOIN targets t ON t.target_id = a.target_id
WHERE t.source = 'resy'
"""
_DROPS: Final = """
CREATE VIEW drop_events AS
SELECT a.open_event_id AS id, a.target_key AS bucket_id, a.item_key AS slot_id, a.dedupe_key, a.event_at AS opened_at,
       a.group_key AS venue_id, {venue_name} AS venue_name, a.payload
FROM open_events a
WHERE a.source = 'resy' AND a.status_after = 'Open'
"""
_VENUE_NAME: Final = {
    "sqlite": "json_extract(a.payload, '$.venueName')",
    "postgresql": "a.payload::json ->> 'venueName'",
}
_IN_A_GROUP: Final = sa.text("group_key IS NOT NULL")


def upgrade() -> None:
    for table, *columns in (("availability", "group_key", "target_id"), ("open_events", "group_key", "open_event_id")):
        op.create_index(
            f"ix_{table}_group",
            table,
            columns,
            unique=False,
            postgresql_where=_IN_A_GROUP,
            sqlite_where=_IN_A_GROUP,
        )
    dialect = op.get_bind().dialect.name
    op.execute(_BUCKETS.format(slot_ids=_SLOT_IDS[dialect]))
    op.execute(_SLOTS.format(venue_name=_VENUE_NAME[dialect]))
    op.execute(_DROPS.format(venue_name=_VENUE_NAME[dialect]))
