"""The spine: targets and their state, events, budgets, the catalogue."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vacancy.store.columns import Json, Utc

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# Seed 000 names this surface. `seen_open_at` comes from the target's heartbeat, so that a poll with nothing new
# writes one row and not fifteen thousand.
_OPEN_SECTION_SNAPSHOTS = """
CREATE VIEW open_section_snapshots AS
SELECT a.snapshot_id,
       substr(t.key, 1, 5) AS term_id,
       substr(t.key, 7) AS campus_code,
       a.item_key AS index_number,
       CASE WHEN a.state = 'Open' AND a.missed_polls = 0
            THEN t.last_complete_at ELSE a.last_seen_at END AS seen_open_at,
       a.closed_at,
       t.source_hash
FROM availability a JOIN targets t ON t.target_id = a.target_id
WHERE t.source = 'soc'
"""


def _create_tables() -> None:
    op.create_table(
        "budgets",
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("paused_at", Utc(), nullable=True),
        sa.Column("paused_until", Utc(), nullable=True),
        sa.Column("slowed", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("successes", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("source", name=op.f("pk_budgets")),
    )
    op.create_table(
        "catalogues",
        sa.Column("term_id", sa.String(length=5), nullable=False),
        sa.Column("campus_code", sa.String(length=16), nullable=False),
        sa.Column("body_hash", sa.String(length=64), nullable=False),
        sa.Column("rules", sa.Integer(), nullable=False),
        sa.Column("course_count", sa.Integer(), nullable=False),
        sa.Column("section_count", sa.Integer(), nullable=False),
        sa.Column("observed_at", Utc(), nullable=False),
        sa.Column("loaded_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("term_id", "campus_code", name=op.f("pk_catalogues")),
    )
    op.create_table(
        "courses",
        sa.Column("course_id", sa.Integer(), nullable=False),
        sa.Column("term_id", sa.String(length=5), nullable=False),
        sa.Column("campus_code", sa.String(length=16), nullable=False),
        sa.Column("course_key", sa.String(length=64), nullable=False),
        sa.Column("course_string", sa.String(length=16), nullable=False),
        sa.Column("variant", sa.Text(), nullable=False),
        sa.Column("subject_code", sa.String(length=8), nullable=False),
        sa.Column("subject_name", sa.Text(), nullable=False),
        sa.Column("course_number", sa.String(length=8), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("level", sa.String(length=8), nullable=False),
        sa.Column("credits", sa.String(length=32), nullable=False),
        sa.Column("credits_min", sa.Integer(), nullable=True),
        sa.Column("credits_max", sa.Integer(), nullable=True),
        sa.Column("core_codes", Json(), nullable=False),
        sa.Column("locations", Json(), nullable=False),
        sa.Column("has_prerequisite", sa.Boolean(), nullable=False),
        sa.Column("search_text", sa.Text(), nullable=False),
        sa.Column("payload", Json(), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("facts_hash", sa.String(length=64), nullable=False),
        sa.Column("updated_at", Utc(), nullable=False),
        sa.Column("retired_at", Utc(), nullable=True),
        sa.PrimaryKeyConstraint("course_id", name=op.f("pk_courses")),
        sa.UniqueConstraint(
            "term_id", "campus_code", "course_key", name=op.f("uq_courses_term_id_campus_code_course_key")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_courses_subject", "courses", ["term_id", "campus_code", "subject_code", "course_number"], unique=False
    )
    op.create_table(
        "house",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_house")),
    )
    op.create_table(
        "open_events",
        sa.Column("open_event_id", _id, nullable=False),
        sa.Column("section_id", sa.Integer(), nullable=True),
        sa.Column("term_id", sa.String(length=5), nullable=True),
        sa.Column("campus_code", sa.String(length=16), nullable=True),
        sa.Column("index_number", sa.String(length=5), nullable=True),
        sa.Column("subscription_id", sa.Integer(), nullable=True),
        sa.Column("status_before", sa.String(length=8), nullable=False),
        sa.Column("status_after", sa.String(length=8), nullable=False),
        sa.Column("seat_delta", sa.Integer(), nullable=False),
        sa.Column("event_at", Utc(), nullable=False),
        sa.Column("detected_by", sa.String(length=32), nullable=False),
        sa.Column("snapshot_id", _id, nullable=True),
        sa.Column("dedupe_key", sa.String(length=200), nullable=False),
        sa.Column("trace_id", sa.String(length=64), nullable=False),
        sa.Column("payload", Json(), nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("target_key", sa.String(length=128), nullable=False),
        sa.Column("item_key", sa.String(length=200), nullable=False),
        sa.Column("group_key", sa.String(length=200), nullable=True),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("lead_event_id", _id, nullable=True),
        sa.Column("topics", Json(), nullable=False),
        sa.Column("fanned_out_at", Utc(), nullable=True),
        sa.PrimaryKeyConstraint("open_event_id", name=op.f("pk_open_events")),
        sa.UniqueConstraint("dedupe_key", name=op.f("uq_open_events_dedupe_key")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_open_events_event_at", "open_events", ["event_at"], unique=False)
    op.create_index(
        "ix_open_events_item", "open_events", ["source", "target_key", "item_key", "open_event_id"], unique=False
    )
    op.create_index(
        "ix_open_events_to_fan_out",
        "open_events",
        ["open_event_id"],
        unique=False,
        postgresql_where=sa.text("fanned_out_at IS NULL"),
        sqlite_where=sa.text("fanned_out_at IS NULL"),
    )
    op.create_table(
        "targets",
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("budget", sa.String(length=64), nullable=False),
        sa.Column("configured", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("paused_at", Utc(), nullable=True),
        sa.Column("question_hash", sa.String(length=64), nullable=False),
        sa.Column("baseline_at", Utc(), nullable=True),
        sa.Column("last_attempt_at", Utc(), nullable=True),
        sa.Column("last_complete_at", Utc(), nullable=True),
        sa.Column("source_hash", sa.String(length=64), nullable=True),
        sa.Column("open_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("polls", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("recent_counts", Json(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("known_version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_poll_at", Utc(), nullable=False),
        sa.Column("scheduled_at", Utc(), nullable=False),
        sa.Column("lease_owner", sa.String(length=200), nullable=True),
        sa.Column("lease_until", Utc(), nullable=True),
        sa.Column("failures", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failing_since", Utc(), nullable=True),
        sa.Column("last_error", Json(), nullable=True),
        sa.Column("held_since", Utc(), nullable=True),
        sa.Column("episode_floor", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("target_id", name=op.f("pk_targets")),
        sa.UniqueConstraint("source", "key", name=op.f("uq_targets_source_key")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_targets_due", "targets", ["budget", "next_poll_at"], unique=False)
    op.create_table(
        "availability",
        sa.Column("snapshot_id", _id, nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("item_key", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("opened_at", Utc(), nullable=True),
        sa.Column("last_seen_at", Utc(), nullable=True),
        sa.Column("closed_at", Utc(), nullable=True),
        sa.Column("missed_polls", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("episode", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("group_key", sa.String(length=200), nullable=True),
        sa.Column("payload", Json(), nullable=True),
        sa.ForeignKeyConstraint(
            ["target_id"], ["targets.target_id"], name=op.f("fk_availability_target_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("snapshot_id", name=op.f("pk_availability")),
        sa.UniqueConstraint("target_id", "item_key", name=op.f("uq_availability_target_id_item_key")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_availability_closed",
        "availability",
        ["closed_at"],
        unique=False,
        postgresql_where=sa.text("state = 'Closed'"),
        sqlite_where=sa.text("state = 'Closed'"),
    )
    op.create_table(
        "held_answers",
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("samples", sa.Integer(), nullable=False),
        sa.Column("first_at", Utc(), nullable=False),
        sa.Column("last_at", Utc(), nullable=False),
        sa.Column("items", Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["target_id"], ["targets.target_id"], name=op.f("fk_held_answers_target_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("target_id", name=op.f("pk_held_answers")),
    )
    op.create_table(
        "sections",
        sa.Column("section_id", sa.Integer(), nullable=False),
        sa.Column("course_id", sa.Integer(), nullable=False),
        sa.Column("term_id", sa.String(length=5), nullable=False),
        sa.Column("campus_code", sa.String(length=16), nullable=False),
        sa.Column("index_number", sa.String(length=5), nullable=False),
        sa.Column("section_number", sa.String(length=8), nullable=False),
        sa.Column("instructors", sa.Text(), nullable=False),
        sa.Column("meeting_summary", sa.Text(), nullable=False),
        sa.Column("meetings", Json(), nullable=False),
        sa.Column("day_mask", sa.Integer(), nullable=False),
        sa.Column("start_minutes", sa.Integer(), nullable=True),
        sa.Column("end_minutes", sa.Integer(), nullable=True),
        sa.Column("places", sa.Text(), nullable=False),
        sa.Column("delivery", sa.String(length=16), nullable=False),
        sa.Column("exam_code", sa.String(length=4), nullable=True),
        sa.Column("catalogue_open", sa.Boolean(), nullable=False),
        sa.Column("payload", Json(), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("retired_at", Utc(), nullable=True),
        sa.ForeignKeyConstraint(["course_id"], ["courses.course_id"], name=op.f("fk_sections_course_id")),
        sa.PrimaryKeyConstraint("section_id", name=op.f("pk_sections")),
        sa.UniqueConstraint("term_id", "index_number", name=op.f("uq_sections_term_id_index_number")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_sections_campus", "sections", ["term_id", "campus_code", "index_number"], unique=False)
    op.create_index("ix_sections_course", "sections", ["course_id"], unique=False)
    op.create_table(
        "section_status_events",
        sa.Column("event_id", _id, nullable=False),
        sa.Column("section_id", sa.Integer(), nullable=False),
        sa.Column("previous_status", sa.String(length=8), nullable=False),
        sa.Column("current_status", sa.String(length=8), nullable=False),
        sa.Column("source", sa.String(length=32), nullable=False),
        sa.Column("snapshot_term", sa.String(length=5), nullable=False),
        sa.Column("snapshot_campus", sa.String(length=16), nullable=False),
        sa.Column("snapshot_received_at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(
            ["section_id"],
            ["sections.section_id"],
            name=op.f("fk_section_status_events_section_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("event_id", name=op.f("pk_section_status_events")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_section_status_events_received", "section_status_events", ["snapshot_received_at"], unique=False
    )
    op.create_index(
        "ix_section_status_events_section",
        "section_status_events",
        ["section_id", "snapshot_received_at"],
        unique=False,
    )


# --- search
# SQLite: the index holds no text of its own, and triggers keep it, so that it can never say other than `courses`.
_SQLITE_SEARCH = (
    """
CREATE VIRTUAL TABLE course_search USING fts5(
  search_text, content='courses', content_rowid='course_id', prefix='2 3', tokenize='unicode61'
)
""",
    """
CREATE TRIGGER course_search_insert AFTER INSERT ON courses BEGIN
  INSERT INTO course_search (rowid, search_text) VALUES (new.course_id, new.search_text);
END
""",
    """
CREATE TRIGGER course_search_update AFTER UPDATE OF search_text ON courses
WHEN old.search_text <> new.search_text BEGIN
  INSERT INTO course_search (course_search, rowid, search_text) VALUES ('delete', old.course_id, old.search_text);
  INSERT INTO course_search (rowid, search_text) VALUES (new.course_id, new.search_text);
END
""",
    """
CREATE TRIGGER course_search_delete AFTER DELETE ON courses BEGIN
  INSERT INTO course_search (course_search, rowid, search_text) VALUES ('delete', old.course_id, old.search_text);
END
""",
)
# Without fastupdate: a search right after a catalogue was taken in would read the whole list of what is pending.
_POSTGRES_SEARCH = """
CREATE INDEX course_search ON courses USING gin (to_tsvector('simple', search_text)) WITH (fastupdate = off)
"""


def _create_search_index() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_POSTGRES_SEARCH)
    else:
        for statement in _SQLITE_SEARCH:
            op.execute(statement)


# --- end of search


def upgrade() -> None:
    _create_tables()
    _create_search_index()
    op.execute(_OPEN_SECTION_SNAPSHOTS)
